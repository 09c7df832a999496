"""HTTP/2 to the application, from clients of both protocols."""

import base64
import hashlib
import socket
import unittest

from rig import Authority, Proxy, wait_until
from rig import http2 as h2
from rig.http2 import Http2Client, Http2Upstream


class Http2UpstreamCase(unittest.TestCase):
    """One application that speaks HTTP/2 and one proxy before it, for all tests of a class."""

    CLUSTER = {"protocol": "h2"}
    UPSTREAM = {}

    @classmethod
    def setUpClass(cls):
        cls.app = Http2Upstream(**cls.UPSTREAM)
        cls.addClassCleanup(cls.app.close)
        cls.proxy = Proxy(None, {"clusters": [cls.cluster(cls.app)]})
        cls.proxy.start()
        cls.addClassCleanup(cls.proxy.stop)

    @classmethod
    def cluster(cls, app):
        return {"name": "app", "endpoints": [app.address], "service": "shop", **cls.CLUSTER}

    def setUp(self):
        self.app.respond = lambda request: request.answer(body=request.target.encode())
        self.app.early = False
        self.app.reset_log()

    def tearDown(self):
        self.app.check()

    def client(self):
        client = Http2Client(self.proxy.port)
        self.addCleanup(client.close)
        return client


class Messages(Http2UpstreamCase):
    def test_http1_clients(self):
        """RFC 9113 §8.3.1, §8.2.2"""
        response = self.proxy.fetch(
            target="/one?q", headers=[("X-Mixed", "Value"), ("Connection", "X-Hop"), ("X-Hop", "1")]
        )
        self.assertEqual((response.status, response.body), (200, b"/one?q"))
        fields = self.app.requests[0].fields
        self.assertEqual(dict(fields)[":authority"], "a.test")
        self.assertEqual(dict(fields)["x-mixed"], "Value")
        for name in ("host", "x-hop", "connection"):
            self.assertNotIn(name, dict(fields))

    def test_http2_clients(self):
        client = self.client()
        streams = [client.request(path=f"/{n}") for n in range(50)]
        bodies = [response.body for response in client.responses(streams)]
        self.assertEqual(bodies, [f"/{n}".encode() for n in range(50)])

    def test_content_both_ways(self):
        content = b"0123456789" * 5000
        self.app.respond = lambda request: request.answer(body=request.body)
        self.assertEqual(self.proxy.fetch("POST", body=content).body, content)
        self.assertEqual(self.client().fetch("POST", body=content[:16000]).body, content[:16000])

    def test_responses_without_content(self):
        """RFC 9110 §9.3.2, §15.3.5"""
        self.app.respond = lambda request: request.answer(more=[("content-length", "5")], body=b"")
        self.assertEqual(self.proxy.fetch("HEAD").get("Content-Length"), "5")
        self.app.respond = lambda request: request.answer(204, body=b"")
        self.assertEqual(self.proxy.fetch().status, 204)
        self.app.respond = lambda request: request.answer(body=b"")
        response = self.proxy.fetch()
        self.assertEqual((response.body, response.framing), (b"", "length"))

    def test_h2_30_trailers_and_trailers_only_answers(self):
        """RFC 9113 §8.1; what gRPC needs"""
        more = [("te", "trailers"), ("content-type", "application/grpc")]
        self.app.respond = lambda request: request.answer(
            more=more[1:], body=b"\0\0\0\0\2hi", trailers=[("grpc-status", "0")]
        )
        response = self.client().fetch("POST", "/svc/Method", more, body=b"\0\0\0\0\2me")
        self.assertEqual((response.body, response.trailers), (b"\0\0\0\0\2hi", [("grpc-status", "0")]))
        self.assertEqual(self.app.requests[0].get("te"), "trailers")
        self.app.respond = lambda request: request.answer(
            more=more[1:] + [("grpc-status", "5")], body=b""
        )
        response = self.client().fetch("POST", "/svc/Method", more, body=b"\0\0\0\0\0")
        self.assertEqual((response.get("grpc-status"), response.body), ("5", b""))

    def test_h2_30_a_reset_after_content_passes(self):
        def answer(request):
            request.connection.send(
                h2.headers(request.stream, [(":status", "200")], end=False),
                h2.data(request.stream, b"half"),
                h2.rst(request.stream, h2.CANCEL),
            )

        self.app.respond = answer
        response = self.client().fetch()
        self.assertIsNotNone(response.error)

    def test_a_clients_reset_reaches_the_application(self):
        self.app.respond = lambda request: None
        client = self.client()
        stream = client.request()
        wait_until(lambda: self.app.requests, "the application has it")
        client.send(h2.rst(stream))
        self.assertTrue(self.app.requests[0].reset.wait(10))

    def test_malformed_responses_are_502(self):
        """RFC 9113 §8.1.1"""
        for fields in (
            [(":status", "101")],
            [(":status", "200"), ("connection", "close")],
            [(":status", "200"), ("X-Upper", "1")],
            [(":status", "200"), ("x", "a\nb")],
            [],
        ):
            self.app.respond = lambda request, fields=fields: request.connection.send(
                h2.headers(request.stream, fields)
            )
            self.assertEqual(self.proxy.fetch().status, 502, fields)
            self.assertEqual(self.client().fetch().status, 502, fields)


