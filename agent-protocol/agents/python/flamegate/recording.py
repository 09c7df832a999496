"""One request's recording, from its start to the bytes that are uploaded."""

import json
import os
import platform
import sys
import threading
import time
import zlib
from typing import NamedTuple

from . import __version__
from .keys import Key, b64url

try:
    from . import _sampler
except ImportError:  # not built for this interpreter
    _sampler = None

PERIOD_US_MIN, PERIOD_US_MAX = 100, 1_000_000
MAX_MS_MAX = 600_000
META_BYTES_MAX = 4096  # of JSON

AGENT = f"python/{__version__}"
RUNTIME = f"cpython/{sys.version_info[0]}.{sys.version_info[1]}"
CAPS = "wall,cpu,both,lines,gc" + (",gil" if platform.machine() == "x86_64" else "")

# Frames of the agent are not part of the application. The code's own idea of its file, which
# sys.path shapes.
_OWN_FILES = os.path.dirname((lambda: None).__code__.co_filename) + os.sep


def can_record() -> bool:
    """False where a recording of this thread would be wrong: several requests take turns on it as
    greenlets.
    """
    if _sampler is None:
        return False
    greenlet = sys.modules.get("greenlet")
    return greenlet is None or greenlet.getcurrent().parent is None


def _thread_name(ident):
    for (
        thread
    ) in (
        threading.enumerate()
    ):  # current_thread() would leave an object behind for a foreign thread
        if thread.ident == ident:
            return thread.name
    return f"thread-{ident}"


class Upload(NamedTuple):
    profile_id: str
    key: Key
    body: bytes
    meta: str  # the header's value


class Recording:
    """Owner: the request that it records, then the upload queue.

    Thread: made and fed by the thread that serves the request; `stop` may come from another one,
    `encode` comes from the uploader. Ends with `encode` or `drop`.
    """

    def __init__(self, request, samples_max=0):
        """Starts recording. OSError when the sampler has no room."""
        self.request = request
        self.pid = os.getpid()
        self.thread = threading.get_ident()
        self.in_application = True  # False between calls: then the thread may serve something else
        self.idle_since_ns = 0
        self.route = None
        self._began_ns = time.perf_counter_ns()
        self._thread_name = _thread_name(self.thread)
        self._period_us = min(max(request.period_us, PERIOD_US_MIN), PERIOD_US_MAX)
        max_ms = min(request.max_ms, MAX_MS_MAX)
        self._capture = _sampler.start(
            self._period_us * 1000, max_ms * 1_000_000, samples_max or _sampler.SAMPLES_MAX
        )
        self._own_ns = time.perf_counter_ns() - self._began_ns

    def leave(self):
        """The application's code has returned to the server."""
        self.idle_since_ns = time.monotonic_ns()
        self.in_application = False

    def stop(self, end_ns=0):
        began = time.perf_counter_ns()
        self._capture.stop(end_ns)
        self._stats = self._capture.stats()
        self._own_ns += time.perf_counter_ns() - began

    @property
    def bytes(self):
        return self._stats["bytes"]

    def drop(self):
        self._capture.release()

    def encode(self, host) -> Upload:
        try:
            profile = self._capture.pprof(
                self._thread_name,
                sys.executable or "python",
                _OWN_FILES,
                self._comments(),
                self.request.mode == "cpu",
            )
        finally:
            self._stats = (
                self._capture.stats()
            )  # writing may have thinned out a profile that was too large
            self._capture.release()
        packer = zlib.compressobj(wbits=31)
        body = packer.compress(profile) + packer.flush()
        return Upload(self.request.id, self.request.key, body, b64url(self._meta(host)))

    def _measured_period_us(self):
        return self._stats["wall_ns"] // max(self._stats["taken"], 1) // 1000

    def _comments(self):
        stats = self._stats
        return (
            f"flamegate agent {AGENT} on {RUNTIME}, one thread, clock CLOCK_MONOTONIC",
            f"period asked {self.request.period_us} us, measured {self._measured_period_us()} us",
            f"ticks expected {stats['expected']}, taken {stats['taken']}, missed "
            f"{stats['missed']}, "
            f"unreadable {stats['unreadable']}, shortened stacks {stats['shortened']}",
        )

    def _meta(self, host):
        stats = self._stats
        meta = {
            "agent": AGENT,
            "runtime": RUNTIME,
            "host": host,
            "pid": self.pid,
            "start_unix_ns": stats["start_unix_ns"],
            "end_unix_ns": stats["start_unix_ns"] + stats["wall_ns"],
            "period_us": self._period_us,
            "measured_period_us": self._measured_period_us(),
            "ticks": {key: stats[key] for key in ("expected", "taken", "missed")},
            "truncated": stats["expired"],
            "attribution": "thread",
            "overhead_ns": stats["overhead_ns"] + self._own_ns,
        }
        if self.route:
            meta["route"] = self.route
        text = json.dumps(meta, separators=(",", ":"))
        if len(text) > META_BYTES_MAX:
            del meta["route"]
            text = json.dumps(meta, separators=(",", ":"))
        return text.encode("ascii")
