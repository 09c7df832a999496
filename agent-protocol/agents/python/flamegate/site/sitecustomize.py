# Imported by every interpreter that starts under `python3 -m flamegate`, before the program itself,
# and so by the scripts that the application starts, too: it must be cheap and must not fail.

import os
import sys


def _import_hidden():
    """Imports the sitecustomize module that this one hides."""
    here = os.path.dirname(os.path.abspath(__file__))
    own = sys.modules.pop("sitecustomize", None)
    path = sys.path[:]
    sys.path[:] = [entry for entry in path if os.path.abspath(entry) != here]
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        if own is not None:
            sys.modules["sitecustomize"] = own
    finally:
        sys.path[:] = path


try:
    import flamegate_hooks

    flamegate_hooks.install()
except Exception as error:
    print(f"flamegate: not installed: {error!r}", file=sys.stderr)
_import_hidden()