class Retries(Http2UpstreamCase):
    def test_h2_26_refused_streams_are_tried_again(self):
        """RFC 9113 §8.7: any method"""
        refused = []

        def answer(request):
            if not refused:
                refused.append(request)
                request.connection.send(h2.rst(request.stream, h2.REFUSED_STREAM))
            else:
                request.answer(body=b"second")

        self.app.respond = answer
        self.app.early = True
        self.assertEqual(self.proxy.fetch("POST").body, b"second")

    def test_h2_26_streams_above_a_goaway_are_tried_again(self):
        """RFC 9113 §6.8, §8.7"""
        told = []

        def answer(request):
            if not told:
                told.append(request)
                request.connection.send(h2.goaway(last=0))
            else:
                request.answer(body=b"second")

        self.app.respond = answer
        self.assertEqual(self.proxy.fetch("POST").body, b"second")
        self.assertIsNot(self.app.requests[0].connection, self.app.requests[1].connection)

    def test_streams_below_a_goaway_end_in_order(self):
        def answer(request):
            request.connection.send(h2.goaway(last=request.stream))
            request.answer(body=b"last")

        self.app.respond = answer
        self.assertEqual(self.proxy.fetch().body, b"last")
        self.app.respond = lambda request: request.answer(body=b"new")
        self.assertEqual(self.proxy.fetch().body, b"new")


class Silence(unittest.TestCase):
    """An application that takes connections and says nothing."""

    def test_a_silent_endpoint_is_given_up_for_another(self):
        app = Http2Upstream()
        self.addCleanup(app.close)
        app.respond = lambda request: request.answer(body=b"well")
        silent = self.enterContext(socket.create_server(("127.0.0.1", 0), backlog=64))
        cluster = {
            "name": "app",
            "endpoints": [f"127.0.0.1:{silent.getsockname()[1]}", app.address],
            "protocol": "h2",
            "balance": "round_robin",
            "timeout": {"connect": "300ms"},
        }
        with Proxy(None, {"clusters": [cluster]}) as proxy:
            for _ in range(6):
                self.assertEqual(proxy.fetch().body, b"well")

    def test_alone_it_is_asked_again_once_it_speaks(self):
        silent = socket.create_server(("127.0.0.1", 0), backlog=64)
        port = silent.getsockname()[1]
        cluster = {
            "name": "app",
            "endpoints": [f"127.0.0.1:{port}"],
            "protocol": "h2",
            "timeout": {"connect": "300ms"},
        }
        with Proxy(None, {"clusters": [cluster]}) as proxy:
            self.assertEqual(proxy.fetch().status, 504)
            silent.close()
            app = Http2Upstream(port=port)
            self.addCleanup(app.close)
            app.respond = lambda request: request.answer(body=b"well")
            wait_until(lambda: proxy.fetch().status == 200, "it is used")


