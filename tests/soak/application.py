"""An application for the soak: HTTP/1.1, WebSocket and gRPC, each on a port of its own.

    application.py HTTP_PORT WEBSOCKET_PORT GRPC_PORT

GET /bytes/N: N bytes; POST /upload: the number and the hash of what came; GET /events: ten events,
one each 100 ms. The WebSocket echoes. gRPC: /soak/Echo, /soak/Count (as many answers as asked).
"""

import asyncio
import hashlib
import sys
from concurrent import futures

import grpc
import websockets

BLOCK = bytes(range(256)) * 256
EVENTS = 10


async def read_head(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ")
    fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    return method, target, fields


async def chunks(reader):
    while size := int((await reader.readline()).split(b";")[0], 16):
        yield await reader.readexactly(size)
        await reader.readline()
    while (await reader.readline()).strip():
        pass


async def content(reader, fields):
    if fields.get("transfer-encoding") == "chunked":
        async for chunk in chunks(reader):
            yield chunk
        return
    left = int(fields.get("content-length", 0))
    while left:
        chunk = await reader.read(min(left, 65536))
        if not chunk:
            raise EOFError("the request broke off")
        left -= len(chunk)
        yield chunk


async def send_bytes(writer, count):
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % count)
    while count:
        block = BLOCK[: min(count, len(BLOCK))]
        writer.write(block)
        count -= len(block)
        await writer.drain()


async def send_events(writer):
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    for number in range(EVENTS):
        event = b"data: %d\n\n" % number
        writer.write(b"%x\r\n%s\r\n" % (len(event), event))
        await writer.drain()
        await asyncio.sleep(0.1)
    writer.write(b"0\r\n\r\n")


async def serve_http(reader, writer):
    try:
        while True:
            method, target, fields = await read_head(reader)
            digest, count = hashlib.sha256(), 0
            async for chunk in content(reader, fields):
                digest.update(chunk)
                count += len(chunk)
            if target.startswith("/bytes/"):
                await send_bytes(writer, int(target.split("/")[2].split("?")[0]))
            elif target == "/events":
                await send_events(writer)
            else:
                body = f"{method} {count} {digest.hexdigest()}".encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError, EOFError):
        pass
    finally:
        writer.close()


async def echo(socket):
    try:
        async for message in socket:
            await socket.send(message)
    except websockets.ConnectionClosed:
        pass


class Methods(grpc.GenericRpcHandler):
    """Bytes in, bytes out."""

    def service(self, details):
        if details.method == "/soak/Echo":
            return grpc.unary_unary_rpc_method_handler(lambda request, context: request)
        if details.method == "/soak/Count":
            return grpc.unary_stream_rpc_method_handler(
                lambda request, context: (b"%d" % i for i in range(int(request)))
            )
        return None


async def main(http_port, websocket_port, grpc_port):
    server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[Methods()])
    server.add_insecure_port(f"127.0.0.1:{grpc_port}")
    server.start()
    async with await asyncio.start_server(serve_http, "127.0.0.1", http_port, backlog=512):
        async with websockets.serve(echo, "127.0.0.1", websocket_port, compression=None):
            print("ready", flush=True)
            await asyncio.Future()


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
