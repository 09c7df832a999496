"""Duties of an intermediary under RFC 9110; each test names the section it stands for."""

import unittest

from rig import Client, Deadline, Proxy, ProxyCase, reply, wait_until


class Forwarding(ProxyCase):
    def test_sem_01_an_empty_host_or_userinfo_in_a_target_is_an_error(self):
        """RFC 9110 §4.2"""
        for target in (b"http:///x", b"http://:80/x", b"http://user@a/x", b"http://user:pw@a/x"):
            self.assert_refused(b"GET " + target + b" HTTP/1.1\r\nHost: a\r\n\r\n", {400}, target)

    def test_sem_02_unknown_fields_pass_in_both_directions(self):
        """RFC 9110 §5.1"""
        self.app.respond = lambda request: reply(headers=[("X-Unheard-Of", "a"), ("x-lower", "b")])
        response = self.fetch(headers=[("X-Unheard-Of", "c"), ("x-lower", "d")])
        self.assertEqual((response.get("X-Unheard-Of"), response.get("x-lower")), ("a", "b"))
        names = [name for name, _ in self.app.requests[0].head.fields]
        self.assertIn("X-Unheard-Of", names)
        self.assertIn("x-lower", names)

    def test_sem_03_fields_of_one_name_keep_their_order_and_lines(self):
        """RFC 9110 §5.3"""
        self.app.respond = lambda request: reply(
            headers=[("Set-Cookie", "a=1"), ("X", "1"), ("Set-Cookie", "b=2"), ("X", "2")]
        )
        response = self.fetch(headers=[("X-M", "1"), ("X-N", "0"), ("X-M", "2")])
        self.assertEqual(response.all("Set-Cookie"), ["a=1", "b=2"])
        self.assertEqual(response.all("X"), ["1", "2"])
        self.assertEqual(self.app.requests[0].all("X-M"), ["1", "2"])

    def test_the_case_and_order_of_fields_survive(self):
        """RFC 9110 §5.1"""
        self.app.respond = lambda request: reply(
            headers=[("x-aBc", "1"), ("Zeta", "2"), ("ALPHA", "3")]
        )
        response = self.fetch(headers=[("x-aBc", "1"), ("Zeta", "2"), ("ALPHA", "3")])
        for fields in (response.head.fields, self.app.requests[0].head.fields):
            names = [name for name, _ in fields if name.lower() in ("x-abc", "zeta", "alpha")]
            self.assertEqual(names, ["x-aBc", "Zeta", "ALPHA"])

    def test_sem_06_a_date_is_added_where_there_is_none_and_kept_where_there_is(self):
        """RFC 9110 §6.6.1"""
        self.assertRegex(
            self.fetch().get("Date", ""),
            r"^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$",
        )
        date = "Mon, 01 Jan 2024 00:00:00 GMT"
        self.app.respond = lambda request: reply(headers=[("Date", date)])
        self.assertEqual(self.fetch().all("Date"), [date])

    def test_sem_08_fields_named_in_connection_are_removed(self):
        """RFC 9110 §7.6.1"""
        self.app.respond = lambda request: reply(
            headers=[("Connection", "X-Hop, keep-alive"), ("X-Hop", "1"), ("X-Stays", "2")]
        )
        response = self.fetch(
            headers=[
                ("Connection", "X-Hop, keep-alive"),
                ("Connection", "X-Two"),
                ("X-Hop", "1"),
                ("X-Two", "2"),
                ("X-Stays", "3"),
            ]
        )
        for message in (self.app.requests[0], response):
            self.assertFalse(message.has("X-Hop") or message.has("X-Two"))
            self.assertTrue(message.has("X-Stays"))

    def test_sem_09_connection_level_fields_are_removed_even_when_not_named(self):
        """RFC 9110 §7.6.1"""
        hop = [
            ("Keep-Alive", "timeout=5"),
            ("Proxy-Connection", "keep-alive"),
            ("TE", "gzip"),
            ("Upgrade", "foo/1"),
        ]
        self.app.respond = lambda request: reply(
            headers=[
                ("Keep-Alive", "timeout=5"),
                ("Proxy-Connection", "keep-alive"),
                ("Upgrade", "foo/1"),
            ]
        )
        response = self.fetch(headers=hop)
        for name, _ in hop:
            self.assertFalse(self.app.requests[0].has(name), name)
        self.assertFalse(response.has("Keep-Alive") or response.has("Proxy-Connection"))

    def test_sem_10_connection_cannot_strip_what_we_add(self):
        """RFC 9110 §7.6.1"""
        self.fetch(
            headers=[
                (
                    "Connection",
                    "close, X-Forwarded-For, X-Forwarded-Proto, Host, Content-Length, Via",
                )
            ]
        )
        request = self.app.requests[0]
        self.assertEqual(request.get("X-Forwarded-For"), "127.0.0.1")
        self.assertEqual(request.get("Host"), "a.test")

    def test_sem_11_max_forwards_is_honoured(self):
        """RFC 9110 §7.6.2"""
        for method in ("OPTIONS", "TRACE"):
            self.app.reset_log()
            self.fetch(method, headers=[("Max-Forwards", "0")])
            self.assertEqual(self.app.targets(), [], method)
            self.fetch(method, headers=[("Max-Forwards", "5")])
            self.assertEqual(self.app.requests[0].get("Max-Forwards"), "4", method)
        self.app.reset_log()
        self.fetch(headers=[("Max-Forwards", "0")])
        self.assertEqual(self.app.requests[0].get("Max-Forwards"), "0")

    def test_sem_12_via_is_appended_to_requests(self):
        """RFC 9110 §7.6.3"""
        self.fetch(headers=[("Via", "1.0 fred")])
        via = self.app.requests[0].head.elements("Via")
        self.assertEqual(via[0], "1.0 fred")
        self.assertRegex(via[-1], r"^1\.1 \S+")
        with Client(self.proxy.port) as client:
            client.request("GET", "/", version="1.0")
            client.response()
        self.assertRegex(self.app.requests[1].head.elements("Via")[-1], r"^1\.0 \S+")

    def test_sem_13_targets_pass_byte_for_byte(self):
        """RFC 9110 §7.7"""
        targets = [
            "/a%2Fb",
            "/a%2fb",
            "//a//b/",
            "/%7Euser",
            "/caf%C3%A9",
            "/a;v=1/b",
            "/a?b?c=%20&d",
            "/?",
            "/a'b(c)!*",
            "/a/./b",
            "/a%00b",
        ]
        for target in targets:
            self.app.reset_log()
            response = self.fetch(target=target)
            if response.status == 200:
                self.assertEqual(self.app.targets(), [target])
            else:
                self.assertEqual(response.status, 400, target)
                self.assertIn("%00", target)

    def test_sem_15_lengths_of_head_and_304_answers_are_kept(self):
        """RFC 9110 §8.6"""
        self.app.respond = (
            lambda request: b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 123\r\n\r\n'
        )
        self.assertIn(self.fetch().get("Content-Length"), ("123", None))
        self.app.respond = lambda request: b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n'
        response = self.fetch()
        self.assertFalse(response.has("Content-Length") or response.has("Transfer-Encoding"))

    def test_sem_16_only_idempotent_requests_are_tried_again(self):
        """RFC 9110 §9.2.2"""

        def close_once(request):
            request.body()
            if len(self.app.requests) == 1:
                request.connection.close()
                return None
            return reply(body=b"second")

        self.app.respond = close_once
        response = self.fetch("POST", body=b"x")
        self.assertIn(response.status, (502, 503))
        self.assertEqual(len(self.app.requests), 1)

    def test_sem_17_head_answers_have_no_content(self):
        """RFC 9110 §9.3.2"""
        self.app.respond = (
            lambda request: reply(body=b"12345")
            if request.method == "GET"
            else b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
        )
        with Client(self.proxy.port) as client:
            client.fetch("HEAD")
            self.assertEqual(client.fetch().body, b"12345")

    def test_sem_18_connect_is_refused_with_a_bad_port(self):
        """RFC 9110 §9.3.6"""
        for target in (b"a.test:", b"a.test:x", b"a.test", b":80", b"a.test:0", b"a.test:70000"):
            with Client(self.proxy.port) as client:
                client.send(b"CONNECT " + target + b" HTTP/1.1\r\nHost: a.test\r\n\r\n")
                self.assertGreaterEqual(client.response("CONNECT").status, 400, target)

    def test_sem_19_trace_reflects_nothing_sensitive(self):
        """RFC 9110 §9.3.8"""
        response = self.fetch(
            "TRACE",
            headers=[("Max-Forwards", "0"), ("Authorization", "s3cret"), ("Cookie", "c00kie")],
        )
        self.assertNotIn(b"s3cret", response.body)
        self.assertNotIn(b"c00kie", response.body)

    def test_sem_21_credentials_pass_untouched(self):
        """RFC 9110 §11.6.2"""
        self.fetch(headers=[("Authorization", "Basic  abc=="), ("Cookie", "a=1; b=2")])
        self.assertEqual(self.app.requests[0].get("Authorization"), "Basic  abc==")
        self.assertEqual(self.app.requests[0].get("Cookie"), "a=1; b=2")

    def test_sem_22_vary_is_kept(self):
        """RFC 9110 §12.5.5"""
        self.app.respond = lambda request: reply(
            headers=[("Vary", "Accept-Encoding"), ("Vary", "Cookie")]
        )
        self.assertEqual(self.fetch().all("Vary"), ["Accept-Encoding", "Cookie"])

    def test_sem_23_conditions_are_passed_on(self):
        """RFC 9110 §13.2.1"""
        conditions = [
            ("If-None-Match", '"v1"'),
            ("If-Modified-Since", "Mon, 01 Jan 2024 00:00:00 GMT"),
            ("Range", "bytes=0-9"),
            ("If-Range", '"v1"'),
        ]
        self.app.respond = lambda request: reply(304, [("ETag", '"v1"')], b"", length=False)
        self.assertEqual(self.fetch(headers=conditions).status, 304)
        for name, value in conditions:
            self.assertEqual(self.app.requests[0].get(name), value)

    def test_sem_25_a_421_of_the_application_passes(self):
        """RFC 9110 §15.5.20"""
        self.app.respond = lambda request: reply(421, reason="Misdirected Request")
        self.assertEqual(self.fetch().status, 421)

    def test_statuses_and_reasons_pass(self):
        """RFC 9110 §15"""
        for status, reason in (
            (200, "All Right"),
            (299, "X"),
            (418, "Teapot"),
            (499, ""),
            (599, "Y"),
        ):
            self.app.respond = lambda request, s=status, r=reason: reply(s, reason=r)
            response = self.fetch()
            self.assertEqual(response.status, status)
            if reason:
                self.assertIn(reason.encode(), response.head.start)


