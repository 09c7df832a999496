"""The clients of the soak. Each is a coroutine that does one operation and raises when anything is not as
it should be; a client may keep its connection between operations."""

import asyncio
import hashlib
import os

import grpc
import websockets

import http2_client
from application import BLOCK, EVENTS

LARGE = 1024 * 1024


class Failure(Exception):
    """What came is not what was asked for."""


def expect(condition, what):
    if not condition:
        raise Failure(what)


def block_of(count):
    return (BLOCK * (count // len(BLOCK) + 1))[:count]


class Http1:
    """One kept connection, by hand, so that nothing is tried again behind our back."""

    def __init__(self, port):
        self._port = port
        self._reader = self._writer = None

    async def _exchange(self, head, body=b""):
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            self._writer.write(head + body)
            answer = await self._reader.readuntil(b"\r\n\r\n")
            status, fields = self._parse(answer)
            expect(status == 200, f"status {status}")
            received = await self._content(fields)
        except BaseException:
            self._drop()
            raise
        if fields.get("connection") == "close":
            self._drop()
        return received

    @staticmethod
    def _parse(head):
        lines = head.decode("latin-1").split("\r\n")
        fields = (line.split(": ", 1) for line in lines[1:] if line)
        return int(lines[0].split(" ")[1]), {name.lower(): value for name, value in fields}

    async def _content(self, fields):
        if "content-length" in fields:
            return await self._reader.readexactly(int(fields["content-length"]))
        received = b""
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            received += await self._reader.readexactly(size)
            await self._reader.readexactly(2)
        await self._reader.readexactly(2)
        return received

    def _drop(self):
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    async def _get(self, target):
        return await self._exchange(f"GET {target} HTTP/1.1\r\nHost: soak\r\n\r\n".encode())

    async def small(self):
        expect(await self._get("/bytes/100?x=1") == block_of(100), "other bytes")

    async def download(self):
        expect(await self._get(f"/bytes/{LARGE}") == block_of(LARGE), "other bytes")

    async def upload(self):
        body = os.urandom(256 * 1024)
        head = f"POST /upload HTTP/1.1\r\nHost: soak\r\nContent-Length: {len(body)}\r\n\r\n"
        answer = await self._exchange(head.encode(), body)
        wanted = f"POST {len(body)} {hashlib.sha256(body).hexdigest()}"
        expect(answer.decode() == wanted, "the upload arrived otherwise")

    async def events(self):
        events = await self._get("/events")
        expect(events.count(b"data: ") == EVENTS, "not all events")


class NewConnections(Http1):
    """A connection for each request."""

    async def small(self):
        await super().small()
        self._drop()


class Http2:
    """Streams of one connection."""

    def __init__(self, port):
        self._client = http2_client.Http2(port)

    def close(self):
        self._client.close()

    async def _get(self, count):
        status, content = await self._client.get(f"/bytes/{count}")
        expect(status == 200, f"status {status}")
        expect(content == block_of(count), "other bytes")

    async def small(self):
        await asyncio.gather(*(self._get(100 + i) for i in range(8)))

    async def download(self):
        await self._get(LARGE)


async def websocket(port):
    """Some messages, over a second or so."""
    async with websockets.connect(f"ws://127.0.0.1:{port}/ws", compression=None) as socket:
        for number in range(10):
            message = block_of(1000 * number)
            await socket.send(message)
            expect(await socket.recv() == message, "another message")
            await asyncio.sleep(0.1)


class Grpc:
    def __init__(self, port):
        self._channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")

    async def unary(self):
        message = os.urandom(500)
        expect(await self._channel.unary_unary("/soak/Echo")(message) == message, "another message")

    async def stream(self):
        answers = [answer async for answer in self._channel.unary_stream("/soak/Count")(b"50")]
        expect(answers == [b"%d" % i for i in range(50)], "other answers")
