"""HTTP/1.1 messages as bytes. Reads strictly: what the proxy writes has to be beyond doubt."""

import re

from .deadline import Deadline

_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2}) ([\t\x20-\x7e\x80-\xff]*)\Z")
_FIELD_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")


class ProtocolError(Exception):
    """The peer sent what HTTP/1.1 does not allow."""


class Head:
    """A start line and fields. Names are looked up without case; `lines` keeps what came."""

    def __init__(self, raw):
        self.raw = raw
        lines = raw[:-4].split(b"\r\n")
        self.start = lines[0]
        self.lines = lines[1:]
        self.fields = []
        for line in self.lines:
            name, colon, value = line.partition(b":")
            if not colon or not _FIELD_NAME.match(name):
                raise ProtocolError(f"bad field line {line!r}")
            if re.search(rb"[\r\n\0]", value):
                raise ProtocolError(f"control byte in {line!r}")
            self.fields.append((name.decode(), value.strip(b" \t").decode("latin-1")))

    def all(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def get(self, name, default=None):
        values = self.all(name)
        if len(values) > 1:
            raise ProtocolError(f"{name} occurs {len(values)} times: {values}")
        return values[0] if values else default

    def has(self, name):
        return bool(self.all(name))

    def elements(self, name):
        """The elements of a comma-separated list field, over all its lines."""
        return [
            part.strip() for value in self.all(name) for part in value.split(",") if part.strip()
        ]


class Reader:
    """Reads messages from a socket; `received` keeps every byte."""

    def __init__(self, sock):
        self.sock = sock
        self._data = bytearray()
        self._at = 0
        self.ended = False  # the peer has closed its side
        self.was_reset = False

    @property
    def received(self):
        return bytes(self._data)

    def buffered(self):
        return bytes(self._data[self._at :])

    def fill(self, deadline):
        """Waits for more bytes; False at the end of the stream."""
        if self.ended:
            return False
        self.sock.settimeout(deadline.left())
        try:
            data = self.sock.recv(65536)
        except ConnectionResetError:
            data = b""
            self.was_reset = True
        self._data += data
        self.ended = not data
        return not self.ended

    def take(self, size, deadline):
        while len(self._data) - self._at < size:
            if not self.fill(deadline):
                raise EOFError(f"ended after {self.buffered()[:200]!r}, {size} bytes expected")
        taken = bytes(self._data[self._at : self._at + size])
        self._at += size
        return taken

    def take_until(self, mark, deadline):
        while True:
            found = self._data.find(mark, self._at)
            if found >= 0:
                taken = bytes(self._data[self._at : found + len(mark)])
                self._at = found + len(mark)
                return taken
            if not self.fill(deadline):
                raise EOFError(f"ended after {self.buffered()[:200]!r}")

    def take_rest(self, deadline):
        while self.fill(deadline):
            pass
        taken = self.buffered()
        self._at = len(self._data)
        return taken

    def head(self, deadline):
        return Head(self.take_until(b"\r\n\r\n", deadline))

    def chunked(self, deadline):
        """A chunked body: (content, trailer fields)."""
        parts = []
        while True:
            line = self.take_until(b"\r\n", deadline)[:-2]
            size_text = line.partition(b";")[0]
            if not re.fullmatch(rb"[0-9A-Fa-f]{1,16}", size_text):
                raise ProtocolError(f"bad chunk size line {line!r}")
            size = int(size_text, 16)
            if size == 0:
                break
            parts.append(self.take(size, deadline))
            if self.take(2, deadline) != b"\r\n":
                raise ProtocolError("no line end after a chunk")
        trailers = b""
        while True:
            line = self.take_until(b"\r\n", deadline)
            if line == b"\r\n":
                break
            trailers += line
        return b"".join(parts), Head(b"trailers\r\n" + trailers + b"\r\n").fields

    def at_end(self, deadline=None):
        """Whether the peer has closed and nothing more came. Waits for the close."""
        return not self.buffered() and not self.fill(deadline or Deadline())


class Response:
    """A final response, with the interim ones that came before it."""

    def __init__(self, head, body, interim, trailers, framing):
        match = _STATUS_LINE.match(head.start)
        if not match:
            raise ProtocolError(f"bad status line {head.start!r}")
        self.version = (1, int(match[1]))
        self.status = int(match[2])
        self.head = head
        self.body = body
        self.interim = interim
        self.trailers = trailers
        self.framing = framing  # "none", "length", "chunked" or "close"

    def get(self, name, default=None):
        return self.head.get(name, default)

    def all(self, name):
        return self.head.all(name)

    def has(self, name):
        return self.head.has(name)

    def closes(self):
        return "close" in [element.lower() for element in self.head.elements("Connection")]

    def __repr__(self):
        return f"<Response {self.head.start!r} {self.body[:80]!r}>"


def response_status(head):
    match = _STATUS_LINE.match(head.start)
    if not match:
        raise ProtocolError(f"bad status line {head.start!r}")
    return int(match[2])


def read_response(reader, method="GET", deadline=None):
    """The next final response to a request of this method (RFC 9112 §6.3)."""
    deadline = deadline or Deadline()
    interim = []
    while True:
        head = reader.head(deadline)
        status = response_status(head)
        if head.has("Transfer-Encoding") and head.has("Content-Length"):
            raise ProtocolError("both Transfer-Encoding and Content-Length")
        if status >= 200 or status == 101:
            break
        if head.has("Transfer-Encoding") or head.has("Content-Length"):
            raise ProtocolError("framing in an interim response")
        interim.append(head)
    if method == "HEAD" or status in (101, 204, 304) or (method == "CONNECT" and status < 300):
        return Response(head, b"", interim, [], "none")
    if head.has("Transfer-Encoding"):
        if head.get("Transfer-Encoding").lower() != "chunked":
            raise ProtocolError(f"Transfer-Encoding {head.get('Transfer-Encoding')!r}")
        content, trailers = reader.chunked(deadline)
        return Response(head, content, interim, trailers, "chunked")
    if head.has("Content-Length"):
        length = head.get("Content-Length")
        if not re.fullmatch(r"[0-9]+", length):
            raise ProtocolError(f"Content-Length {length!r}")
        return Response(head, reader.take(int(length), deadline), interim, [], "length")
    return Response(head, reader.take_rest(deadline), interim, [], "close")
