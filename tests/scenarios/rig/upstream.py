"""The application's side: a server that logs every byte and answers as a test says."""

import re
import socket
import struct
import threading

from .deadline import DEFAULT_SECONDS, Deadline, wait_until
from .message import ProtocolError, Reader


class Request:
    """A request as it arrived; its body is read on demand."""

    def __init__(self, connection, head):
        self.connection = connection
        self.head = head
        parts = head.start.split(b" ")
        if len(parts) != 3 or parts[2] not in (b"HTTP/1.1", b"HTTP/1.0"):
            raise ProtocolError(f"bad request line {head.start!r}")
        self.method = parts[0].decode()
        self.target = parts[1].decode("latin-1")
        self.version = parts[2].decode()
        self._body = None
        self.trailers = []

    def get(self, name, default=None):
        return self.head.get(name, default)

    def all(self, name):
        return self.head.all(name)

    def has(self, name):
        return self.head.has(name)

    def body(self, seconds=DEFAULT_SECONDS):
        """The whole body; raises when it breaks off."""
        if self._body is None:
            deadline = Deadline(seconds)
            codings, length = self.head.all("Transfer-Encoding"), self.head.all("Content-Length")
            if codings and length:
                raise ProtocolError("the proxy sent both Transfer-Encoding and Content-Length")
            if codings:
                if [coding.lower() for coding in codings] != ["chunked"]:
                    raise ProtocolError(f"the proxy sent Transfer-Encoding {codings}")
                self._body, self.trailers = self.connection.reader.chunked(deadline)
            elif length:
                if len(length) != 1 or not re.fullmatch("[0-9]+", length[0]):
                    raise ProtocolError(f"the proxy sent Content-Length {length}")
                self._body = self.connection.reader.take(int(length[0]), deadline)
            else:
                self._body = b""
        return self._body


class UpstreamConnection:
    """One accepted connection, served by a thread of its own."""

    def __init__(self, sock):
        self.sock = sock
        self.reader = Reader(sock)
        self.closed = threading.Event()

    @property
    def received(self):
        return self.reader.received

    def send(self, data):
        self.sock.settimeout(DEFAULT_SECONDS)
        self.sock.sendall(data)

    def close(self):
        self.closed.set()
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()

    def reset(self):
        self.closed.set()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def wait_for_close(self, seconds=DEFAULT_SECONDS):
        """Whether the proxy closed the connection; bytes that still come are logged."""
        deadline = Deadline(seconds)
        try:
            while self.reader.fill(deadline):
                pass
        except TimeoutError:
            return False
        return True


CLOSE = object()  # the last part of an answer: the connection ends there


def reply(status=200, headers=(), body=b"ok", reason="OK", length=True):
    """The bytes of a response with a Content-Length, unless told otherwise."""
    lines = [f"HTTP/1.1 {status} {reason}"] + [f"{name}: {value}" for name, value in headers]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines + ["", ""]).encode("latin-1") + body


def html(body=b"<html><head></head><body>hi</body></html>", headers=(), status=200):
    return reply(status, [("Content-Type", "text/html; charset=utf-8"), *headers], body)


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def chunked(parts, headers=(), status=200, end=b"0\r\n\r\n"):
    head = reply(status, [*headers, ("Transfer-Encoding", "chunked")], b"", length=False)
    return head + b"".join(chunk(part) for part in parts) + end


class Upstream:
    """Listens on a free loopback port, on `host` and `port`, or on the unix socket `path`. `respond(request)` makes each answer: bytes, parts to send as
    they come (CLOSE is one), or None when it has done all itself through `request.connection`. It
    may be changed at any time and applies to the next request. Requests and connections are logged
    in order of arrival; an exception in `respond` fails the test that calls `check()`.
    """

    def __init__(self, respond=None, host="127.0.0.1", port=0, path=None):
        self.respond = respond or (lambda request: reply())
        self.requests = []
        self.connections = []
        self.errors = []
        if path is not None:
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(str(path))
            self._listener.listen(1024)
            self.address = f"unix:{path}"
        else:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._listener = socket.create_server((host, port), family=family, backlog=1024)
            self.port = self._listener.getsockname()[1]
            self.address = f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.refuse()
        self.drop_connections()

    def refuse(self):
        """Stops listening: connecting is refused from now on."""
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()

    def drop_connections(self):
        for connection in list(self.connections):
            connection.close()

    def reset_log(self):
        self.requests.clear()
        self.errors.clear()

    def targets(self):
        return [request.target for request in self.requests]

    def wait_for_requests(self, count, seconds=DEFAULT_SECONDS):
        wait_until(
            lambda: len(self.requests) >= count, f"{count} requests at the application", seconds
        )
        return self.requests[:count]

    def received(self):
        """All bytes of all connections."""
        return b"".join(connection.received for connection in self.connections)

    def check(self):
        if self.errors:
            raise self.errors[0]

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            if sock.family != socket.AF_UNIX:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = UpstreamConnection(sock)
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    @staticmethod
    def _send(request, answer):
        if request.get("Expect") is None:
            request.body()
        for part in [answer] if isinstance(answer, bytes) else answer:
            if part is CLOSE:
                request.connection.close()
                return
            request.connection.send(part)

    def _serve(self, connection):
        try:
            while not connection.closed.is_set():
                request = Request(connection, connection.reader.head(Deadline(60)))
                self.requests.append(request)
                answer = self.respond(request)
                if answer is not None and not connection.closed.is_set():
                    self._send(request, answer)
        except (EOFError, OSError, ValueError):
            pass  # the proxy left, or the test closed the connection
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(error)
        finally:
            if not connection.closed.is_set():
                connection.close()
