"""A client that sends exactly the bytes it is given."""

import socket
import struct

from .deadline import DEFAULT_SECONDS, Deadline
from .message import Reader, read_response


class Client:
    """One connection. Use as a context manager."""

    def __init__(self, port, host="127.0.0.1", wrap=None):
        self.sock = socket.create_connection((host, port), timeout=DEFAULT_SECONDS)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if wrap:
            self.sock = wrap(self.sock)
        self.reader = Reader(self.sock)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        self.sock.close()

    def reset(self):
        """Ends the connection with a TCP reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def close_writing(self):
        self.sock.shutdown(socket.SHUT_WR)

    def send(self, data):
        self.sock.settimeout(DEFAULT_SECONDS)
        self.sock.sendall(data)
        return self

    def response(self, method="GET", seconds=DEFAULT_SECONDS):
        return read_response(self.reader, method, Deadline(seconds))

    def head(self, seconds=DEFAULT_SECONDS):
        return self.reader.head(Deadline(seconds))

    def rest(self, seconds=DEFAULT_SECONDS):
        """Everything up to the end of the connection."""
        return self.reader.take_rest(Deadline(seconds))

    def is_closed(self, seconds=DEFAULT_SECONDS):
        """Waits for the peer's close; False when bytes came instead."""
        try:
            return self.reader.at_end(Deadline(seconds))
        except TimeoutError:
            return False

    def request(self, method, target, headers=(), body=b"", host="a.test", version="1.1"):
        """Sends a request with a Host and, for a body, its length."""
        return self.send(make_request(method, target, headers, body, host, version))

    def fetch(self, method="GET", target="/", headers=(), body=b"", **more):
        return self.request(method, target, headers, body, **more).response(method)


def make_request(method, target, headers=(), body=b"", host="a.test", version="1.1"):
    lines = [f"{method} {target} HTTP/{version}"]
    if host is not None:
        lines.append(f"Host: {host}")
    lines += [f"{name}: {value}" for name, value in headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines + ["", ""]).encode("latin-1") + body


def fetch(port, method="GET", target="/", headers=(), body=b"", **more):
    """One request on a connection of its own."""
    with Client(port) as client:
        return client.fetch(method, target, headers, body, **more)
