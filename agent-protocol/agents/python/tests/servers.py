"""Applications and servers for test_launcher.py."""

import os
import sys

from tests.support.application import spin


def application(environ, start_response):
    spin(0.02)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]


async def asgi(scope, receive, send):
    raise AssertionError("not called")


def serve_wsgiref(port):
    from wsgiref.simple_server import make_server

    make_server("127.0.0.1", port, application).serve_forever()


def serve_werkzeug(port):
    from werkzeug.serving import run_simple

    run_simple("127.0.0.1", port, application, threaded=True)


def serve_waitress(port):
    from waitress import serve

    serve(application, host="127.0.0.1", port=port)


def serve_flask(port):
    from flask import Flask

    flask = Flask(__name__)
    flask.add_url_rule("/orders/<number>", "order", lambda number: [spin(0.02), number][1])
    flask.run("127.0.0.1", port)


def serve_django(port):
    from django.conf import settings
    from django.core.management import execute_from_command_line

    settings.configure(DEBUG=True, ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="x" * 50)
    execute_from_command_line(["manage.py", "runserver", "--noreload", f"127.0.0.1:{port}"])


def _django_order(request, number):
    from django.http import HttpResponse

    spin(0.02)
    return HttpResponse(number)


def __getattr__(name):
    if name != "urlpatterns":
        raise AttributeError(name)
    from django.urls import path

    return [path("orders/<number>", _django_order)]


if __name__ == "__main__":
    globals()[f"serve_{sys.argv[1]}"](int(sys.argv[2]))
