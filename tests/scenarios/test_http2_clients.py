"""HTTP/2 by clients that others wrote, and what they carry over it."""

import asyncio
import base64
import hashlib
import ssl
import subprocess

import httpx

from rig import Proxy, ProxyCase, echo, reply, wait_until
from rig import http2 as h2
from rig.http2 import Http2Client
from test_tls import TlsCase

SECONDS = 60


def run(*command, **more):
    return subprocess.run(command, capture_output=True, timeout=SECONDS, check=True, **more)


class ClearText(ProxyCase):
    """By prior knowledge, on the port that also speaks HTTP/1."""

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.proxy.port}{path}"

    def test_curl(self):
        out = run("curl", "-sv", "--http2-prior-knowledge", self.url("/curl"))
        self.assertEqual(out.stdout, b"/curl")
        self.assertIn(b"< HTTP/2 200", out.stderr)
        self.assertEqual(self.app.requests[0].get("Via"), "2.0 flamegate")
        self.assertEqual(self.proxy.access_log(1, "/curl")[0]["protocol"], "HTTP/2")

    def test_curl_uploads_and_downloads(self):
        self.app.respond = lambda request: reply(body=request.body())
        content = bytes(range(256)) * 20_000
        for how in (["--data-binary", "@-"], ["-T", "-"]):
            out = run(
                "curl", "-s", "--http2-prior-knowledge", *how, self.url("/echo"), input=content
            )
            self.assertEqual(out.stdout, content)

    def test_http1_and_http2_share_the_port(self):
        self.assertEqual(self.fetch(target="/one").body, b"/one")
        with Http2Client(self.proxy.port) as client:
            self.assertEqual(client.fetch(path="/two").body, b"/two")
        with self.connect() as client:
            client.send(b"P")
            client.send(b"OST /three HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
            self.assertEqual(client.response().body, b"/three")

    def test_the_preface_byte_by_byte(self):
        with Http2Client(self.proxy.port, preface=False) as client:
            for byte in h2.PREFACE + h2.settings():
                client.send(bytes([byte]))
            self.assertEqual(client.fetch(path="/slowly").body, b"/slowly")

    def test_nghttp(self):
        out = run("nghttp", "-v", "-m", "20", self.url("/nghttp"))
        self.assertIn(b"/nghttp", out.stdout)
        self.assertEqual(out.stdout.count(b":status: 200"), 20)

    def test_h2load(self):
        out = run("h2load", "-c", "4", "-m", "20", "-n", "2000", self.url("/load")).stdout.decode()
        self.assertIn("2000 succeeded, 0 failed, 0 errored, 0 timeout", out)

    def test_requests_of_one_batch_are_answered_together(self):
        with Http2Client(self.proxy.port) as client:
            streams = [client.request(path=f"/{n}") for n in range(50)]
            bodies = [response.body for response in client.responses(streams)]
        self.assertEqual(bodies, [f"/{n}".encode() for n in range(50)])

    def test_draining_lets_streams_end(self):
        """RFC 9113 §6.8: GOAWAY twice; what was begun is answered"""
        with Proxy(self.app) as proxy:
            self.app.respond = lambda request: reply(body=request.target.encode())
            client = Http2Client(proxy.port)
            self.addCleanup(client.close)
            client.fetch(path="/before")
            held = []
            self.app.respond = held.append
            stream = client.request(path="/during")
            wait_until(lambda: held, "the application has it")
            proxy.signal(15)
            first = client.wait_for_kind(h2.GOAWAY)
            self.assertEqual(first.payload[:4], b"\x7f\xff\xff\xff")
            client.wait_for_kind(h2.PING)
            second = client.wait_for_kind(h2.GOAWAY)
            self.assertEqual(int.from_bytes(second.payload[:4], "big"), stream)
            held[0].connection.send(reply(body=b"during"))
            self.assertEqual(client.response(stream).body, b"during")
            self.assertIsNone(client.read())
            self.assertEqual(proxy.wait_for_exit(), 0)


class WebSockets(ProxyCase):
    """RFC 8441: a WebSocket on a stream, to an application that speaks HTTP/1.1."""

    def accept(self, request):
        key = request.get("Sec-WebSocket-Key").encode()
        self.assertEqual(len(base64.b64decode(key)), 16)
        self.assertEqual(request.get("Upgrade"), "websocket")
        accept = base64.b64encode(
            hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        )
        request.connection.send(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accept + b"\r\nSec-WebSocket-Protocol: chat\r\n\r\n"
        )
        while True:
            got = request.connection.sock.recv(65536)
            if not got:
                request.connection.close()
                return None
            request.connection.send(got.upper())

    def connect_fields(self):
        return [
            (":method", "CONNECT"),
            (":protocol", "websocket"),
            (":scheme", "http"),
            (":authority", "a.test"),
            (":path", "/chat"),
            ("sec-websocket-version", "13"),
        ]

    def test_a_websocket_over_a_stream(self):
        """RFC 8441 §5"""
        self.app.respond = self.accept
        with Http2Client(self.proxy.port) as client:
            client.wait_for_kind(h2.SETTINGS)
            self.assertEqual(client.settings[h2.ENABLE_CONNECT_PROTOCOL], 1)
            stream = client.new_stream()
            client.send(h2.headers(stream, self.connect_fields(), end=False))
            head = dict(client.wait_for_kind(h2.HEADERS).fields)
            self.assertEqual((head[":status"], head["sec-websocket-protocol"]), ("200", "chat"))
            self.assertNotIn("sec-websocket-accept", head)
            for text in (b"one", b"two" * 10_000):
                got = b""
                client.send(*[h2.data(stream, text[at : at + 16000]) for at in range(0, len(text), 16000)])
                while len(got) < len(text):
                    got += client.wait_for_kind(h2.DATA).payload
                self.assertEqual(got, text.upper())
            client.send(h2.data(stream, end=True))
            ended = client.wait_for(lambda frame: frame.ends_stream or frame.kind == h2.RST_STREAM)
            self.assertTrue(ended.ends_stream)
            # The connection serves others beside and after it.
            self.app.respond = lambda request: reply(body=b"other")
            self.assertEqual(client.fetch().body, b"other")

    def test_a_refused_websocket(self):
        self.app.respond = lambda request: reply(403, body=b"no")
        with Http2Client(self.proxy.port) as client:
            stream = client.new_stream()
            client.send(h2.headers(stream, self.connect_fields(), end=False))
            response = client.response(stream)
            self.assertEqual((response.status, response.body), (403, b"no"))

    def test_other_protocols_are_501(self):
        """RFC 8441 §4, RFC 9220"""
        fields = [(n, "other" if n == ":protocol" else v) for n, v in self.connect_fields()]
        with Http2Client(self.proxy.port) as client:
            stream = client.new_stream()
            client.send(h2.headers(stream, fields, end=False))
            self.assertEqual(client.response(stream).status, 501)
            self.assertEqual(client.fetch(path="/after").body, b"/after")


class OverTls(TlsCase):
    """Both protocols by ALPN, HTTP/2 preferred, without a word in the configuration."""

    @classmethod
    def tls(cls):
        return {"certificates": [cls.authority.issue("localhost", "a.test")]}

    def setUp(self):
        self.app.respond = echo

    def url(self, path="/"):
        return f"https://localhost:{self.proxy.port}{path}"

    def test_curl_takes_http2(self):
        out = run("curl", "-sv", "--cacert", str(self.authority.cert), self.url("/curl"))
        self.assertEqual(out.stdout, b"/curl")
        self.assertIn(b"< HTTP/2 200", out.stderr)

    def test_curl_takes_http1_when_told_to(self):
        out = run("curl", "-sv", "--http1.1", "--cacert", str(self.authority.cert), self.url("/curl"))
        self.assertEqual(out.stdout, b"/curl")
        self.assertIn(b"< HTTP/1.1 200", out.stderr)

    def test_httpx(self):
        async def ask():
            context = ssl.create_default_context(cafile=str(self.authority.cert))
            async with httpx.AsyncClient(http2=True, verify=context) as client:
                gets = [client.get(self.url(f"/{n}")) for n in range(30)]
                responses = await asyncio.gather(*gets)
                self.assertEqual({response.http_version for response in responses}, {"HTTP/2"})
                return [response.text for response in responses]

        self.assertEqual(asyncio.run(ask()), [f"/{n}" for n in range(30)])

    def test_a_client_that_agreed_on_http2_has_to_speak_it(self):
        """RFC 9113 §3.4"""
        context = self.authority.client_context(alpn=("h2",))
        with Http2Client(
            self.proxy.port,
            preface=False,
            wrap=lambda sock: context.wrap_socket(sock, server_hostname="a.test"),
        ) as client:
            client.send(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            self.assertEqual(client.goaway_error(), h2.PROTOCOL_ERROR)

    def test_large_bodies(self):
        content = b"0123456789" * 300_000
        self.app.respond = lambda request: reply(body=content)
        out = run("curl", "-s", "--cacert", str(self.authority.cert), self.url("/large"))
        self.assertEqual(out.stdout, content)
