"""Takes finished recordings, and brings them to control from one background thread."""

import _thread
import collections
import http.client
import logging
import os
import random
import socket
import threading
import time
import urllib.parse

from .keys import upload_auth

QUEUE_MAX = 8
QUEUE_BYTES_MAX = 16 * 1024 * 1024
TIMEOUT_S = 45.0  # control may hold an upload for 30 s
TRIES = 3
RETRY_WINDOW_S = 30.0
RETRY_STATUS = (429, 503)
EXIT_WAIT_S = 2.0
PARTS = 1_000_000

_log = logging.getLogger("flamegate")
_CONNECTION_LOST = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)


class Connection:
    """One connection to control, opened when it is needed and kept. Thread: the uploader's."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self._make = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port
        self._prefix = parts.path.rstrip("/")
        self._http = None

    def post(self, path, body, headers):
        """Returns the answer's status and headers. OSError or HTTPException when there was none."""
        path = self._prefix + path
        kept = self._http is not None
        try:
            return self._post(path, body, headers(path))
        except _CONNECTION_LOST:
            if not kept:
                raise
        return self._post(path, body, headers(path))  # control had closed the idle connection

    def _post(self, path, body, headers):
        if self._http is None:
            self._http = self._make(self._host, self._port, timeout=TIMEOUT_S)
        try:
            self._http.request("POST", path, body, headers)
            answer = self._http.getresponse()
            answer.read()
        except BaseException:
            self.close()
            raise
        if answer.will_close:
            self.close()
        return answer.status, answer.headers

    def close(self):
        if self._http is not None:
            self._http.close()
            self._http = None


class Uploader:
    """Owner: the agent. Thread: `offer` is called by any thread and never waits for the network;
    the thread that uploads is started by the first recording. Ends with the process.
    """

    def __init__(self, url, sleep=time.sleep):
        self._url = url
        self._sleep = sleep
        self.dropped = 0  # left the queue unsent
        self.failed = 0  # refused by control, or given up
        self.uploaded = 0
        self._reset()

    def _reset(self):
        self._queue = collections.deque()
        self._changed = threading.Condition(threading.Lock())
        self._sending = False
        self._started = False
        self._connection = Connection(self._url)
        self._part = 0
        self._host = socket.gethostname()

    def after_fork(self):
        """In the child: the queue, the thread and the connection are the parent's."""
        self._connection.close()
        self._reset()

    def offer(self, recording):
        with self._changed:
            self._queue.append(recording)
            while (
                len(self._queue) > QUEUE_MAX or sum(r.bytes for r in self._queue) > QUEUE_BYTES_MAX
            ):
                self._queue.popleft().drop()
                self.dropped += 1
            self._changed.notify_all()
            start, self._started = not self._started, True
        if start:
            _thread.start_new_thread(self._run, ())

    def pending(self):
        with self._changed:
            return len(self._queue) + self._sending

    def wait_until_idle(self, timeout):
        """False when there was still something to upload after `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._queue and not self._sending, timeout)

    def at_exit(self):
        if self._started and self.pending():
            self.wait_until_idle(EXIT_WAIT_S)

    def _run(self):
        while True:
            recording = self._take()
            try:
                self._send(recording.encode(self._host))
            except Exception as error:
                self.failed += 1
                _log.warning("flamegate: profile %s was lost: %r", recording.request.id, error)
            finally:
                with self._changed:
                    self._sending = False
                    self._changed.notify_all()

    def _take(self):
        with self._changed:
            while not self._queue:
                self._changed.wait()
            self._sending = True
            return self._queue.popleft()

    def _send(self, upload):
        path = f"/agent/v1/profiles/{upload.profile_id}/{os.getpid()}-{self._part % PARTS}"
        self._part += 1

        def headers(sent_path):
            return {
                "Content-Type": "application/x-pprof",
                "Flamegate-Meta": upload.meta,
                "Flamegate-Auth": upload_auth(
                    upload.key, "POST", sent_path, upload.body, upload.meta
                ),
            }

        began = time.monotonic()
        for attempt in range(1, TRIES + 1):
            outcome, wait = self._try(path, upload.body, headers, attempt)
            if wait is None or attempt == TRIES or time.monotonic() - began + wait > RETRY_WINDOW_S:
                break
            self._sleep(wait)
        if outcome in (200, 201):
            self.uploaded += 1
        else:
            self.failed += 1
            _log.info("flamegate: profile %s was not taken: %s", upload.profile_id, outcome)

    def _try(self, path, body, headers, attempt):
        """Returns what came of it, and how long to wait before the next try, None when there shall
        be none.
        """
        back_off = 2.0**attempt * random.uniform(0.25, 0.5)
        try:
            status, answer = self._connection.post(path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            return repr(error), back_off
        if status not in RETRY_STATUS:
            return status, None
        asked = answer.get("Retry-After", "")
        return (
            status,
            max(back_off, float(asked)) if asked.isascii() and asked.isdigit() else back_off,
        )
