"""A client of HTTP/2 by prior knowledge that does what a client should at a GOAWAY (RFC 9113 §6.8): streams that the
server still serves are awaited, others and new ones go to another connection. (The h2 package ends a
connection at the first GOAWAY.)"""

import asyncio
import struct

import hpack

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, ACK, END_HEADERS = 0x1, 0x1, 0x4
REFUSED_STREAM = 7


class NotServed(Exception):
    """The server has not begun with the request, which may be sent again (§8.7)."""


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


class Stream:
    def __init__(self):
        self.fields, self.content = {}, bytearray()
        self.done = asyncio.get_running_loop().create_future()

    def fail(self, error):
        if not self.done.done():
            self.done.set_exception(error)


class Connection:
    def __init__(self, reader, writer):
        self._reader, self._writer = reader, writer
        self._encoder, self._decoder = hpack.Encoder(), hpack.Decoder()
        self._next_id = 1
        self._streams = {}
        self.usable = True  # for new streams
        self._task = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0))
        return cls(reader, writer)

    def close(self):
        self._task.cancel()
        self._writer.close()

    async def get(self, target):
        stream, number = Stream(), self._next_id
        self._next_id += 2
        self._streams[number] = stream
        block = self._encoder.encode(
            [(":method", "GET"), (":scheme", "http"), (":authority", "soak"), (":path", target)]
        )
        self._writer.write(frame(HEADERS, END_STREAM | END_HEADERS, number, block))
        await stream.done
        return int(stream.fields[":status"]), bytes(stream.content)

    async def _read(self):
        error = ConnectionError("the connection ended")
        try:
            while True:
                head = await self._reader.readexactly(9)
                payload = await self._reader.readexactly(int.from_bytes(head[:3], "big"))
                kind, flags, number = struct.unpack(">BBI", head[3:])
                self._handle(kind, flags, number & 0x7FFFFFFF, payload)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except Exception as fault:  # pylint: disable=broad-except
            error = fault
        self.usable = False
        for stream in self._streams.values():
            stream.fail(error)
        self._writer.close()

    def _handle(self, kind, flags, number, payload):
        stream = self._streams.get(number)
        if kind == SETTINGS and not flags & ACK:
            self._writer.write(frame(SETTINGS, ACK, 0))
        elif kind == PING and not flags & ACK:
            self._writer.write(frame(PING, ACK, 0, payload))
        elif kind == GOAWAY:
            self._go_away(*struct.unpack(">II", payload[:8]))
        elif kind == HEADERS:
            fields = self._decoder.decode(payload)
            if stream:
                stream.fields.update(fields)
        elif kind == DATA:
            credit = struct.pack(">I", len(payload))
            if payload:
                self._writer.write(frame(WINDOW_UPDATE, 0, 0, credit))
            if stream:
                stream.content += payload
                if payload and not flags & END_STREAM:
                    self._writer.write(frame(WINDOW_UPDATE, 0, number, credit))
        elif kind == RST_STREAM and stream:
            code = int.from_bytes(payload, "big")
            refused = code == REFUSED_STREAM
            self._streams.pop(number).fail(
                NotServed() if refused else ConnectionError(f"RST_STREAM {code}")
            )
        if kind in (HEADERS, DATA) and flags & END_STREAM and stream:
            self._streams.pop(number).done.set_result(None)

    def _go_away(self, last, code):
        self.usable = False
        if code != 0:
            raise ConnectionError(f"GOAWAY {code}")
        for number in [number for number in self._streams if number > last]:
            self._streams.pop(number).fail(NotServed())


class Http2:
    """Requests on one connection as long as that is good."""

    def __init__(self, port):
        self._port = port
        self._connection = None
        self._opening = asyncio.Lock()

    async def get(self, target):
        while True:
            connection = await self._usable()
            try:
                return await connection.get(target)
            except NotServed:
                pass

    async def _usable(self):
        async with self._opening:
            if self._connection is None or not self._connection.usable:
                self._connection = await Connection.open(self._port)
            return self._connection

    def close(self):
        if self._connection is not None:
            self._connection.close()
