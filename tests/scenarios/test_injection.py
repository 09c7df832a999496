"""The badge at the end of HTML documents (area B)."""

import gzip
import re
import zlib

from rig import CLOSE, Client, Deadline, ProfilingCase, chunk, chunked, html, reply, wait_until

PAGE = b"<!doctype html><html><head></head><body>hi</body></html>"
NAVIGATION = [("Sec-Fetch-Dest", "document"), ("Accept", "text/html")]


class InjectionCase(ProfilingCase):
    def page(self, body=PAGE, headers=(), request=(), status=200, **more):
        self.app.answer(lambda _: html(body, headers, status))
        return self.trigger("/page", [*NAVIGATION, *request], **more)

    def assert_badge(self, response, body=PAGE, decoded=None):
        text = decoded if decoded is not None else response.body
        self.assertTrue(text.startswith(body), text)
        self.assertRegex(text[len(body) :], rb"\A<script [^<>]*></script>\Z")
        for name in ("ETag", "Last-Modified", "Accept-Ranges", "Content-MD5"):
            self.assertFalse(response.has(name), name)
        return text[len(body) :].decode()

    def assert_unchanged(self, response, body=PAGE):
        self.assertEqual(response.body, body)


class B04Lengths(InjectionCase):
    """Length, framing and validators after injection."""

    def test_a_page_with_a_length(self):
        self.assert_badge(self.page())

    def test_a_lower_case_length_is_no_second_one(self):
        self.app.answer(
            lambda _: b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n"
            % len(PAGE)
            + PAGE
        )
        self.assert_badge(self.trigger(headers=NAVIGATION))

    def test_a_chunked_page(self):
        self.app.answer(lambda _: chunked([PAGE[:10], PAGE[10:]], [("Content-Type", "text/html")]))
        self.assert_badge(self.trigger(headers=NAVIGATION))

    def test_a_page_up_to_the_close(self):
        def until_close(_):
            return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + PAGE, CLOSE

        self.app.answer(until_close)
        self.assert_badge(self.trigger(headers=NAVIGATION))

    def test_a_1_0_client(self):
        self.app.answer(lambda _: html(PAGE))
        response = self.trigger(headers=NAVIGATION, version="1.0")
        self.assertIn(response.framing, ("close", "length"))
        self.assert_badge(response)

    def test_head_agrees_with_get_or_leaves_the_length_out(self):
        self.app.answer(
            lambda _: b'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\nETag: "v1"\r\n\r\n'
            % len(PAGE)
        )
        response = self.trigger("/page", NAVIGATION, method="HEAD")
        self.assertNotEqual(response.get("Content-Length"), str(len(PAGE)))
        self.assertFalse(response.has("ETag"))

    def test_a_part_is_never_changed(self):
        self.app.answer(
            lambda _: reply(
                206, [("Content-Type", "text/html"), ("Content-Range", "bytes 0-9/100")], PAGE[:10]
            )
        )
        response = self.trigger(headers=[*NAVIGATION, ("Range", "bytes=0-9")])
        self.assert_unchanged(response, PAGE[:10])

    def test_a_digested_page_is_left_alone(self):
        for name in ("Content-Digest", "Repr-Digest", "Digest"):
            response = self.page(headers=[(name, "sha-256=:x:"), ("ETag", '"v1"')])
            self.assert_unchanged(response)
            self.assertEqual((response.get(name), response.get("ETag")), ("sha-256=:x:", '"v1"'))

    def test_no_transform_is_honoured(self):
        response = self.page(headers=[("Cache-Control", "no-transform"), ("ETag", '"v1"')])
        self.assert_unchanged(response)
        self.assertEqual(response.get("ETag"), '"v1"')

    def test_error_pages_get_it_and_redirects_do_not(self):
        for status in (404, 500):
            self.assert_badge(self.page(status=status))
        self.assert_unchanged(self.page(status=301, headers=[("Location", "/x")]))

    def test_letters_of_many_bytes_at_the_end(self):
        for body in ("<html>é".encode(), "<html>\U0001f525".encode()):
            self.assert_badge(self.page(body), body)

    def test_pages_around_64_kib(self):
        for size in (65535, 65536, 65537, 300000):
            body = PAGE[:-14] + b"x" * (size - len(PAGE)) + PAGE[-14:]
            self.assert_badge(self.page(body), body)

    def test_validators_go_with_the_old_body(self):
        fields = [
            ("ETag", '"v1"'),
            ("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT"),
            ("Accept-Ranges", "bytes"),
        ]
        self.assert_badge(self.page(headers=fields))


