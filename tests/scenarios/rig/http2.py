"""HTTP/2 frame by frame, for either side (RFC 9113). Compression of what comes is by python3-hpack;
what goes out is written as literals, so that a test can send any bytes as a field."""

import socket
import struct
import threading

import hpack

from .deadline import DEFAULT_SECONDS, Deadline
from .message import Reader

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = 0, 1, 2, 3, 4
PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 5, 6, 7, 8, 9

END_STREAM, ACK, END_HEADERS, PADDED, PRIORITY_FLAG = 0x1, 0x1, 0x4, 0x8, 0x20

NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR = 0, 1, 2, 3
STREAM_CLOSED, FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL = 5, 6, 7, 8
COMPRESSION_ERROR, ENHANCE_YOUR_CALM = 9, 11

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS = 1, 2, 3
INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, ENABLE_CONNECT_PROTOCOL = 4, 5, 8


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def settings(values=(), ack=False):
    payload = b"".join(struct.pack(">HI", name, value) for name, value in dict(values).items())
    return frame(SETTINGS, ACK if ack else 0, 0, payload)


def rst(stream, error=CANCEL):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", error))


def window_update(stream, increment):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))


def ping(opaque=b"12345678", ack=False):
    return frame(PING, ACK if ack else 0, 0, opaque)


def goaway(last=0, error=NO_ERROR):
    return frame(GOAWAY, 0, 0, struct.pack(">II", last, error))


def data(stream, content=b"", end=False):
    return frame(DATA, END_STREAM if end else 0, stream, content)


def _length(size):
    if size < 127:
        return bytes([size])
    out, rest = [127], size - 127
    while rest >= 128:
        out.append(rest % 128 + 128)
        rest //= 128
    return bytes(out + [rest])


def block(fields):
    """Literals without indexing and without Huffman codes (RFC 7541 §6.2.2)."""
    out = b""
    for name, value in fields:
        name = name.encode("latin-1") if isinstance(name, str) else name
        value = value.encode("latin-1") if isinstance(value, str) else value
        out += b"\x00" + _length(len(name)) + name + _length(len(value)) + value
    return out


def headers(stream, fields, end=True, flags=END_HEADERS):
    return frame(HEADERS, flags | (END_STREAM if end else 0), stream, block(fields))


def request_fields(method="GET", path="/", more=(), authority="a.test", scheme="http"):
    return [
        (":method", method),
        (":scheme", scheme),
        (":authority", authority),
        (":path", path),
        *more,
    ]


class Frame:
    def __init__(self, kind, flags, stream, payload):
        self.kind, self.flags, self.stream, self.payload = kind, flags, stream, payload
        self.fields = None  # of HEADERS: decoded, with those of its CONTINUATIONs

    @property
    def ends_stream(self):
        return self.kind in (DATA, HEADERS) and bool(self.flags & END_STREAM)

    @property
    def error(self):
        """Of RST_STREAM and GOAWAY."""
        return struct.unpack(">I", self.payload[:4] if self.kind == RST_STREAM else self.payload[4:8])[0]

    def __repr__(self):
        return f"<{self.kind} {self.flags:#x} on {self.stream}: {self.fields or self.payload[:60]!r}>"


class Http2Response:
    """What came on one stream: heads, content, trailers, and how it ended."""

    def __init__(self):
        self.interim, self.fields, self.trailers = [], None, []
        self.body = b""
        self.error = None  # of RST_STREAM
        self.ended = False

    @property
    def status(self):
        return int(self.get(":status"))

    def get(self, name, default=None):
        return dict(self.fields).get(name, default)


