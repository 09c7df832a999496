"""The framework's name for the route that served a request. Frameworks that are not loaded are not
asked.
"""

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


# Flask forgets the request when the application returns, so these are asked when the response
# begins; they only read.
_AT_RESPONSE = ((_werkzeug, "werkzeug"), (_bottle, "bottle"))
# This one matches the path once more, which should not be part of the recording.
_AT_END = ((_django, "django.core.handlers.wsgi"),)


def _find(finders, environ):
    for finder, module in finders:
        if module not in sys.modules:
            continue
        try:
            route = finder(environ)
        except Exception:  # not this framework's request, or no route matched
            continue
        if isinstance(route, str) and route:
            return route[:ROUTE_CHARACTERS_MAX]
    return None


def route_at_response(environ):
    """The template, as in /orders/<id>, or None. To be asked when the response begins."""
    return _find(_AT_RESPONSE, environ)


def route_at_end(environ):
    """The same, to be asked when the response is over and nothing was found before."""
    return _find(_AT_END, environ)