class Documents(InjectionCase):
    """What gets the badge and what does not."""

    def test_the_element_comes_from_our_origin_with_an_integrity(self):
        element = self.assert_badge(self.page())
        source = re.search('src="([^"]+)"', element)[1]
        self.assertTrue(source.startswith("http://localhost/__flamegate/"), source)
        self.assertIn('integrity="sha384-', element)
        script = self.fetch(target=source.removeprefix("http://localhost"))
        self.assertEqual(script.status, 200)
        self.assertIn("javascript", script.get("Content-Type"))

    def test_only_navigations_get_it(self):
        for request in (
            [("Sec-Fetch-Dest", "iframe")],
            [("Sec-Fetch-Dest", "empty")],
            [("Accept", "application/json")],
            [("Accept", "text/html"), ("X-Requested-With", "XMLHttpRequest")],
            [("Accept", "text/html"), ("HX-Request", "true")],
            [("Accept", "text/html"), ("Turbo-Frame", "x")],
        ):
            self.app.answer(lambda _: html(PAGE))
            response = self.trigger(headers=request)
            self.assert_unchanged(response)
            self.assert_profiled(response)

    def test_what_is_no_document_or_takes_no_script_stays(self):
        for body in (
            b'{"a":1}',
            b"<div>part</div>",
            b"<?xml version='1.0'?><html/>",
            b"<html amp></html>",
            b"<html><!-- open",
            b"<html><script>open",
            b"<html><textarea>",
            b"<html><template>",
            b"<html><div ",
            b"",
        ):
            self.assert_unchanged(self.page(body), body)
        self.assert_unchanged(self.page(headers=[("Content-Disposition", "attachment")]))
        self.app.answer(
            lambda _: reply(headers=[("Content-Type", "text/html; charset=utf-16")], body=PAGE)
        )
        self.assert_unchanged(self.trigger(headers=NAVIGATION))

    def test_unprofiled_pages_stay(self):
        self.app.answer(lambda _: html(PAGE))
        self.assert_unchanged(self.fetch(headers=NAVIGATION))

    def test_gzip_is_appended_to(self):
        for body in (PAGE, b"<html>" + bytes(range(32, 127)) * 2000):
            coded = gzip.compress(body)
            response = self.page(coded, [("Content-Encoding", "gzip")])
            self.assertEqual(response.get("Content-Encoding"), "gzip")
            self.assert_badge(response, body, gzip.decompress(response.body))

    def test_codings_that_are_not_undone_stay(self):
        for coding in ("br", "zstd", "gzip, gzip"):
            self.assert_unchanged(
                self.page(b"\x1b\x03xyz", [("Content-Encoding", coding)]), b"\x1b\x03xyz"
            )

    def test_broken_gzip_stays_broken(self):
        coded = gzip.compress(PAGE)
        response = self.page(coded[:-3], [("Content-Encoding", "gzip")])
        with self.assertRaises((EOFError, OSError, zlib.error)):
            gzip.decompress(response.body)


class Streaming(InjectionCase):
    """B06: a page that streams keeps streaming."""

    def stream(self, parts, encode, fields, end):
        """Sends each part when the test asks for it."""
        yield reply(
            200,
            [("Content-Type", "text/html"), ("Transfer-Encoding", "chunked"), *fields],
            b"",
            length=False,
        )
        for i, part in enumerate(parts):
            wait_until(lambda i=i: self.asked >= i, "the test asks for a part")
            yield chunk(encode(part))
        last = end()
        yield (chunk(last) if last else b"") + b"0\r\n\r\n"

    def check(self, encode, decode, fields=(), end=bytes):
        parts = [b"<html>"] + [b"<p>part %d" % i for i in range(10)]
        self.asked = -1
        self.app.answer(lambda _: self.stream(parts, encode, fields, end))
        with Client(self.proxy.port) as client:
            client.request("GET", "/stream?pp=async-flamegraph", NAVIGATION, host="localhost")
            client.head()
            seen, expected = b"", b""
            for i, part in enumerate(parts):
                self.asked = i
                expected += part
                while seen != expected:
                    self.assertTrue(expected.startswith(seen))
                    size = int(client.reader.take_until(b"\r\n", Deadline(2)), 16)
                    seen += decode(client.reader.take(size + 2, Deadline(2))[:-2])
            rest = client.reader.chunked(Deadline(2))[0]
            self.assertRegex(decode(rest), rb"\A<script [^<>]*></script>\Z")

    def test_each_part_comes_at_once(self):
        self.check(bytes, bytes)

    def test_each_flushed_part_of_gzip_comes_at_once(self):
        coder, decoder = zlib.compressobj(6, zlib.DEFLATED, 31), zlib.decompressobj(31)

        def encode(part):
            return coder.compress(part) + coder.flush(zlib.Z_SYNC_FLUSH)

        self.check(encode, decoder.decompress, [("Content-Encoding", "gzip")], coder.flush)