class Http2Peer:
    """Frames over a socket. Acknowledges SETTINGS and PING by itself and gives windows back, unless
    told not to."""

    def __init__(self, sock):
        self.sock = sock
        self.sock.settimeout(DEFAULT_SECONDS)
        self.reader = Reader(sock)
        self.decoder = hpack.Decoder(max_header_list_size=1 << 20)
        self.automatic = True
        self.gives_windows = True
        self.settings = {}
        self.frames = []  # all that came

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        self.sock.close()

    def send(self, *pieces):
        self.sock.sendall(b"".join(pieces))
        return self

    def read(self, seconds=DEFAULT_SECONDS):
        """The next frame; None at the end of the connection."""
        deadline = Deadline(seconds)
        got = self._read(deadline)
        if got is None:
            return None
        if got.kind == HEADERS:
            compressed = got.payload
            last = got
            while not last.flags & END_HEADERS:
                last = self._read(deadline)
                assert last.kind == CONTINUATION, last
                compressed += last.payload
            got.fields = [(str(name), str(value)) for name, value in self.decoder.decode(compressed)]
        self.frames.append(got)
        if self.automatic:
            self._answer(got)
        return got

    def _read(self, deadline):
        try:
            head = self.reader.take(9, deadline)
        except (EOFError, ConnectionError):
            return None
        size = int.from_bytes(head[:3], "big")
        kind, flags, stream = struct.unpack(">BBI", head[3:])
        return Frame(kind, flags, stream & 0x7FFFFFFF, self.reader.take(size, deadline))

    def _answer(self, got):
        try:
            if got.kind == SETTINGS and not got.flags & ACK:
                for at in range(0, len(got.payload), 6):
                    name, value = struct.unpack(">HI", got.payload[at : at + 6])
                    self.settings[name] = value
                self.send(settings(ack=True))
            elif got.kind == PING and not got.flags & ACK:
                self.send(ping(got.payload, ack=True))
            elif got.kind == DATA and got.payload and self.gives_windows:
                self.send(window_update(0, len(got.payload)))
                if not got.ends_stream:
                    self.send(window_update(got.stream, len(got.payload)))
        except OSError:
            pass  # it has closed; what it sent before counts

    def wait_for(self, matches, seconds=DEFAULT_SECONDS):
        """The next frame that matches, or None at the end."""
        while True:
            got = self.read(seconds)
            if got is None or matches(got):
                return got

    def wait_for_kind(self, kind, seconds=DEFAULT_SECONDS):
        return self.wait_for(lambda got: got.kind == kind, seconds)

    def goaway_error(self, seconds=DEFAULT_SECONDS):
        """The code of the GOAWAY that ends the connection; None when it ended without one."""
        error = None
        while True:
            got = self.read(seconds)
            if got is None:
                return error
            if got.kind == GOAWAY:
                error = got.error

    def is_alive(self):
        """Whether a PING is answered."""
        try:
            self.send(ping(b"alive?!?"))
        except OSError:
            return False
        matches = lambda got: got.kind == PING and got.flags & ACK and got.payload == b"alive?!?"
        return self.wait_for(matches) is not None


class Http2Client(Http2Peer):
    """A client by prior knowledge; `wrap` may put TLS around the socket."""

    def __init__(self, port, first_settings=(), preface=True, wrap=None):
        sock = socket.create_connection(("127.0.0.1", port), timeout=DEFAULT_SECONDS)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().__init__(wrap(sock) if wrap else sock)
        self.next_stream = 1
        if preface:
            self.send(PREFACE, settings(first_settings))

    def new_stream(self):
        stream = self.next_stream
        self.next_stream += 2
        return stream

    def request(self, method="GET", path="/", more=(), body=None, **fields):
        """Sends a request; returns its stream."""
        stream = self.new_stream()
        self.send(headers(stream, request_fields(method, path, more, **fields), end=body is None))
        if body is not None:
            self.send(data(stream, body, end=True))
        return stream

    def responses(self, streams, seconds=DEFAULT_SECONDS):
        """The responses on these streams, read together."""
        found = {stream: Http2Response() for stream in streams}
        while not all(response.ended for response in found.values()):
            got = self.read(seconds)
            if got is None:
                raise EOFError(f"the connection ended: {self.frames[-3:]}")
            response = found.get(got.stream)
            if response is None or response.ended:
                continue
            if got.kind == HEADERS:
                if response.fields is not None:
                    response.trailers = got.fields
                elif dict(got.fields)[":status"].startswith("1"):
                    response.interim.append(got.fields)
                else:
                    response.fields = got.fields
            elif got.kind == DATA:
                response.body += got.payload
            elif got.kind == RST_STREAM:
                response.error = got.error
            response.ended = got.ends_stream or got.kind == RST_STREAM
        return [found[stream] for stream in streams]

    def response(self, stream, seconds=DEFAULT_SECONDS):
        return self.responses([stream], seconds)[0]

    def fetch(self, method="GET", path="/", more=(), body=None, **fields):
        return self.response(self.request(method, path, more, body, **fields))


