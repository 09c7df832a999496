"""Faults that other proxies had, as public reports describe them: plain proxying (area A)."""

import json
import threading
import time
import unittest

from rig import (
    Client,
    Deadline,
    Proxy,
    ProxyCase,
    Upstream,
    chunk,
    echo,
    make_request,
    reply,
    wait_until,
)

EVIL = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"


class A02Expectations(ProxyCase):
    """A client that waits for leave before it sends a body."""

    HEAD = b"PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\nExpect: 100-continue\r\n\r\n"

    def put(self):
        client = self.connect()
        return client.send(self.HEAD)

    def test_a_refusal_arrives_before_any_body(self):
        def refuse(request):
            request.connection.send(reply(401, body=b"", reason="Unauthorized"))

        self.app.respond = refuse
        response = self.put().response("PUT", seconds=1)
        self.assertEqual((response.status, response.interim), (401, []))

    def test_leave_comes_once_and_then_one_answer(self):
        def accept(request):
            request.connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.connection.send(reply(201, body=str(len(request.body())).encode()))

        self.app.respond = accept
        client = self.put()
        self.assertIn(b" 100 ", client.head().start)
        client.send(b"x" * 100000)
        response = client.response("PUT")
        self.assertEqual((response.status, response.body, response.interim), (201, b"100000", []))
        self.app.respond = echo
        self.assert_marker(client)

    def test_late_leave_is_no_hang(self):
        go = []

        def late(request):
            wait_until(lambda: go, "the client has waited")
            request.connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.body()
            request.connection.send(reply(201))

        self.app.respond = late
        client = self.put()
        with self.assertRaises(TimeoutError):
            client.head(seconds=0.3)
        go.append(True)
        self.assertIn(b" 100 ", client.head().start)
        client.send(b"x" * 100000)
        self.assertEqual(client.response("PUT").status, 201)

    def test_early_hints_are_passed_on_before_the_answer(self):
        self.app.respond = (
            lambda request: b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + reply()
        )
        response = self.fetch()
        self.assertEqual([head.get("Link") for head in response.interim], ["</a>"])
        self.assertEqual(response.status, 200)