class InterimResponses(ProxyCase):
    def test_sem_20_expectations_are_forwarded_without_waiting_for_the_body(self):
        """RFC 9110 §10.1.1"""

        def expect(request):
            self.assertEqual(request.get("Expect", "").lower(), "100-continue")
            request.connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.body()
            request.connection.send(reply(201, reason="Created"))

        self.app.respond = expect
        with Client(self.proxy.port) as client:
            client.send(
                b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
            )
            self.assertRegex(client.head().start, b"^HTTP/1.1 100 ")
            client.send(b"hello")
            response = client.response("PUT")
            self.assertEqual((response.status, response.interim), (201, []))

    def test_sem_20_an_expectation_of_a_1_0_client_is_ignored(self):
        """RFC 9110 §10.1.1"""

        def answer(request):
            if request.has("Expect"):
                request.connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.body()
            request.connection.send(reply())

        self.app.respond = answer
        with Client(self.proxy.port) as client:
            client.send(
                b"PUT / HTTP/1.0\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello"
            )
            self.assertEqual(client.response("PUT").interim, [])

    def test_sem_24_any_number_of_interim_responses_is_forwarded(self):
        """RFC 9110 §15.2"""

        def answer(request):
            for i in range(3):
                request.connection.send(b"HTTP/1.1 103 Early Hints\r\nLink: </%d>\r\n\r\n" % i)
            request.connection.send(reply())

        self.app.respond = answer
        response = self.fetch()
        self.assertEqual([head.get("Link") for head in response.interim], ["</0>", "</1>", "</2>"])
        self.assertEqual(response.status, 200)

    def test_sem_24_but_not_to_a_1_0_client(self):
        """RFC 9110 §15.2"""
        self.app.respond = (
            lambda request: b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + reply()
        )
        with Client(self.proxy.port) as client:
            client.request("GET", "/", version="1.0")
            response = client.response()
        self.assertEqual((response.status, response.interim), (200, []))


