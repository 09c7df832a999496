"""The WSGI middleware."""

import threading

from .agent import default_agent

HEADER = "HTTP_FLAMEGATE_PROFILE"


def is_wrapped(application):
    return getattr(application, "flamegate_wrapped", False)


def wrap(application, agent=None):
    """A WSGI application that does what `application` does, and records the requests that carry the
    proxy's header.
    """
    if is_wrapped(application):
        return application
    agent = agent or default_agent()
    by_thread = agent.by_thread

    def profiled(environ, start_response):
        if HEADER not in environ and not by_thread:
            return application(environ, start_response)
        return _serve(agent, application, environ, start_response)

    profiled.flamegate_wrapped = True
    return profiled


def _serve(agent, application, environ, start_response):
    agent.close_left_over()
    header = environ.pop(HEADER, None)
    order = None if header is None else agent.open(header, environ.get("REQUEST_METHOD", ""))
    if order is None:
        return application(environ, start_response)
    if order.recording is None:
        return application(environ, _acknowledging(agent, order, environ, start_response))
    return _record(agent, order, application, environ, start_response)


def _acknowledging(agent, order, environ, start_response):
    def start(status, headers, *rest, **keywords):
        if type(headers) is list:  # anything else is the server's to complain about
            headers = [*headers, ("Flamegate-Ack", agent.acknowledge(order, environ))]
        return start_response(status, headers, *rest, **keywords)

    return start


def _record(agent, order, application, environ, start_response):
    recording = order.recording
    try:
        result = application(environ, _acknowledging(agent, order, environ, start_response))
    except BaseException:
        agent.close(recording, environ)
        raise
    if _is_complete(result, environ):
        agent.close(recording, environ)
        return result
    recording.leave()
    body = _SizedBody if hasattr(result, "__len__") else _Body
    return body(agent, recording, environ, result)


def _is_complete(result, environ):
    """Whether no more code of the application will run for this response.

    Such results go to the server as they are: it may send a file by sendfile(2), or take the length
    from a list.
    """
    if type(result) in (list, tuple):
        return True
    file_wrapper = environ.get("wsgi.file_wrapper")
    return isinstance(file_wrapper, type) and isinstance(result, file_wrapper)


class _Body:
    """An iterable whose recording lasts until it is closed.

    Between two steps the thread may be with the server or, in a server that leaves the iterable
    open, with another request; Agent.close_left_over() tells by `in_application`. A server that
    goes on in another thread ends the recording, which is one of the thread that called the
    application.
    """

    def __init__(self, agent, recording, environ, result):
        self._agent = agent
        self._recording = recording
        self._environ = environ
        self._result = result
        self._iterator = None

    def __iter__(self):
        return self

    def __next__(self):
        self._enter()
        try:
            if self._iterator is None:
                self._iterator = iter(self._result)
            return next(self._iterator)
        finally:
            self._recording.leave()

    def close(self):
        self._enter()
        try:
            close = getattr(self._result, "close", None)
            if close is not None:
                close()
        finally:
            self._recording.in_application = False
            self._agent.close(self._recording, self._environ)

    def _enter(self):
        if threading.get_ident() != self._recording.thread:
            self._agent.close(self._recording, self._environ)
        self._recording.in_application = True


class _SizedBody(_Body):
    def __len__(self):
        return len(self._result)
