"""The agent of this process: its settings, its limits, and the recordings under way."""

import atexit
import errno
import logging
import os
import threading
import time
import weakref

from . import recording as recordings
from .header import Gate, Verdict, acknowledgement
from .keys import Keyring
from .recording import Recording
from .route import route_at_end, route_at_response
from .upload import Uploader

RECORDINGS_MAX = 2
ERRORS_MAX = 3
OFF_S = 600.0
DEFAULT_URL = "http://127.0.0.1:9902"

_log = logging.getLogger("flamegate")
_agents = weakref.WeakSet()


class Order:
    """A request that carried a valid header: how it is acknowledged, and its recording when it is
    profiled.
    """

    __slots__ = ("profile_id", "state", "recording")

    def __init__(self, profile_id, state, recording=None):
        self.profile_id = profile_id
        self.state = state
        self.recording = recording


class Agent:
    """Owner: the process. Thread: any. What it is called with and raises never reaches the
    application: its errors are counted, and after ERRORS_MAX of them it is off for OFF_S seconds.
    """

    def __init__(self, environ=os.environ):
        self.by_thread = {}  # identity of a thread: the recording it is making
        self.uploader = Uploader(environ.get("FLAMEGATE_URL") or DEFAULT_URL)
        self._disabled = environ.get("FLAMEGATE_DISABLE") == "1"
        paths = (
            environ.get("FLAMEGATE_SECRET_FILE"),
            environ.get("FLAMEGATE_PREVIOUS_SECRET_FILE"),
        )
        self._keyring = Keyring(paths)
        self._gate = Gate(environ.get("FLAMEGATE_SERVICE"), self._keyring)
        self._lock = threading.Lock()
        self._running = 0
        self._errors = 0
        self._off_until = 0.0
        self._pid = os.getpid()
        _agents.add(self)
        if recordings._sampler is None:
            _log.warning(
                "flamegate: the sampler was not built for this interpreter: no request can "
                "be profiled"
            )

    def open(self, header, method):
        """Judges a request's header and starts the recording. None when there is nothing to
        acknowledge.
        """
        verdict = Verdict(None)
        try:
            verdict = self._gate.check(header, method, int(time.time() * 1000))
            if verdict.state != "started":
                known = verdict.state and (self._keyring or verdict.state == "unsupported")
                return Order(verdict.request.id, verdict.state) if known else None
            return self._start(verdict.request)
        except Exception as error:
            self._count_error(error)
            return Order(verdict.request.id, "error") if verdict.request else None

    def close(self, recording, environ=None, end_ns=0):
        """Ends a recording and hands it on. A second call does nothing."""
        try:
            with self._lock:
                if (
                    recording.pid != self._pid
                    or self.by_thread.get(recording.thread) is not recording
                ):
                    return
                del self.by_thread[recording.thread]
                self._running -= 1
            self._hand_on(recording, environ, end_ns)
        except Exception as error:
            recording.drop()
            self._count_error(error)

    def close_left_over(self):
        """Ends a recording that a server left open on this thread: the thread serves another
        request now.
        """
        recording = self.by_thread.get(threading.get_ident())
        if recording is not None and not recording.in_application:
            self.close(recording, end_ns=recording.idle_since_ns)

    def acknowledge(self, order, environ):
        """The acknowledgement, when the response begins."""
        if order.recording is not None:
            order.recording.route = route_at_response(environ)
        now_ms = int(time.time() * 1000)
        return acknowledgement(
            order.profile_id,
            order.state,
            recordings.AGENT,
            recordings.RUNTIME,
            recordings.CAPS,
            now_ms,
        )

    def after_fork(self):
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._running = 0
        self.by_thread.clear()
        self._gate.after_fork()
        self.uploader.after_fork()

    def at_exit(self):
        self.uploader.at_exit()

    def _hand_on(self, recording, environ, end_ns):
        if recording.thread != threading.get_ident():
            end_ns = recording.idle_since_ns  # its own thread may have served something else since
        recording.stop(end_ns)
        if recording.route is None and environ is not None:
            recording.route = route_at_end(environ)
        self.uploader.offer(recording)

    def _start(self, request):
        if self._disabled or time.monotonic() < self._off_until:
            return Order(request.id, "off")
        if not recordings.can_record():
            return Order(request.id, "unsupported")
        if not self._reserve():
            return Order(request.id, "busy")
        try:
            recording = Recording(request)
        except BaseException as error:
            with self._lock:
                self._running -= 1
            if isinstance(error, OSError) and error.errno in (errno.EAGAIN, errno.EBUSY):
                return Order(request.id, "busy")
            if isinstance(error, OSError) and error.errno == errno.ENOTSUP:
                return Order(request.id, "unsupported")
            raise
        self.by_thread[recording.thread] = recording
        return Order(request.id, "started", recording)

    def _reserve(self):
        with self._lock:
            if self._running >= RECORDINGS_MAX:
                return False
            self._running += 1
            return True

    def _count_error(self, error):
        _log.warning("flamegate: %r", error)
        with self._lock:
            self._errors += 1
            if self._errors >= ERRORS_MAX:
                self._errors = 0
                self._off_until = time.monotonic() + OFF_S


def _each_agent(method):
    for agent in list(_agents):
        method(agent)


os.register_at_fork(after_in_child=lambda: _each_agent(Agent.after_fork))
atexit.register(_each_agent, Agent.at_exit)

_default = None
_default_lock = threading.Lock()


def default_agent():
    """The agent that the environment describes, the same for all applications of this process."""
    global _default
    with _default_lock:
        if _default is None:
            _default = Agent()
        return _default
