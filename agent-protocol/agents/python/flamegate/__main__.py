"""python3 -m flamegate COMMAND [ARGUMENT...]: runs a Python server with every WSGI application in
it wrapped.

The command replaces this process, so that its process id, signals and exit status are its own. What
wraps the applications is a `sitecustomize` module that the command's interpreter imports when it
starts (site/sitecustomize.py).
"""

import os
import shutil
import sys

USAGE = """usage: python3 -m flamegate COMMAND [ARGUMENT...]

Runs COMMAND, for example "gunicorn shop:app" or "flask run", so that single requests can be
profiled. Servers: gunicorn (sync and gthread workers), waitress, werkzeug (flask run), wsgiref
(manage.py runserver).

Environment: FLAMEGATE_SECRET_FILE, FLAMEGATE_PREVIOUS_SECRET_FILE, FLAMEGATE_URL,
FLAMEGATE_SERVICE, FLAMEGATE_DISABLE=1
"""

EXIT_USAGE, EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND = 2, 126, 127


def environment(environ):
    site = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")
    path = environ.get("PYTHONPATH")
    return {**environ, "PYTHONPATH": site + os.pathsep + path if path else site}


def main(arguments):
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    elif arguments[:1] in (["-h"], ["--help"]):
        print(USAGE, end="")
        return 0
    if not arguments or arguments[0].startswith("-"):
        print(USAGE, end="", file=sys.stderr)
        return EXIT_USAGE
    program = shutil.which(arguments[0])
    if program is None:
        print(f"flamegate: {arguments[0]}: command not found", file=sys.stderr)
        return EXIT_NOT_FOUND
    try:
        os.execve(program, arguments, environment(os.environ))
    except OSError as error:
        print(f"flamegate: {program}: {error.strerror}", file=sys.stderr)
        return EXIT_NOT_EXECUTABLE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