class A04AnswersWithoutBody(ProxyCase):
    """No invented framing, no stall, no stray bytes for the next client."""

    def check(self, raw, method="GET"):
        self.app.respond = lambda request: raw if request.target == "/a" else reply(body=b"good")
        with Client(self.proxy.port) as first, Client(self.proxy.port) as second:
            first.request(method, "/a")
            response = first.response(method, seconds=1)
            self.assertEqual(second.fetch(target="/b").body, b"good")
            self.assertEqual(first.fetch(target="/b").body, b"good")
        return response

    def test_304_without_a_length_gets_none(self):
        response = self.check(b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n')
        self.assertFalse(response.has("Content-Length") or response.has("Transfer-Encoding"))

    def test_304_may_keep_its_length(self):
        response = self.check(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 123\r\n\r\n")
        self.assertIn(response.get("Content-Length"), ("123", None))

    def test_204_loses_length_and_content(self):
        response = self.check(b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello")
        self.assertFalse(response.has("Content-Length") or response.has("Transfer-Encoding"))

    def test_head_keeps_its_length_without_the_stray_content(self):
        response = self.check(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "HEAD")
        self.assertEqual(response.get("Content-Length"), "5")

    def test_a_second_answer_in_the_same_write_is_dropped(self):
        self.check(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" + EVIL)


class A06IdleRace(ProxyCase):
    """A pooled connection that closes at the moment of its reuse."""

    def close_reused(self, request):
        """Takes the request's bytes and closes, once, on a connection that served before."""
        request.body()
        if request.connection.received.count(b" HTTP/1.1\r\n") > 1 and not self.closed:
            self.closed.append(request)
            request.connection.close()
            return None
        return echo(request)

    def setUp(self):
        super().setUp()
        self.closed = []

    def test_get_is_tried_once_more_on_a_fresh_connection(self):
        self.app.respond = self.close_reused
        self.fetch(target="/warm")
        self.assertEqual(self.fetch(target="/raced").body, b"/raced")
        self.assertEqual(self.app.targets(), ["/warm", "/raced", "/raced"])

    def test_post_is_never_sent_twice(self):
        self.app.respond = self.close_reused
        self.fetch(target="/warm")
        response = self.fetch("POST", "/raced", body=b"n=1")
        self.assertIn(response.status, (502, 503))
        self.assertEqual(self.app.targets(), ["/warm", "/raced"])

    def test_a_retry_that_fails_is_not_retried(self):
        def close_always(request):
            if request.target == "/warm":
                return echo(request)
            request.connection.close()
            return None

        self.app.respond = close_always
        self.fetch(target="/warm")
        self.assertIn(self.fetch(target="/raced").status, (502, 503))
        self.assertLessEqual(self.app.targets().count("/raced"), 2)

    def test_nothing_is_retried_after_a_byte_of_the_answer(self):
        def half(request):
            if request.target == "/warm":
                return echo(request)
            request.connection.send(b"HTTP/1.1 2")
            request.connection.close()
            return None

        self.app.respond = half
        self.fetch(target="/warm")
        self.assertEqual(self.fetch(target="/raced").status, 502)
        self.assertEqual(self.app.targets(), ["/warm", "/raced"])

    def test_a_connection_closed_before_is_not_used(self):
        for method, body in (("GET", b""), ("POST", b"n=1")):
            self.app.reset_log()
            self.fetch(target="/warm")
            self.app.drop_connections()
            self.assertEqual(self.fetch(method, "/next", body=body).status, 200)
            self.assertEqual(self.app.targets(), ["/warm", "/next"])

    def test_no_error_is_seen_while_the_application_closes_idle_connections_all_the_time(self):
        """The application closes a connection 20 ms after its last answer; requests come every 18
        to 22 ms."""

        def serve(request):
            request.connection.sock.settimeout(None)
            connection = request.connection
            connection.last = time.monotonic()

            def close_idle(seen=connection.last):
                if connection.last == seen:
                    connection.close()

            timer = threading.Timer(0.02, close_idle)
            timer.daemon = True
            timer.start()
            return reply(body=request.target.encode())

        self.app.respond = serve
        seen = []
        with Client(self.proxy.port) as client:
            for i in range(60):
                method = "POST" if i % 2 else "GET"
                response = client.fetch(method, f"/{i}", body=b"n=%d" % i if i % 2 else b"")
                if method == "GET":
                    self.assertEqual(response.status, 200)
                else:
                    self.assertIn(response.status, (200, 502, 503))
                    seen.append(f"/{i}")
                pause = Deadline(0.018 + 0.0005 * (i % 9))
                while not pause.passed():
                    time.sleep(0.001)
        for target in seen:
            self.assertLessEqual(self.app.targets().count(target), 1)


class A08EventStreams(ProxyCase):
    """Server-sent events: nothing is held back, and a client that leaves is noticed."""

    def stream(self, request):
        connection = request.connection
        connection.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for i in range(20):
            wait_until(
                lambda i=i: self.asked >= i or connection.closed.is_set(),
                "the test asks for an event",
            )
            connection.send(chunk(b"data: %d\n\n" % i))
        connection.send(b"0\r\n\r\n")

    def setUp(self):
        super().setUp()
        self.asked = -1
        self.app.respond = self.stream

    def test_the_head_comes_before_any_event_and_each_event_at_once(self):
        client = self.connect()
        client.request("GET", "/events")
        self.assertEqual(client.head(seconds=1).get("Content-Type"), "text/event-stream")
        for i in range(20):
            self.asked = i
            event = b"data: %d\n\n" % i
            self.assertEqual(client.reader.take_until(event + b"\r\n", Deadline(1)), chunk(event))
        self.assertEqual(client.reader.take_until(b"0\r\n\r\n", Deadline(1)), b"0\r\n\r\n")

    def test_a_client_that_leaves_ends_the_stream_at_the_application(self):
        def endless(request):
            connection = request.connection
            connection.send(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            while not connection.reader.ended:
                try:
                    connection.send(chunk(b"data: x\n\n"))
                    connection.reader.fill(Deadline(0.05))
                except TimeoutError:
                    pass
            ended.append(True)
            connection.close()

        ended = []
        self.app.respond = endless
        client = self.connect()
        client.request("GET", "/events")
        client.head()
        client.close()
        wait_until(lambda: ended, "the stream's end at the application", 1)


class A12ForwardingFields(ProxyCase):
    """What an untrusted client says about itself is not believed."""

    CLAIMS = [
        ("X-Forwarded-For", "10.0.0.1"),
        ("X-Forwarded-For", "10.0.0.2"),
        ("Forwarded", "for=10.0.0.1"),
        ("X_Forwarded_For", "10.0.0.1"),
        ("X-Forwarded-Proto", "https"),
        ("X-Real-IP", "10.0.0.1"),
        ("X-Forwarded-Host", "evil.test"),
    ]

    def test_claims_of_an_untrusted_client_are_replaced(self):
        self.fetch(target="/claims", headers=self.CLAIMS)
        request = self.app.requests[0]
        self.assertEqual(request.get("X-Forwarded-For").split(",")[-1].strip(), "127.0.0.1")
        self.assertEqual(len(request.all("X-Forwarded-For")), 1)
        self.assertEqual(request.get("X-Forwarded-Proto"), "http")
        self.assertNotIn(b"10.0.0.", request.head.raw)
        self.assertNotIn(b"evil.test", request.head.raw)
        self.assertEqual(self.proxy.access_log(1, "/claims")[0]["client"], "127.0.0.1")

    def test_fields_named_in_connection_go_and_ours_stay(self):
        self.fetch(
            headers=[
                ("Connection", "X-Forwarded-For, X-Secret"),
                ("X-Secret", "1"),
                ("Keep-Alive", "1"),
                ("Proxy-Connection", "x"),
                ("TE", "gzip"),
            ]
        )
        request = self.app.requests[0]
        for name in ("X-Secret", "Keep-Alive", "Proxy-Connection", "TE"):
            self.assertFalse(request.has(name), name)
        self.assertEqual(request.get("X-Forwarded-For"), "127.0.0.1")


class A12TrustedPeers(unittest.TestCase):
    def test_the_walk_ends_at_the_first_address_that_is_not_trusted(self):
        app = Upstream()
        self.addCleanup(app.close)
        proxy = Proxy(app)
        proxy.config["listeners"][0]["trusted_proxies"] = ["127.0.0.0/8", "2.2.2.0/24"]
        with proxy:
            proxy.fetch(
                headers=[
                    ("X-Forwarded-For", "9.9.9.9, 1.1.1.1, 2.2.2.2"),
                    ("X-Forwarded-Proto", "https"),
                ]
            )
            self.assertEqual(
                app.requests[0].head.elements("X-Forwarded-For")[-3:],
                ["1.1.1.1", "2.2.2.2", "127.0.0.1"],
            )
            self.assertEqual(app.requests[0].get("X-Forwarded-Proto"), "https")
            self.assertEqual(proxy.access_log(1)[0]["client"], "1.1.1.1")


class A14Pipelining(ProxyCase):
    """Several requests in one packet, wherever it is cut."""

    REQUESTS = [
        ("GET", "/1", b""),
        ("POST", "/2", b"abc"),
        ("GET", "/3", b""),
        ("HEAD", "/4", b""),
        ("GET", "/5", b""),
    ]
    DATA = b"".join(make_request(method, target, body=body) for method, target, body in REQUESTS)

    def read_all(self, client):
        for method, target, _ in self.REQUESTS:
            response = client.response(method)
            self.assertEqual(response.status, 200)
            if method != "HEAD":
                self.assertEqual(response.body, target.encode())

    def test_the_answers_come_in_order_though_the_first_takes_longest(self):
        def slow_first(request):
            if request.target == "/1":
                client_sent.append(True)
                wait_until(lambda: len(client_sent) > 1, "everything is sent")
            return echo(request)

        client_sent = []
        self.app.respond = slow_first
        client = self.connect().send(self.DATA)
        client_sent.append(True)
        self.read_all(client)

    def test_it_does_not_matter_where_the_packet_is_cut(self):
        for cut in range(1, len(self.DATA)):
            with Client(self.proxy.port) as client:
                client.send(self.DATA[:cut])
                client.send(self.DATA[cut:])
                self.read_all(client)

    def test_a_malformed_request_in_the_middle_ends_the_connection_after_the_answers_before_it(
        self,
    ):
        good = make_request("GET", "/1") + make_request("POST", "/2", body=b"abc")
        with Client(self.proxy.port) as client:
            client.send(
                good + b"GET /3 HTTP/1.1\r\nBad Name: x\r\n\r\n" + make_request("GET", "/5")
            )
            self.assertEqual(
                [
                    client.response().status,
                    client.response("POST").status,
                    client.response().status,
                ],
                [200, 200, 400],
            )
            self.assertTrue(client.is_closed())
        self.assertNotIn("/5", self.app.targets())

    def test_close_of_the_application_ends_its_own_connection_only(self):
        self.app.respond = lambda request: reply(
            headers=[("Connection", "close")] if request.target == "/2" else [],
            body=request.target.encode(),
        )
        self.read_all(self.connect().send(self.DATA))


class A22LogForgery(ProxyCase):
    """Bytes of a client cannot forge or break log records."""

    STRANGE = [("User-Agent", 'x" 200 0 "-'), ("Referer", "a\x80\xff\t\\b"), ("X-A", "}{")]

    def test_every_record_is_one_line_of_valid_json(self):
        targets = ["/s%0d%0aFAKE:%20x", '/s"b\\', "/s\xff\xfe", "/s" + "a" * 5000]
        for target in targets:
            self.fetch(target=target, headers=self.STRANGE)
        records = self.proxy.access_log(len(targets), "/s")
        self.assertEqual(len(records), len(targets))
        self.assertEqual(records[0]["path"], "/s%0d%0aFAKE:%20x")
        agents = [record.get("user_agent") for record in records if "user_agent" in record]
        self.assertTrue(all(agent == 'x" 200 0 "-' for agent in agents))

    def test_a_token_in_a_target_is_not_logged(self):
        self.fetch(target="/token?a=1&fgtoken=fg1.secret.secret&b=2")
        self.assertNotIn(b"fg1.secret", json.dumps(self.proxy.access_log(1, "/token")).encode())
        self.assertNotIn("fg1.secret", self.proxy.log())
