"""Request smuggling: what two parsers could read differently is refused, or made unambiguous before
the application sees it (RFC 9112 §11.2)."""

from rig import Client, ProxyCase, chunked, reply, wait_until

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"


def post(*lines, body=b"", version=b"1.1"):
    head = b"POST /x HTTP/" + version + b"\r\nHost: a.test\r\n"
    return head + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


class RequestFraming(ProxyCase):
    """RFC 9112 §6.1 to §6.3, §7.1."""

    def test_length_beside_chunked_is_refused_in_both_orders(self):
        lines = [b"Content-Length: 5", b"Transfer-Encoding: chunked"]
        for order in (lines, lines[::-1]):
            self.assert_refused(post(*order, body=b"0\r\n\r\n" + SMUGGLED), {400}, order)

    def test_transfer_codings_other_than_one_chunked_are_refused(self):
        for value in (
            b"xchunked",
            b"chunked, gzip",
            b"chunked, chunked",
            b"\x0bchunked",
            b"chunked\x0b",
            b"",
            b"chunked x",
            b'"chunked"',
            b"chunked, identity",
            b"chunk",
        ):
            data = post(b"Transfer-Encoding: " + value, body=b"0\r\n\r\n" + SMUGGLED)
            self.assert_refused(data, {400, 501}, value)

    def test_an_unknown_coding_is_not_implemented(self):
        for value in (b"gzip, chunked", b"identity", b"gzip"):
            data = post(b"Transfer-Encoding: " + value, body=b"0\r\n\r\n" + SMUGGLED)
            self.assert_refused(data, {400, 501}, value)

    def test_two_transfer_encoding_lines_are_one_list(self):
        for second in (b"chunked", b"identity", b"gzip", b"x"):
            data = post(
                b"Transfer-Encoding: chunked",
                b"Transfer-Encoding: " + second,
                body=b"0\r\n\r\n" + SMUGGLED,
            )
            self.assert_refused(data, {400, 501}, second)

    def test_obscured_names_of_transfer_encoding_never_frame(self):
        for line in (
            b"Transfer-Encoding : chunked",
            b"Transfer-Encoding\t: chunked",
            b" Transfer-Encoding: chunked",
            b"X: y\r\n Transfer-Encoding: chunked",
            b"Transfer-Encoding\0: chunked",
            b"X: y\rTransfer-Encoding: chunked",
            b"Transfer-Encoding:\n chunked",
        ):
            data = post(line, b"Content-Length: 5", body=b"0\r\n\r\n" + SMUGGLED)
            self.assert_refused(data, {400}, line)

    def test_an_optional_blank_around_chunked_is_no_other_coding(self):
        for value in (b"chunked ", b"chunked\t", b"\t chunked", b"Chunked", b"CHUNKED"):
            with Client(self.proxy.port) as client:
                client.send(post(b"Transfer-Encoding:" + value, body=b"3\r\nabc\r\n0\r\n\r\n"))
                self.assertEqual(client.response("POST").status, 200, value)
                self.assertEqual(self.app.requests[-1].body(), b"abc")
                self.assert_marker(client)

    def test_transfer_encoding_in_http_1_0_is_faulty(self):
        data = post(b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED, version=b"1.0")
        self.assert_refused(data, {400}, "1.0")

    def test_lengths_that_are_not_one_number_are_refused(self):
        for value in (
            b"5, 5",
            b"5,6",
            b"+5",
            b"-5",
            b"0x5",
            b"5 5",
            b"5;",
            b"",
            b"5.0",
            b"five",
            b"\xb25",
            b"18446744073709551616",
            b"18446744073709551621",
            b"99999999999999999999999999",
        ):
            data = post(b"Content-Length: " + value, body=b"hello" + SMUGGLED)
            self.assert_refused(data, {400}, value)

    def test_two_length_lines_are_refused_even_when_equal(self):
        for second in (b"5", b"6", b"05"):
            data = post(
                b"Content-Length: 5", b"Content-Length: " + second, body=b"hello" + SMUGGLED
            )
            self.assert_refused(data, {400}, second)

    def test_bytes_after_a_body_of_length_zero_are_the_next_request(self):
        with Client(self.proxy.port) as client:
            client.send(post(b"Content-Length: 0") + b"GET /second HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertEqual(client.response("POST").body, b"/x")
            self.assertEqual(client.response().body, b"/second")

    def test_a_body_with_get_over_http_1_0_is_refused_or_kept_whole(self):
        data = (
            b"GET /x HTTP/1.0\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(SMUGGLED) + SMUGGLED
        )
        with Client(self.proxy.port) as client:
            client.send(data)
            self.assertIn(client.response().status, (200, 400, 413))
            self.assertTrue(client.is_closed())
        self.assertNotIn("/smuggled", self.app.targets())


class ChunkedRequests(ProxyCase):
    """RFC 9112 §7.1."""

    def refuse_chunks(self, body, label=None):
        data = post(b"Transfer-Encoding: chunked", body=body + SMUGGLED)
        self.assert_refused(data, {400}, label or body[:40])

    def test_bad_chunk_sizes_are_refused(self):
        for size in (
            b"",
            b"0x3",
            b"+3",
            b"-3",
            b" 3",
            b"3 ",
            b"3\t",
            b"g",
            b"00000000000000003",
            b"10000000000000000",
            b"ffffffffffffffff",
            b"3;\0",
            b"3,",
        ):
            self.refuse_chunks(size + b"\r\nabc\r\n0\r\n\r\n")

    def test_bare_line_feeds_in_chunks_are_refused(self):
        for body in (
            b"3\nabc\r\n0\r\n\r\n",
            b"3\r\nabc\n0\r\n\r\n",
            b"3\r\nabc\r\n0\n\r\n",
            b"3\r\nabc\r\n0\r\n\n",
        ):
            self.refuse_chunks(body)

    def test_bare_carriage_returns_in_chunk_lines_are_refused(self):
        for body in (
            b"3\r\rabc\r\n0\r\n\r\n",
            b"3;a\rb\r\nabc\r\n0\r\n\r\n",
            b"3\rX\nabc\r\n0\r\n\r\n",
        ):
            self.refuse_chunks(body)

    def test_chunk_data_that_goes_on_after_its_size_is_refused(self):
        for body in (b"3\r\nabcd\r\n0\r\n\r\n", b"3\r\nabc0\r\n\r\n", b"3\r\nabcXX0\r\n\r\n"):
            self.refuse_chunks(body)

    def test_sizes_in_either_case_and_with_leading_zeros_are_read(self):
        for size, data in ((b"A", b"0123456789"), (b"a", b"0123456789"), (b"0003", b"abc")):
            with Client(self.proxy.port) as client:
                client.send(
                    post(
                        b"Transfer-Encoding: chunked", body=size + b"\r\n" + data + b"\r\n0\r\n\r\n"
                    )
                )
                self.assertEqual(client.response("POST").status, 200)
            self.assertEqual(self.app.requests[-1].body(), data)

    def test_extensions_are_dropped(self):
        with Client(self.proxy.port) as client:
            client.send(
                post(
                    b"Transfer-Encoding: chunked",
                    body=b'3;a=1;b="x;\\"y"\r\nabc\r\n2;c\r\nde\r\n0;d\r\n\r\n',
                )
            )
            self.assertEqual(client.response("POST").status, 200)
            self.assert_marker(client)
        request = self.app.requests[0]
        self.assertEqual(request.body(), b"abcde")
        self.assertNotIn(
            b";", self.app.received().split(b"\r\n\r\n", 1)[1].split(b"GET /marker")[0]
        )

    def test_extensions_are_limited_in_sum(self):
        long_line = b"1;" + b"e" * 1000 + b"\r\nx\r\n"
        self.refuse_chunks(long_line * 20 + b"0\r\n\r\n", "20 extensions of 1000 bytes")
        self.refuse_chunks(
            b"1;" + b"e" * 70000 + b"\r\nx\r\n0\r\n\r\n", "one extension of 70000 bytes"
        )

    def test_trailers_are_limited(self):
        trailer = b"".join(b"X-T%d: %s\r\n" % (i, b"v" * 1000) for i in range(100))
        data = post(b"Transfer-Encoding: chunked", body=b"0\r\n" + trailer + b"\r\n" + SMUGGLED)
        self.assert_refused(data, {400, 431}, "trailers of 100 KB")

    def test_bad_trailer_lines_are_refused(self):
        for line in (b"no colon", b"Name : v", b": v", b" folded", b"N\0: v", b"N: v\0"):
            self.refuse_chunks(b"0\r\nX: y\r\n" + line + b"\r\n\r\n", line)


class FieldLines(ProxyCase):
    """RFC 9112 §2.2, §5; RFC 9110 §5.5."""

    def refuse_lines(self, *heads):
        for head in heads:
            self.assert_refused(head + SMUGGLED, {400}, head)

    def test_folded_lines_are_refused(self):
        self.refuse_lines(
            b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\tz\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\n \r\n\r\n",
        )

    def test_bare_line_feeds_are_refused(self):
        self.refuse_lines(
            b"GET / HTTP/1.1\nHost: a\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX: y\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\n\n",
        )

    def test_bare_carriage_returns_are_refused(self):
        self.refuse_lines(
            b"GET / HTTP/1.1\rHost: a\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\rX: y\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n",
            b"GET /\rx HTTP/1.1\r\nHost: a\r\n\r\n",
        )

    def test_a_blank_before_the_colon_is_refused(self):
        self.refuse_lines(
            b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nX\t: y\r\n\r\n"
        )

    def test_names_that_are_no_tokens_are_refused(self):
        for name in (
            b"",
            b"X Y",
            b"X\0",
            b"X\x01",
            b"X\x7f",
            b"X\xff",
            b"X(",
            b"X/",
            b'X"',
            b"X@",
            b"X[",
        ):
            self.refuse_lines(b"GET / HTTP/1.1\r\nHost: a\r\n" + name + b": y\r\n\r\n")

    def test_control_bytes_in_values_are_refused(self):
        for byte in (b"\0", b"\x01", b"\x0b", b"\x1b", b"\x7f"):
            self.refuse_lines(b"GET / HTTP/1.1\r\nHost: a\r\nX: a" + byte + b"b\r\n\r\n")

    def test_a_tab_and_bytes_above_ascii_in_values_pass(self):
        with Client(self.proxy.port) as client:
            client.send(b"GET / HTTP/1.1\r\nHost: a\r\nX: a\tb\xff\xe9\r\n\r\n")
            self.assertEqual(client.response().status, 200)
        self.assertEqual(self.app.requests[0].get("X"), "a\tb\xff\xe9")

    def test_white_space_before_the_first_field_is_refused(self):
        self.refuse_lines(
            b"GET / HTTP/1.1\r\n Host: a\r\nHost: b\r\n\r\n",
            b"GET / HTTP/1.1\r\n\tX: y\r\nHost: a\r\n\r\n",
        )

    def test_a_line_without_a_colon_is_refused(self):
        self.refuse_lines(b"GET / HTTP/1.1\r\nHost: a\r\nnocolon\r\n\r\n")

    def test_underscores_do_not_stand_in_for_dashes_in_names_that_matter(self):
        with Client(self.proxy.port) as client:
            client.request("GET", "/", [("X_Forwarded_For", "10.9.8.7"), ("X_Real_IP", "10.9.8.7")])
            if client.response().status != 400:
                self.assertNotIn(b"10.9.8.7", self.app.requests[0].head.raw)


class HostAndTarget(ProxyCase):
    """RFC 9112 §3.2."""

    def test_a_missing_second_or_invalid_host_is_refused(self):
        for host in (
            b"",
            b"Host: a\r\nHost: a\r\n",
            b"Host: a\r\nHost: b\r\n",
            b"Host: a b\r\n",
            b"Host: a/b\r\n",
            b"Host: a@b\r\n",
            b"Host: a,b\r\n",
            b"Host: a:b\r\n",
            b"Host: a:99999\r\n",
            b"Host: [::1\r\n",
            b"Host: a\x00\r\n",
            b"Host: http://a\r\n",
            b"Host: a?b\r\n",
            b"Host: a#b\r\n",
        ):
            self.assert_refused(b"GET / HTTP/1.1\r\n" + host + b"\r\n" + SMUGGLED, {400}, host)

    def test_the_authority_of_an_absolute_target_replaces_host(self):
        with Client(self.proxy.port) as client:
            client.send(b"GET http://other.test/p?q HTTP/1.1\r\nHost: a.test\r\n\r\n")
            self.assertEqual(client.response().status, 200)
        request = self.app.requests[0]
        self.assertEqual((request.get("Host"), request.target), ("other.test", "/p?q"))

    def test_fragments_and_controls_in_targets_are_refused(self):
        for target in (
            b"/a#b",
            b"/a\0",
            b"/a\x01",
            b"/a\x7f",
            b"/a b",
            b"/a\tb",
            b"a",
            b"//",
            b"?q",
        ):
            if target == b"//":
                continue  # an empty first segment is a valid path
            self.assert_refused(
                b"GET " + target + b" HTTP/1.1\r\nHost: a\r\n\r\n" + SMUGGLED, {400}, target
            )


class Upgrades(ProxyCase):
    """RFC 9110 §7.8."""

    def test_an_upgrade_to_clear_text_http_2_is_not_forwarded(self):
        response = self.fetch(
            headers=[
                ("Connection", "Upgrade, HTTP2-Settings"),
                ("Upgrade", "h2c"),
                ("HTTP2-Settings", "AAMAAABkAAQAAP__"),
            ]
        )
        self.assertEqual(response.status, 200)
        request = self.app.requests[0]
        for name in ("Upgrade", "HTTP2-Settings"):
            self.assertFalse(request.has(name), name)
        self.assertNotIn("upgrade", [e.lower() for e in request.head.elements("Connection")])

    def test_an_upgrade_that_was_not_accepted_makes_no_tunnel(self):
        with Client(self.proxy.port) as client:
            client.request("GET", "/", [("Connection", "Upgrade"), ("Upgrade", "websocket")])
            self.assertEqual(client.response().status, 200)
            if not client.reader.ended:
                self.assert_marker(client)


class UpstreamResponses(ProxyCase):
    """What the application may get wrong without harm to anybody else."""

    def answer(self, raw, expected=200, method="GET"):
        self.app.respond = lambda request: raw
        response = self.fetch(method)
        self.assertEqual(response.status, expected, raw[:120])
        self.app.respond = type(self).echo_marker
        self.assert_marker()
        return response

    @staticmethod
    def echo_marker(request):
        return reply(body=request.target.encode())

    def test_length_beside_chunked_is_a_bad_gateway(self):
        for lines in (
            b"Content-Length: 5\r\nTransfer-Encoding: chunked",
            b"Transfer-Encoding: chunked\r\nContent-Length: 5",
        ):
            self.answer(b"HTTP/1.1 200 OK\r\n" + lines + b"\r\n\r\n0\r\n\r\n", 502)

    def test_bad_lengths_are_a_bad_gateway(self):
        for value in (
            b"5,6",
            b"+5",
            b"-1",
            b"x",
            b"5\r\nContent-Length: 6",
            b"18446744073709551616",
            b"",
        ):
            self.answer(b"HTTP/1.1 200 OK\r\nContent-Length: " + value + b"\r\n\r\nhello", 502)

    def test_folded_lines_are_unfolded(self):
        response = self.answer(
            b"HTTP/1.1 200 OK\r\nX: a\r\n  b\r\n\tc\r\nContent-Length: 2\r\n\r\nok"
        )
        self.assertEqual(response.get("X").split(), ["a", "b", "c"])

    def test_bare_line_feeds_are_written_anew(self):
        response = self.answer(b"HTTP/1.1 200 OK\nX: a\nContent-Length: 2\n\nok")
        self.assertEqual((response.get("X"), response.body), ("a", b"ok"))
        self.assertEqual(response.head.raw.count(b"\n"), response.head.raw.count(b"\r\n"))

    def test_bare_carriage_returns_and_nuls_never_reach_the_client(self):
        for byte in (b"\r", b"\0"):
            self.app.respond = (
                lambda request, byte=byte: b"HTTP/1.1 200 OK\r\nX: a%sb\r\nContent-Length: 2\r\n\r\nok"
                % byte
            )
            response = self.fetch()
            self.assertIn(response.status, (200, 502))
            if response.status == 200:
                self.assertEqual(response.get("X"), "a b")

    def test_a_blank_before_the_colon_is_removed(self):
        response = self.answer(b"HTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 2\r\n\r\nok")
        self.assertEqual(response.get("X"), "a")

    def test_bytes_on_an_idle_connection_are_never_an_answer(self):
        self.fetch(target="/first")
        self.app.connections[-1].send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
        self.assertTrue(self.app.connections[-1].reader is not None)
        wait_until(lambda: self.fetch(target="/next").body == b"/next", "an answer of its own")
        self.assert_marker()

    def test_bytes_after_a_complete_response_are_dropped(self):
        evil = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
        for first in (
            reply(),
            chunked([b"ok"]),
            b"HTTP/1.1 204 No Content\r\n\r\n",
            b"HTTP/1.1 304 Not Modified\r\n\r\n",
        ):
            self.app.respond = lambda request, first=first: first + evil
            self.fetch()
            self.app.respond = self.echo_marker
            self.assert_marker()

    def test_a_connection_is_not_reused_when_the_answer_came_before_the_body(self):
        def early(request):
            request.connection.send(reply(body=b"early"))

        self.app.respond = early
        with Client(self.proxy.port) as client:
            client.send(post(b"Content-Length: 100", body=b"12345"))
            self.assertEqual(client.response("POST").body, b"early")
            first = self.app.connections[-1]
            self.app.respond = self.echo_marker
            self.assert_marker()
            self.assertIsNot(self.app.connections[-1], first)