class Limits(Http2UpstreamCase):
    UPSTREAM = {"first_settings": [(h2.MAX_CONCURRENT_STREAMS, 2)]}

    def test_concurrent_streams_are_respected(self):
        """RFC 9113 §5.1.2"""
        held = []
        self.app.respond = held.append
        client = self.client()
        streams = [client.request(path=f"/{n}") for n in range(6)]
        wait_until(lambda: len(held) == 6 or len(self.app.connections) == 3, "all are begun")
        wait_until(lambda: len(held) == 6, "all are at the application")
        for connection in self.app.connections:
            self.assertLessEqual(sum(request.connection is connection for request in held), 2)
        for request in held:
            request.answer(body=request.target.encode())
        bodies = [response.body for response in client.responses(streams)]
        self.assertEqual(bodies, [f"/{n}".encode() for n in range(6)])


class WebSockets(Http2UpstreamCase):
    """RFC 8441 towards the application."""

    UPSTREAM = {"first_settings": [(h2.ENABLE_CONNECT_PROTOCOL, 1)]}

    def setUp(self):
        super().setUp()
        self.app.early = True
        self.app.respond = self.accept

    @staticmethod
    def accept(request):
        assert request.get(":method") == "CONNECT" and request.get(":protocol") == "websocket"
        assert request.get("sec-websocket-key") is None
        request.connection.send(
            h2.headers(request.stream, [(":status", "200"), ("sec-websocket-protocol", "c")], end=False),
            h2.data(request.stream, b"hello"),
        )

    def test_http1_clients(self):
        """RFC 8441 §5, RFC 6455 §4"""
        key = base64.b64encode(b"0123456789abcdef")
        with self.proxy.connect() as client:
            client.request(
                "GET",
                "/chat",
                [
                    ("Connection", "Upgrade"),
                    ("Upgrade", "websocket"),
                    ("Sec-WebSocket-Key", key.decode()),
                    ("Sec-WebSocket-Version", "13"),
                ],
            )
            response = client.response()
            accept = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
            self.assertEqual(response.status, 101)
            self.assertEqual(response.get("Sec-WebSocket-Accept"), base64.b64encode(accept).decode())
            self.assertEqual(response.get("Sec-WebSocket-Protocol"), "c")
            client.send(b"text")
            wait_until(lambda: self.app.requests[0].body == b"text", "the bytes arrive")
            self.assertEqual(client.reader.take(5, h2.Deadline()), b"hello")

    def test_http2_clients(self):
        client = self.client()
        stream = client.new_stream()
        fields = [
            (":method", "CONNECT"),
            (":protocol", "websocket"),
            (":scheme", "http"),
            (":authority", "a.test"),
            (":path", "/chat"),
        ]
        client.send(h2.headers(stream, fields, end=False))
        head = client.wait_for_kind(h2.HEADERS)
        self.assertEqual(dict(head.fields)[":status"], "200")
        self.assertEqual(client.wait_for_kind(h2.DATA).payload, b"hello")
        client.send(h2.data(stream, b"text", end=True))
        wait_until(lambda: self.app.requests[0].body == b"text", "the bytes arrive")
        self.assertTrue(self.app.requests[0].ended.wait(10))


class Negotiated(Http2UpstreamCase):
    """TLS to the application, which chooses by ALPN."""

    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.addClassCleanup(cls.authority.close)
        context = cls.authority.server_context(cls.authority.issue("app.test"), alpn=["h2"])
        cls.UPSTREAM = {"wrap": lambda sock: context.wrap_socket(sock, server_side=True)}
        cls.CLUSTER = {
            "protocol": "auto",
            "tls": {"ca": str(cls.authority.cert), "sni": "app.test"},
        }
        super().setUpClass()

    def test_http2_is_spoken(self):
        self.assertEqual(self.proxy.fetch(target="/tls").body, b"/tls")
        self.assertEqual(self.app.requests[0].get(":scheme"), "https")
        self.assertEqual(self.client().fetch(path="/again").body, b"/again")
