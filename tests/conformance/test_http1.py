"""Duties of an intermediary under RFC 9112; each test names the section it stands for."""

import socket

from rig import Client, ProxyCase, chunk, chunked, make_request, reply, wait_until

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"


def simple(target=b"/", version=b"1.1", extra=b""):
    return b"GET " + target + b" HTTP/" + version + b"\r\nHost: a.test\r\n" + extra + b"\r\n"


class StartLines(ProxyCase):
    def test_h1_01_empty_lines_before_a_request_are_ignored(self):
        """RFC 9112 §2.2"""
        with Client(self.proxy.port) as client:
            client.send(b"\r\n" + simple(b"/1"))
            self.assertEqual(client.response().body, b"/1")
            client.send(b"\r\n\r\n" + simple(b"/2"))
            self.assertEqual(client.response().body, b"/2")

    def test_h1_01_but_not_without_bound(self):
        """RFC 9112 §2.2"""
        with Client(self.proxy.port) as client:
            client.send(b"\r\n" * 10000)
            client.send(simple())
            self.assertIn(b" 400 ", client.rest()[:20])

    def test_h1_04_what_is_not_http_is_refused(self):
        """RFC 9112 §2.2"""
        for data in (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
            b"SSH-2.0-x\r\n\r\n",
            b"GET /\r\n\r\n",
            b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET /  HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
            b" GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET / http/1.1\r\nHost: a\r\n\r\n",
            b"GET / HTTP/1.x\r\nHost: a\r\n\r\n",
            b"GET / HTTP/11\r\nHost: a\r\n\r\n",
            b"G{T / HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET / HTTP/1.10\r\nHost: a\r\n\r\n",
        ):
            self.assert_refused(data + SMUGGLED, {400, 505}, data)

    def test_another_major_version_is_not_supported(self):
        """RFC 9110 §15.6.6"""
        for version in (b"2.0", b"3.0", b"0.9"):
            self.assert_refused(simple(version=version) + SMUGGLED, {505, 400}, version)

    def test_h1_05_messages_carry_our_version(self):
        """RFC 9112 §2.3"""
        with Client(self.proxy.port) as client:
            client.send(simple(version=b"1.0"))
            self.assertEqual(client.response().version, (1, 1))
        self.assertEqual(self.app.requests[0].version, "HTTP/1.1")
        self.app.respond = lambda request: b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"
        self.assertEqual(self.fetch().version, (1, 1))

    def test_a_higher_minor_version_is_served(self):
        """RFC 9112 §2.3"""
        with Client(self.proxy.port) as client:
            client.send(simple(version=b"1.2"))
            self.assertIn(client.response().status, (200, 505))

    def test_h1_06_a_target_of_8000_bytes_passes_and_an_over_long_one_is_414(self):
        """RFC 9112 §3"""
        self.assertEqual(self.fetch(target="/" + "a" * 7999).status, 200)
        with Client(self.proxy.port) as client:
            client.send(b"GET /" + b"a" * 200000)
            self.assertIn(client.response().status, (414, 431))
            self.assertTrue(client.is_closed())

    def test_h1_06_a_long_method_is_refused(self):
        """RFC 9112 §3"""
        self.assert_refused(
            b"A" * 5000 + b" / HTTP/1.1\r\nHost: a\r\n\r\n", {501, 400, 414}, "long method"
        )

    def test_an_unknown_method_is_forwarded(self):
        """RFC 9110 §9.1"""
        self.assertEqual(self.fetch("PROPFIND").status, 200)
        self.assertEqual(self.app.requests[0].method, "PROPFIND")

    def test_h1_07_white_space_in_the_target_is_not_repaired(self):
        """RFC 9112 §3.2"""
        for target in (b"/a b", b"/a\tb", b"/a\x0bb", b"/ HTTP/1.1 x"):
            self.assert_refused(simple(target) + SMUGGLED, {400}, target)

    def test_h1_08_a_host_is_needed_in_1_1_only(self):
        """RFC 9112 §3.2"""
        self.assert_refused(b"GET / HTTP/1.1\r\n\r\n" + SMUGGLED, {400}, "no Host")
        with Client(self.proxy.port) as client:
            client.send(b"GET / HTTP/1.0\r\n\r\n")
            self.assertIn(client.response().status, (200, 400))

    def test_h1_09_absolute_form_is_accepted(self):
        """RFC 9112 §3.2.2"""
        for target, forwarded in (
            (b"http://b.test/p?q=1", "/p?q=1"),
            (b"http://b.test", "/"),
            (b"http://b.test?q", "/?q"),
            (b"http://b.test:8080/p", "/p"),
            (b"HTTP://b.test/", "/"),
        ):
            self.app.reset_log()
            with Client(self.proxy.port) as client:
                client.send(simple(target))
                self.assertEqual(client.response().status, 200, target)
            self.assertEqual(self.app.requests[0].target, forwarded, target)
            self.assertTrue(self.app.requests[0].get("Host").startswith("b.test"), target)

    def test_h1_10_authority_form_is_for_connect_only(self):
        """RFC 9112 §3.2.3"""
        self.assert_refused(simple(b"b.test:80") + SMUGGLED, {400}, "GET b.test:80")

    def test_h1_11_the_asterisk_passes_with_options_only(self):
        """RFC 9112 §3.2.4"""
        self.fetch("OPTIONS", "*")
        self.assertEqual(self.app.targets(), ["*"])
        self.assert_refused(simple(b"*") + SMUGGLED, {400}, "GET *")
        self.app.reset_log()
        with Client(self.proxy.port) as client:
            client.send(b"OPTIONS http://b.test HTTP/1.1\r\nHost: a\r\n\r\n")
            client.response("OPTIONS")
        self.assertEqual(self.app.targets(), ["*"])

    def test_h1_37_nothing_of_a_request_can_inject_lines(self):
        """RFC 9112 §11.1"""
        response = self.fetch(
            target="/%0d%0aX-Evil:%201?a=%0d%0aX-Evil:%201",
            headers=[("X-Forwarded-For", "x%0d%0aX-Evil: 1")],
        )
        self.assertFalse(response.has("X-Evil"))
        self.assertFalse(self.app.requests[0].has("X-Evil"))


