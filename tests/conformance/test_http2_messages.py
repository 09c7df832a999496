"""Messages over HTTP/2 under RFC 9113 §8, and their way to and from HTTP/1.1; each test names the
section it stands for."""

from http2_case import Http2Case
from rig import CLOSE, chunked, reply
from rig import http2 as h2
from rig.http2 import request_fields


class Messages(Http2Case):
    def test_h2_15_trailers_end_the_stream(self):
        """RFC 9113 §8.1"""
        opened = h2.headers(1, request_fields("POST"), end=False)
        self.assert_stream_error(
            h2.PROTOCOL_ERROR, opened, h2.headers(1, [("x-late", "1")], end=False)
        )

    def test_h2_15_trailers_pass_both_ways(self):
        """RFC 9113 §8.1"""
        self.app.respond = lambda request: (
            request.body() and chunked([b"ok"], end=b"0\r\nX-Sum: 7\r\nContent-Length: 5\r\n\r\n")
        )
        client = self.client()
        stream = client.new_stream()
        client.send(
            h2.headers(stream, request_fields("POST", more=[("te", "trailers")]), end=False),
            h2.data(stream, b"body"),
            h2.headers(stream, [("x-check", "9"), ("host", "evil"), ("authorization", "x")]),
        )
        response = client.response(stream)
        self.assertEqual(self.app.requests[0].trailers, [("x-check", "9")])
        self.assertEqual((response.body, response.trailers), (b"ok", [("x-sum", "7")]))

    def test_h2_16_content_has_the_announced_length(self):
        """RFC 9113 §8.1.1"""
        fields = request_fields("POST", more=[("content-length", "4")])
        for pieces in (
            [h2.headers(1, fields)],
            [h2.headers(1, fields, end=False), h2.data(1, b"abc", end=True)],
            [h2.headers(1, fields, end=False), h2.data(1, b"abcde", end=True)],
            [h2.headers(1, fields, end=False), h2.data(1, b"abc"), h2.headers(1, [("x", "y")])],
        ):
            self.app.respond = lambda request: request.body() and reply()
            self.app.reset_log()
            client = self.client()
            client.send(*pieces)
            self.assertEqual(client.wait_for_kind(h2.RST_STREAM).error, h2.PROTOCOL_ERROR)
            self.assertTrue(client.is_alive())
        for value in ("4, 4", "+4", "0x4", "", "-1", "99999999999999999999"):
            self.app.respond = lambda request: reply(body=request.target.encode())
            self.assert_malformed(request_fields("POST", more=[("content-length", value)]), end=False)
        self.assert_malformed(
            request_fields("POST", more=[("content-length", "4"), ("content-length", "4")]), end=False
        )

    def test_h2_17_h2_18_names_and_values(self):
        """RFC 9113 §8.2, §8.2.1"""
        for name, value in (
            ("X-Upper", "1"),
            ("x upper", "1"),
            ("x:colon", "1"),
            ("x-nul\0", "1"),
            ("", "1"),
            ("x-\x7f", "1"),
            (b"x-\xe9", "1"),
            ("x-v", "a\rb"),
            ("x-v", "a\nb"),
            ("x-v", "a\0b"),
            ("x-v", " a"),
            ("x-v", "a "),
            ("x-v", "\ta"),
            ("x-v", "a\r\nTransfer-Encoding: chunked"),
        ):
            self.assert_malformed(request_fields(more=[(name, value)]))

    def test_h2_19_fields_of_a_connection(self):
        """RFC 9113 §8.2.2"""
        for name, value in (
            ("connection", "close"),
            ("proxy-connection", "x"),
            ("keep-alive", "1"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("te", "gzip"),
            ("te", "trailers, gzip"),
        ):
            self.assert_malformed(request_fields(more=[(name, value)]))
        self.app.respond = lambda request: reply(
            headers=[("Connection", "X-Hop"), ("X-Hop", "1"), ("Keep-Alive", "9"), ("X-End", "1")]
        )
        response = self.client().fetch(more=[("te", "trailers")])
        names = [name for name, _ in response.fields]
        self.assertIn("x-end", names)
        for name in ("connection", "x-hop", "keep-alive", "transfer-encoding", "upgrade"):
            self.assertNotIn(name, names)

    def test_h2_20_cookie_crumbs_are_joined(self):
        """RFC 9113 §8.2.3"""
        crumbs = [("cookie", "a=1"), ("x-between", "1"), ("cookie", "b=2"), ("cookie", "c=3")]
        self.assertEqual(self.client().fetch(more=crumbs).status, 200)
        self.assertEqual(self.app.requests[0].all("cookie"), ["a=1; b=2; c=3"])
        self.assertEqual(self.app.requests[0].get("x-between"), "1")

    def test_h2_21_pseudo_fields(self):
        """RFC 9113 §8.3"""
        good = request_fields()
        for fields in (
            good[1:],
            good[:1] + good[2:],
            good[:3],
            good + [(":path", "/again")],
            good + [(":unknown", "x")],
            good + [(":status", "200")],
            good[:3] + [("x-early", "1")] + good[3:],
        ):
            self.assert_malformed(fields)
        opened = h2.headers(1, request_fields("POST"), end=False)
        self.assert_stream_error(h2.PROTOCOL_ERROR, opened, h2.headers(1, [(":path", "/x")]))

    def test_h2_22_values_of_pseudo_fields(self):
        """RFC 9113 §8.3.1"""
        for fields in (
            request_fields(path=""),
            request_fields(path="no-slash"),
            request_fields(path="*"),
            request_fields(path="/a b"),
            request_fields(path="/a\r\nx: y"),
            request_fields(path="/a#b"),
            request_fields(path="http://other/"),
            request_fields(method=""),
            request_fields(method="G T"),
            request_fields(scheme=""),
            request_fields(authority=""),
            request_fields(authority="user@a.test"),
            request_fields(authority="a.test/x"),
            request_fields(more=[("host", "other.test")]),
            request_fields(more=[("host", "a.test"), ("host", "a.test")]),
            [(":method", "GET"), (":scheme", "http"), (":path", "/")],
        ):
            self.assert_malformed(fields)

    def test_h2_22_host_is_made_from_the_authority(self):
        """RFC 9113 §8.3.1"""
        client = self.client()
        client.fetch(authority="one.test:8080")
        client.fetch(more=[("host", "a.test")])
        stream = client.new_stream()
        bare = [(":method", "GET"), (":scheme", "http"), (":path", "/"), ("host", "two.test")]
        client.send(h2.headers(stream, bare))
        self.assertEqual(client.response(stream).status, 200)
        hosts = [request.get("host") for request in self.app.requests]
        self.assertEqual(hosts, ["one.test:8080", "a.test", "two.test"])

    def test_h2_22_an_asterisk_is_for_options(self):
        """RFC 9113 §8.3.1"""
        self.client().fetch("OPTIONS", "*")
        self.assertEqual(self.app.targets(), ["*"])

    def test_h2_24_connect_has_neither_scheme_nor_path(self):
        """RFC 9113 §8.5"""
        self.assert_malformed(request_fields("CONNECT"))
        self.app.reset_log()
        client = self.client()
        client.send(h2.headers(1, [(":method", "CONNECT"), (":authority", "a.test:443")]))
        self.assertEqual(client.response(1).status, 405)
        self.assertEqual(self.app.requests, [])

    def test_h2_25_there_is_no_101(self):
        """RFC 9113 §8.6"""
        self.app.respond = lambda request: (
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"
        )
        self.assertEqual(self.client().fetch().status, 502)

    def test_responses_without_content(self):
        """RFC 9113 §8.1, RFC 9110 §9.3.2, §15.3.5, §15.4.5"""
        client = self.client()
        self.app.respond = lambda request: reply(body=b"12345")
        response = client.fetch("HEAD")
        self.assertEqual((response.status, response.body), (200, b""))
        self.app.respond = lambda request: b"HTTP/1.1 204 No Content\r\n\r\n"
        self.assertEqual(client.fetch().status, 204)
        self.app.respond = lambda request: b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n'
        self.assertEqual(client.fetch().get("etag"), '"a"')

    def test_interim_responses_pass(self):
        """RFC 9113 §8.1, RFC 9110 §15.2"""
        self.app.respond = lambda request: (
            b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + reply(body=b"ok")
        )
        response = self.client().fetch()
        self.assertEqual(dict(response.interim[0])[":status"], "103")
        self.assertEqual(response.body, b"ok")

    def test_expect_100_continue_is_answered_by_the_application(self):
        """RFC 9110 §10.1.1"""
        self.app.respond = self._continue
        client = self.client()
        stream = client.new_stream()
        client.send(
            h2.headers(stream, request_fields("POST", more=[("expect", "100-continue")]), end=False)
        )
        got = client.wait_for_kind(h2.HEADERS)
        self.assertEqual(dict(got.fields)[":status"], "100")
        client.send(h2.data(stream, b"body", end=True))
        self.assertEqual(client.response(stream).body, b"body")

    @staticmethod
    def _continue(request):
        request.connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return reply(body=request.body())

    def test_a_broken_off_response_is_reset(self):
        """RFC 9113 §8.1, RFC 9112 §8"""
        self.app.respond = lambda request: [
            b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
            CLOSE,
        ]
        client = self.client()
        response = client.fetch()
        self.assertEqual(response.error, h2.INTERNAL_ERROR)
        self.assertTrue(client.is_alive())


class Limits(Http2Case):
    CONFIG = {"limits": {"header": "8KiB", "headers": 20}}

    def test_large_heads_are_431_and_long_targets_414(self):
        """RFC 9110 §15.5.15, RFC 6585 §5"""
        client = self.client()
        self.assertEqual(client.fetch(more=[("x-big", "b" * 8000)]).status, 431)
        many = [(f"x-{n}", "1") for n in range(30)]
        self.assertEqual(client.fetch(more=many).status, 431)
        self.assertEqual(self.app.requests, [])
        self.assert_marker(client)
