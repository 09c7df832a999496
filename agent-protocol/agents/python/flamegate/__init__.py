"""Profiles the one request of a WSGI application that the flamegate proxy asks for.

Either start the application's server with ``python3 -m flamegate COMMAND``, or wrap the
application:

    import flamegate
    application = flamegate.wsgi(application)

Requests without the proxy's signed header run as if the agent were not there.
"""

__version__ = "1.0"


def wsgi(application):
    """Wrap a WSGI application. Wrapping it twice is harmless."""
    from .middleware import wrap

    return wrap(application)
