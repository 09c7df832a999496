"""The framework's name for the route that served a request."""

import sys

ROUTE_CHARACTERS_MAX = 512


def _werkzeug(environ):
    return environ["werkzeug.request"].url_rule.rule  # Flask and what builds on it


def _bottle(environ):
    return environ["bottle.route"].rule


def _django(environ):
    urls = sys.modules["django.urls"]
    path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
    route = urls.resolve(path).route
    return "/" + route.lstrip("^/")


_FINDERS = ((_werkzeug, "werkzeug"), (_bottle, "bottle"), (_django, "django.core.handlers.wsgi"))


def find_route(environ):
    """The template, as in /orders/<id>, or None. Frameworks that are not loaded are not asked."""
    for finder, module in _FINDERS:
        if module not in sys.modules:
            continue
        try:
            route = finder(environ)
        except Exception:  # not this framework's request, or no route matched
            continue
        if isinstance(route, str) and route:
            return route[:ROUTE_CHARACTERS_MAX]
    return None