class BodyFraming(ProxyCase):
    def test_h1_14_a_1_0_client_gets_no_chunks(self):
        """RFC 9112 §6.1"""
        self.app.respond = lambda request: chunked([b"one", b"two"])
        with Client(self.proxy.port) as client:
            client.send(simple(version=b"1.0"))
            response = client.response()
        self.assertEqual((response.framing, response.body), ("close", b"onetwo"))

    def test_h1_15_statuses_without_content_carry_no_framing(self):
        """RFC 9112 §6.1, RFC 9110 §8.6"""
        for status, lines in (
            (204, "Content-Length: 5"),
            (204, "Transfer-Encoding: chunked"),
            (204, "X: y"),
        ):
            raw = f"HTTP/1.1 {status} X\r\n{lines}\r\n\r\n".encode()
            self.app.respond = lambda request, raw=raw: raw
            response = self.fetch()
            self.assertEqual(response.status, status, lines)
            self.assertFalse(
                response.has("Content-Length") or response.has("Transfer-Encoding"), lines
            )
            self.app.drop_connections()

    def test_h1_19_never_both_framings(self):
        """RFC 9112 §6.2: the rig's reader refuses both in one message"""
        self.app.respond = lambda request: chunked([b"x"])
        with Client(self.proxy.port) as client:
            client.send(
                b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"
            )
            self.assertEqual(client.response("POST").body, b"x")
        self.assertEqual(self.app.requests[0].body(), b"x")

    def test_h1_20_a_response_with_an_unknown_final_coding_is_read_to_the_close(self):
        """RFC 9112 §6.3"""

        def answer(request):
            request.connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nxyz")
            request.connection.close()

        self.app.respond = answer
        self.assertIn(self.fetch().status, (200, 502))

    def test_h1_22_head_and_304_have_no_body_whatever_the_fields_say(self):
        """RFC 9112 §6.3"""
        self.app.respond = (
            lambda request: reply(304, [("ETag", '"a"')], b"", length=False)
            if request.target == "/304"
            else (
                b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
                if request.method == "HEAD"
                else reply(body=b"after")
            )
        )
        with Client(self.proxy.port) as client:
            head = client.fetch("HEAD")
            self.assertEqual((head.status, head.get("Content-Length")), (200, "5"))
            self.assertEqual(client.fetch(target="/304").status, 304)
            self.assertEqual(client.fetch().body, b"after")

    def test_h1_23_a_body_cut_by_the_application_is_never_complete_for_the_client(self):
        """RFC 9112 §6.3, §8"""

        def cut(request):
            if request.target == "/length":
                request.connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
            else:
                request.connection.send(chunked([b"half"], end=b""))
            request.connection.close()

        self.app.respond = cut
        for target in ("/length", "/chunked"):
            with Client(self.proxy.port) as client:
                with self.assertRaises(EOFError, msg=target):
                    client.fetch(target=target)

    def test_a_body_up_to_the_close_is_delivered_whole(self):
        """RFC 9112 §6.3"""

        def until_close(request):
            request.connection.send(b"HTTP/1.1 200 OK\r\n\r\npart1")
            request.connection.send(b"part2")
            request.connection.close()

        self.app.respond = until_close
        self.assertEqual(self.fetch().body, b"part1part2")

    def test_h1_25_chunk_sizes_of_responses_are_read_strictly(self):
        """RFC 9112 §7.1"""
        for size in (b"fffffffffffffffff", b"0x2", b"-2", b"", b"zz"):
            self.app.respond = lambda request, size=size: (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + size
                + b"\r\nok\r\n0\r\n\r\n"
            )
            with Client(self.proxy.port) as client:
                client.send(simple())
                try:
                    self.assertEqual(client.response().status, 502, size)
                except EOFError:
                    pass  # the head was on its way already; the body is cut
        self.app.respond = lambda request: (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"A;x=y\r\n0123456789\r\n00\r\n\r\n"
        )
        self.assertEqual(self.fetch().body, b"0123456789")

    def test_h1_27_trailers_stay_trailers_and_forbidden_ones_are_dropped(self):
        """RFC 9112 §7.1.2, RFC 9110 §6.5.1"""
        forbidden = b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\nHost: evil\r\nAuthorization: evil\r\n"
        self.app.respond = lambda request: chunked(
            [b"x"], [("Trailer", "X-Sum")], end=b"0\r\nX-Sum: 1\r\n" + forbidden + b"\r\n"
        )
        with Client(self.proxy.port) as client:
            client.send(
                b"POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-In: 2\r\n"
                + forbidden
                + b"\r\n"
            )
            response = client.response("POST")
            self.assert_marker_after(client)
        request = self.app.requests[0]
        request.body()
        for trailers, own in ((request.trailers, "X-In"), (response.trailers, "X-Sum")):
            self.assertLessEqual({name for name, _ in trailers}, {own})
        self.assertFalse(request.has("X-In") or response.has("X-Sum"))

    def assert_marker_after(self, client):
        self.app.respond = lambda request: reply(body=request.target.encode())
        self.assert_marker(client)

    def test_h1_29_an_incomplete_request_is_aborted_at_the_application(self):
        """RFC 9112 §8"""
        for lines, part in (
            (b"Transfer-Encoding: chunked", b"3\r\nabc\r\n"),
            (b"Content-Length: 10", b"abc"),
        ):
            self.app.reset_log()
            self.app.respond = lambda request: None
            client = Client(self.proxy.port)
            client.send(b"POST / HTTP/1.1\r\nHost: a\r\n" + lines + b"\r\n\r\n" + part)
            request = self.app.wait_for_requests(1)[0]
            client.close()
            with self.assertRaises((EOFError, OSError)):
                request.body()

    def test_bodies_of_every_framing_reach_the_application(self):
        """RFC 9112 §6"""
        body = bytes(range(256)) * 1000
        self.assertEqual(self.fetch("POST", body=body).status, 200)
        with Client(self.proxy.port) as client:
            client.send(b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            for at in range(0, len(body), 10000):
                client.send(chunk(body[at : at + 10000]))
            client.send(b"0\r\n\r\n")
            self.assertEqual(client.response("PUT").status, 200)
        self.assertEqual([request.body() == body for request in self.app.requests], [True, True])


class Connections(ProxyCase):
    def test_h1_28_te_is_removed(self):
        """RFC 9112 §7.4, RFC 9110 §10.1.4"""
        self.fetch(headers=[("TE", "gzip"), ("Connection", "TE")])
        self.assertNotIn("gzip", self.app.requests[0].get("TE", ""))

    def test_h1_31_an_unread_request_body_is_never_the_next_request(self):
        """RFC 9112 §9.3"""

        def refuse(request):
            request.connection.send(reply(403, body=b"no", reason="Forbidden"))

        self.app.respond = refuse
        with Client(self.proxy.port) as client:
            client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
            self.assertEqual(client.response("POST").status, 403)
            try:
                client.send(SMUGGLED.ljust(1000, b" "))
                client.fetch(target="/after")
            except (EOFError, OSError):
                pass  # the proxy has closed instead of reading the rest
        self.assertNotIn("/smuggled", self.app.targets())

    def test_h1_32_an_http_1_0_connection_ends_after_the_answer_unless_asked(self):
        """RFC 9112 §9.3"""
        with Client(self.proxy.port) as client:
            client.send(simple(version=b"1.0"))
            self.assertEqual(client.response().status, 200)
            self.assertTrue(client.is_closed())
        with Client(self.proxy.port) as client:
            client.send(simple(version=b"1.0", extra=b"Connection: keep-alive\r\n"))
            response = client.response()
            if not response.closes() and "keep-alive" in response.get("Connection", "").lower():
                client.send(simple(b"/again", version=b"1.0"))
                self.assertEqual(client.response().body, b"/again")
            else:
                self.assertTrue(client.is_closed())
        self.assertFalse(any(request.has("Keep-Alive") for request in self.app.requests))

    def test_h1_33_pipelined_answers_come_in_the_order_of_their_requests(self):
        """RFC 9112 §9.3.2"""
        with Client(self.proxy.port) as client:
            client.send(b"".join(simple(b"/%d" % i) for i in range(50)))
            self.assertEqual(
                [client.response().body for _ in range(50)], [b"/%d" % i for i in range(50)]
            )

    def test_h1_34_nothing_is_served_after_close(self):
        """RFC 9112 §9.6"""
        with Client(self.proxy.port) as client:
            client.send(simple(b"/1", extra=b"Connection: close\r\n") + SMUGGLED)
            response = client.response()
            self.assertTrue(response.closes())
            self.assertTrue(client.is_closed())
        self.assertEqual(self.app.targets(), ["/1"])

    def test_h1_34_a_connection_that_the_application_closes_is_not_used_again(self):
        """RFC 9112 §9.6"""
        self.app.respond = lambda request: reply(headers=[("Connection", "close")])
        with Client(self.proxy.port) as client:
            client.fetch()
            before = len(self.app.connections)
            for _ in range(3):
                self.assertEqual(client.fetch().status, 200)
        self.assertEqual(len(self.app.connections) - before, 3)

    def test_h1_35_an_error_can_be_read_before_the_close(self):
        """RFC 9112 §9.6"""
        for _ in range(20):
            with Client(self.proxy.port) as client:
                client.send(b"GET / HTTP/1.1\r\nHost: a\r\nBad Name: x\r\n\r\n" + b"x" * 100000)
                self.assertEqual(client.response().status, 400)

    def test_keep_alive_is_the_default(self):
        """RFC 9112 §9.3"""
        with Client(self.proxy.port) as client:
            for i in range(5):
                self.assertEqual(client.fetch(target=f"/{i}").body, f"/{i}".encode())

    def test_connections_to_the_application_are_reused(self):
        """RFC 9112 §9.3"""
        before = len(self.app.connections)
        for _ in range(5):
            self.fetch()
        self.assertLessEqual(len(self.app.connections) - before, 1)

    def test_a_request_may_come_one_byte_at_a_time(self):
        """RFC 9112 §2.2"""
        data = make_request("POST", "/slow", [("X-A", "b")], b"hello")
        with Client(self.proxy.port) as client:
            client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for i in range(len(data)):
                client.send(data[i : i + 1])
            self.assertEqual(client.response("POST").body, b"/slow")
        self.assertEqual(self.app.requests[0].body(), b"hello")

    def test_an_answer_may_come_one_byte_at_a_time(self):
        """RFC 9112 §2.2"""
        data = chunked([b"one", b"two"], [("X-A", "b")])

        def drip(request):
            for i in range(len(data)):
                request.connection.send(data[i : i + 1])

        self.app.respond = drip
        response = self.fetch()
        self.assertEqual((response.body, response.get("X-A")), (b"onetwo", "b"))

    def test_a_client_that_ends_its_side_still_gets_the_answer(self):
        """RFC 9112 §9.6"""

        def late(request):
            wait_until(lambda: half_closed, "the client has closed its side")
            return reply(body=b"late")

        half_closed = []
        self.app.respond = late
        with Client(self.proxy.port) as client:
            client.send(simple())
            self.app.wait_for_requests(1)
            client.close_writing()
            half_closed.append(True)
            self.assertEqual(client.response().body, b"late")
