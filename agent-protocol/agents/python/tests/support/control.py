"""A control server that keeps what agents upload."""

import base64
import hashlib
import hmac
import http.server
import json
import re
import threading
import time
from typing import NamedTuple

from .pprof import Profile, read

_PATH = re.compile(r"/agent/v1/profiles/([0-9a-z]{20})/([0-9]{1,10}-[0-9]{1,6})")


class Upload(NamedTuple):
    id: str
    part: str
    meta: dict
    profile: Profile
    received_ns: int  # time.monotonic_ns()
    connection: int  # port of the agent's end


def _b64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Control:
    """Answers 201 to what verifies, or what `answers` says: a list of (status, headers), used up
    one by one.

    Ends with `close`, or as a context manager.
    """

    def __init__(self, key):
        self._key = key
        self._changed = threading.Condition()
        self.uploads = []
        self.statuses = []
        self.faults = []
        self.connections = set()
        self.answers = []
        control = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                received_ns = time.monotonic_ns()
                status, headers = control._receive(self, body, received_ns)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *arguments):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # an agent that ended

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def wait(self, count=1, timeout=20):
        """The uploads, once there are `count` of them. Raises AssertionError when they do not come
        or do not verify.
        """
        with self._changed:
            self._changed.wait_for(lambda: self.faults or len(self.uploads) >= count, timeout)
            if self.faults:
                raise AssertionError(self.faults[0])
            if len(self.uploads) < count:
                raise AssertionError(
                    f"{len(self.uploads)} of {count} uploads came, statuses {self.statuses}"
                )
            return list(self.uploads)

    def upload(self, profile_id, timeout=20):
        with self._changed:
            found = self._changed.wait_for(
                lambda: [u for u in self.uploads if u.id == profile_id], timeout
            )
            if not found:
                raise AssertionError(f"no upload of {profile_id}; faults {self.faults}")
            return found[0]

    def requests(self):
        with self._changed:
            return len(self.statuses)

    def _receive(self, handler, body, received_ns):
        with self._changed:
            self.connections.add(handler.client_address[1])
            try:
                upload = self._verified(handler, body, received_ns)
            except Exception as error:
                self.faults.append(repr(error))
                status, headers = 401, {}
            else:
                status, headers = self.answers.pop(0) if self.answers else (201, {})
                if status == 201:
                    self.uploads.append(upload)
            self.statuses.append(status)
            self._changed.notify_all()
            return status, headers

    def _verified(self, handler, body, received_ns):
        match = _PATH.fullmatch(handler.path)
        assert match, handler.path
        assert handler.headers["Content-Type"] == "application/x-pprof"
        assert len(body) <= 4 << 20
        meta = handler.headers["Flamegate-Meta"]
        auth = dict(pair.split("=", 1) for pair in handler.headers["Flamegate-Auth"].split(";"))
        assert set(auth) == {"kid", "ts", "nonce", "sig"} and auth["kid"] == self._key.kid
        assert abs(int(auth["ts"]) - time.time() * 1000) < 300_000
        assert re.fullmatch(r"[A-Za-z0-9_-]{16,64}", auth["nonce"])
        text = "\n".join(
            (
                "FG1-UP",
                auth["kid"],
                auth["ts"],
                auth["nonce"],
                handler.command,
                handler.path,
                hashlib.sha256(body).hexdigest(),
                hashlib.sha256(meta.encode()).hexdigest(),
            )
        )
        assert hmac.digest(self._key.upload, text.encode(), "sha256") == _b64url(
            auth["sig"]
        ), "wrong signature"
        decoded = _b64url(meta)
        assert len(decoded) <= 4096
        return Upload(
            match[1],
            match[2],
            json.loads(decoded),
            read(body),
            received_ns,
            handler.client_address[1],
        )