class Http2Request:
    """A request as an application got it; `answer` sends a response in one go."""

    def __init__(self, connection, stream, fields):
        self.connection, self.stream, self.fields = connection, stream, fields
        self.body, self.trailers, self.error = b"", [], None
        self.ended = threading.Event()
        self.reset = threading.Event()

    def get(self, name, default=None):
        return dict(self.fields).get(name, default)

    @property
    def target(self):
        return self.get(":path")

    def answer(self, status=200, more=(), body=b"ok", trailers=None):
        fields = [(":status", str(status)), *more]
        pieces = [headers(self.stream, fields, end=not body and trailers is None)]
        for at in range(0, len(body), 16384):
            last = at + 16384 >= len(body) and trailers is None
            pieces.append(data(self.stream, body[at : at + 16384], end=last))
        if trailers is not None:
            pieces.append(headers(self.stream, trailers))
        self.connection.send(*pieces)


class Http2Upstream:
    """An application that speaks HTTP/2, by prior knowledge or behind `wrap`. `respond(request)` is
    called when a request's head has come, on the connection's thread, or, unless `early`, when it has
    ended. Respects no windows but its own: answers stay below 64 KiB."""

    def __init__(self, respond=None, first_settings=(), wrap=None, early=False, port=0):
        self.respond = respond or (lambda request: request.answer(body=request.target.encode()))
        self.first_settings, self.wrap, self.early = first_settings, wrap, early
        self.requests, self.connections, self.errors = [], [], []
        self._listener = socket.create_server(("127.0.0.1", port), backlog=1024)
        self.port = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()
        for connection in self.connections:
            connection.close()

    def check(self):
        assert not self.errors, self.errors

    def reset_log(self):
        self.requests, self.errors = [], []

    def targets(self):
        return [request.target for request in self.requests]

    def _accept(self):
        while True:
            try:
                sock = self._listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        try:
            peer = Http2Peer(self.wrap(sock) if self.wrap else sock)
            peer.sock.settimeout(60)
            self.connections.append(peer)
            if peer.reader.take(len(PREFACE), Deadline(60)) != PREFACE:
                raise AssertionError("no preface")
            peer.send(settings(self.first_settings))
            open_requests = {}
            while (got := peer.read(60)) is not None:
                self._take(peer, got, open_requests)
        except (EOFError, OSError):
            pass  # the proxy left, or the test closed the connection
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(error)

    def _take(self, peer, got, open_requests):
        request = open_requests.get(got.stream)
        if got.kind == HEADERS and request is None:
            request = open_requests[got.stream] = Http2Request(peer, got.stream, got.fields)
            self.requests.append(request)
            if self.early:
                self.respond(request)
        elif got.kind == HEADERS:
            request.trailers = got.fields
        elif got.kind == DATA:
            request.body += got.payload
        elif got.kind == RST_STREAM and request is not None:
            request.error = got.error
            request.reset.set()
        if got.ends_stream:
            request.ended.set()
            if not self.early:
                self.respond(request)
