"""Wraps the WSGI applications that servers load, by patching a server's module right after its
import.

Outside the package, which is imported only when there is an application to wrap.
"""

import os
import sys


def _import_package():
    """The package around this file, wherever it is: it need not be on the path of the program."""
    import importlib.util

    if importlib.util.find_spec("flamegate") is None:
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        spec = importlib.util.spec_from_file_location(
            "flamegate", os.path.join(root, "__init__.py"), submodule_search_locations=[root]
        )
        package = importlib.util.module_from_spec(spec)
        sys.modules["flamegate"] = package
        spec.loader.exec_module(package)
    import flamegate

    return flamegate


def _is_asgi(application):
    from inspect import iscoroutinefunction

    return iscoroutinefunction(application) or iscoroutinefunction(
        getattr(type(application), "__call__", None)
    )


def _wrapped(application):
    """The application to serve instead. What is not WSGI stays, and so does everything when the
    agent cannot be had.
    """
    if not callable(application) or _is_asgi(application):
        return application
    try:
        return _import_package().wsgi(application)
    except Exception as error:
        print(f"flamegate: not installed: {error!r}", file=sys.stderr)
        return application


def _gunicorn(module):
    load = module.BaseApplication.wsgi

    def wsgi(self):
        self.callable = _wrapped(load(self))
        return self.callable

    module.BaseApplication.wsgi = wsgi


def _wsgiref(module):
    set_app = module.WSGIServer.set_app

    def set_wrapped_app(self, application):
        return set_app(self, _wrapped(application))

    module.WSGIServer.set_app = set_wrapped_app


def _werkzeug(module):
    init = module.BaseWSGIServer.__init__

    def init_wrapped(self, host, port, app, *rest, **keywords):
        init(self, host, port, _wrapped(app), *rest, **keywords)

    module.BaseWSGIServer.__init__ = init_wrapped


def _waitress(module):
    create = module.create_server

    def create_wrapped(application, *rest, **keywords):
        return create(_wrapped(application), *rest, **keywords)

    module.create_server = create_wrapped


_PATCHES = {
    "gunicorn.app.base": _gunicorn,
    "wsgiref.simple_server": _wsgiref,
    "werkzeug.serving": _werkzeug,
    "waitress.server": _waitress,
}


def _patch_after(loader, patch):
    execute = loader.exec_module

    def exec_module(module):
        execute(module)
        try:
            patch(module)
        except Exception as error:  # a version of the server that is built differently
            print(f"flamegate: {module.__name__} cannot be profiled: {error!r}", file=sys.stderr)

    loader.exec_module = exec_module


class _Finder:
    """A finder in front of all others: finds nothing itself, but lets the patch follow the import
    that the others make.
    """

    def find_spec(self, name, path=None, target=None):
        patch = _PATCHES.get(name)
        if patch is None:
            return None
        for finder in sys.meta_path:
            find_spec = None if finder is self else getattr(finder, "find_spec", None)
            spec = find_spec(name, path, target) if find_spec else None
            if spec is not None:
                if spec.loader is not None:
                    _patch_after(spec.loader, patch)
                return spec
        return None


def install():
    """Before the servers' modules are imported. A second call does nothing."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