class LongPages(InjectionCase):
    CONFIG = {"profiling": {"inject": {"max_body": "64KiB"}}}

    def test_a_page_over_the_limit_is_not_touched_at_all(self):
        body = PAGE + b" " * 65536
        response = self.page(body, [("ETag", '"v1"')])
        self.assert_unchanged(response, body)
        self.assertEqual(
            (response.get("Content-Length"), response.get("ETag")), (str(len(body)), '"v1"')
        )

    def test_a_page_at_the_limit_gets_it(self):
        body = PAGE + b" " * (65536 - len(PAGE))
        self.assert_badge(self.page(body), body)

    def test_a_chunked_page_over_the_limit_passes_whole(self):
        body = PAGE + b" " * 65536
        self.app.answer(
            lambda _: chunked(
                [body[i : i + 5000] for i in range(0, len(body), 5000)],
                [("Content-Type", "text/html")],
            )
        )
        self.assert_unchanged(self.trigger(headers=NAVIGATION), body)

    def test_a_long_page_costs_no_memory(self):
        before = self.proxy.resident_bytes()
        part = b"<p>" + b"x" * 50000
        self.app.answer(
            lambda _: chunked([b"<html>"] + [part] * 400, [("Content-Type", "text/html")])
        )
        self.assertEqual(len(self.trigger(headers=NAVIGATION).body), 6 + 400 * len(part))
        self.assertLess(self.proxy.resident_bytes() - before, 8 << 20)


class Policies(InjectionCase):
    """B02: the page's Content-Security-Policy."""

    def policy(self, *values, name="Content-Security-Policy"):
        response = self.page(headers=[(name, value) for value in values])
        return response, response.all(name)

    def test_a_nonce_is_reused_and_the_policy_stays(self):
        response, policies = self.policy("script-src 'nonce-abc' 'strict-dynamic'")
        self.assertIn('nonce="abc"', self.assert_badge(response))
        self.assertEqual(policies, ["script-src 'nonce-abc' 'strict-dynamic'"])

    def test_self_is_enough(self):
        response, policies = self.policy("default-src 'self'")
        self.assert_badge(response)
        self.assertEqual(policies, ["default-src 'self'"])

    def test_our_address_is_added_to_what_blocks_it(self):
        response, policies = self.policy("default-src 'none'", "script-src 'unsafe-inline'")
        element = self.assert_badge(response)
        source = re.search('src="([^"]+)"', element)[1]
        self.assertEqual(
            policies,
            [
                f"default-src 'none'; script-src-elem {source}; connect-src http://localhost/__flamegate/api/",
                f"script-src 'unsafe-inline' {source}",
            ],
        )

    def test_report_only_policies_do_not_report_us(self):
        response, policies = self.policy(
            "script-src cdn.test", name="Content-Security-Policy-Report-Only"
        )
        source = re.search('src="([^"]+)"', self.assert_badge(response))[1]
        self.assertEqual(policies, [f"script-src cdn.test {source}"])

    def test_a_sandbox_or_a_blocking_meta_policy_means_no_badge(self):
        self.assert_unchanged(self.policy("sandbox")[0])
        body = (
            b"<html><meta http-equiv=Content-Security-Policy content=\"script-src 'none'\"></html>"
        )
        self.assert_unchanged(self.page(body), body)