class Tunnels(ProxyCase):
    def accept(self, request):
        connection = request.connection
        connection.send(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello"
        )
        while connection.reader.fill(Deadline()):
            data = connection.reader.buffered()
            connection.reader.take(len(data), Deadline())
            connection.send(data.upper())
        connection.close()

    def upgrade(self, version="1.1", token="websocket"):
        client = self.connect()
        client.request(
            "GET",
            "/ws",
            [("Connection", "keep-alive, Upgrade"), ("Upgrade", token), ("Sec-WebSocket-Key", "k")],
            version=version,
        )
        return client

    def test_sem_14_an_accepted_upgrade_becomes_a_tunnel(self):
        """RFC 9110 §7.8, RFC 6455 §4"""
        self.app.respond = self.accept
        client = self.upgrade()
        response = client.response()
        self.assertEqual(response.status, 101)
        self.assertEqual(response.get("Upgrade"), "websocket")
        self.assertEqual(client.reader.take(5, Deadline()), b"hello")
        client.send(b"ping")
        self.assertEqual(client.reader.take(4, Deadline()), b"PING")
        request = self.app.requests[0]
        self.assertEqual(
            (request.get("Upgrade"), request.get("Sec-WebSocket-Key")), ("websocket", "k")
        )
        self.assertIn("upgrade", [e.lower() for e in request.head.elements("Connection")])
        client.close_writing()
        self.assertEqual(client.rest(), b"")

    def test_sem_14_a_1_0_client_cannot_upgrade(self):
        """RFC 9110 §7.8"""
        client = self.upgrade(version="1.0")
        self.assertEqual(client.response().status, 200)
        self.assertFalse(self.app.requests[0].has("Upgrade"))

    def test_sem_14_a_101_that_nobody_asked_for_is_a_bad_gateway(self):
        """RFC 9110 §7.8"""
        self.app.respond = (
            lambda request: b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        )
        self.assertEqual(self.fetch().status, 502)

    def test_the_end_of_a_tunnel_reaches_the_other_side(self):
        """RFC 9110 §9.3.6"""
        self.app.respond = self.accept
        client = self.upgrade()
        client.response()
        self.app.connections[-1].close()
        client.rest()
        client = self.upgrade()
        client.response()
        served = self.app.connections[-1]
        client.close()
        wait_until(served.closed.is_set, "the application's side of the tunnel is closed")


class Loops(unittest.TestCase):
    def test_sem_07_a_loop_ends(self):
        """RFC 9110 §7.6: the proxy is made its own upstream"""
        proxy = Proxy()
        proxy.config["clusters"] = [{"name": "app", "endpoints": [f"127.0.0.1:{proxy.port}"]}]
        with proxy:
            self.assertGreaterEqual(proxy.fetch().status, 400)
            self.assertLess(proxy.metric("flamegate_requests_total"), 200)
