"""Pieces of applications that burn known time, and a caller that stands for the server."""

import time


def spin(seconds):
    """Burns CPU time of this thread, as its own clock tells."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        for _ in range(50):
            pass


def call(application, profile_header=None, method="GET", path="/", **environ):
    """Calls as a server does. Returns status, headers and body; raises what is raised."""
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, **environ}
    if profile_header is not None:
        environ["HTTP_FLAMEGATE_PROFILE"] = profile_header
    answer, written = [], []

    def start_response(status, headers, exc_info=None):
        answer[:] = [status, headers]
        return written.append

    result = application(environ, start_response)
    try:
        for chunk in result:
            written.append(chunk)
    finally:
        if hasattr(result, "close"):
            result.close()
    return answer[0], answer[1], b"".join(written)


def ack_of(headers):
    """The one acknowledgement among the headers, or None."""
    values = [value for name, value in headers if name == "Flamegate-Ack"]
    assert len(values) <= 1, values
    return values[0] if values else None
