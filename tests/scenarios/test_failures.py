"""Profiling can never fail a request, and costs nothing where nobody profiles."""

import os
import re
import unittest

from rig import ProfilingCase, Proxy, Upstream, chunked, html, profiler_fields, reply, wait_until

REQUESTS = [
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /a%2Fb?x=1&&y HTTP/1.1\r\nhost: localhost\r\nuser-agent:  spaced  \r\nX-Odd:\r\nCookie: a=1;b=2\r\n\r\n",
    b"POST /form HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello",
    b"POST /chunks HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"HEAD /head HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n",
    b"GET /page HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nSec-Fetch-Dest: document\r\n"
    b"Referer: http://localhost/other?pp=x\r\n\r\n",
    b"GET /html-chunked HTTP/1.0\r\nHost: localhost\r\nAccept: text/html\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nOrigin: http://b.test\r\nAccess-Control-Request-Method: PUT\r\n\r\n",
    b"GET /?pp=unknown&flamegraph_mode=cpu HTTP/1.1\r\nHost: localhost\r\n\r\n",
]


def varied(request):
    fields = [
        ("Date", "Mon, 01 Jan 2024 00:00:00 GMT"),
        ("ETag", '"v1"'),
        ("cache-control", "public, max-age=5"),
        ("Server-Timing", "db;dur=1"),
        ("Set-Cookie", "flamegate-x=1"),
        ("Content-Security-Policy", "script-src 'self'"),
    ]
    if request.method == "HEAD":
        return b"HTTP/1.1 200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n"
    if request.target == "/html-chunked":
        return chunked([b"<html>", b"</html>"], [("Content-Type", "text/html"), *fields])
    if request.target == "/chunks":
        return chunked([b"a", b"b"], fields, end=b"0\r\nX-T: 1\r\n\r\n")
    return html(b"<html>hi</html>", fields) if request.target == "/page" else reply(headers=fields)


class Identity(unittest.TestCase):
    """A request that nobody wants profiled is the same with profiling on and off, byte for byte."""

    def record(self, profiling):
        app = Upstream(varied)
        self.addCleanup(app.close)
        with Proxy(app, {"profiling": {"enabled": profiling}}) as proxy:
            if profiling:
                proxy.wait_for_control()
            seen = []
            for data in REQUESTS:
                app.reset_log()
                with proxy.connect() as client:
                    client.send(data)
                    client.response(data.split(b" ")[0].decode())
                    at_client = client.reader.received
                request = app.requests[0]
                at_app = request.head.raw + request.body()
                seen.append((self.normal(at_app, proxy), self.normal(at_client, proxy)))
            return seen

    @staticmethod
    def normal(data, proxy):
        """Without what differs between any two runs: the ports, and ids made for the request."""
        data = data.replace(str(proxy.port).encode(), b"PORT")
        return re.sub(rb"(?i)(x-request-id: )\S+", rb"\1ID", data)

    def test_the_bytes_are_the_same_at_both_ends(self):
        for data, switched_on, switched_off in zip(REQUESTS, self.record(True), self.record(False)):
            self.assertEqual(switched_on[0], switched_off[0], f"at the application: {data}")
            self.assertEqual(switched_on[1], switched_off[1], f"at the client: {data}")


class ControlKilled(ProfilingCase):
    """Control dies: traffic goes on, and comes back to profiling by itself."""

    def setUp(self):
        super().setUp()
        wait_until(lambda: self.trigger().has("Profile-Id"), "the proxy has found control")

    def test_requests_go_on_unprofiled_and_recover(self):
        killed = self.proxy.kill_control()
        for _ in range(20):
            response = self.trigger("/during")
            self.assertEqual((response.status, response.body), (200, b"/during"))
            self.assertIn(response.get("Profile-Skipped"), ("control-down", None))
        self.assertEqual(self.fetch().status, 200)
        wait_until(lambda: self.proxy.control_pid() != killed, "control was started again")
        self.proxy.wait_for_control()
        wait_until(lambda: self.trigger().has("Profile-Id"), "profiling is back")

    def test_a_control_that_dies_again_and_again_is_not_started_in_a_loop(self):
        for _ in range(3):
            pid = self.proxy.control_pid()
            os.kill(pid, 9)
            wait_until(
                lambda p=pid: self.proxy.metrics()["flamegate_control_up"] == 0
                or self.proxy.control_pid() != p,
                "its end",
            )
        self.assertEqual(self.fetch().status, 200)
        self.proxy.wait_for_control()

    def test_pages_of_ours_say_503_meanwhile(self):
        self.proxy.kill_control()
        statuses = {self.fetch(target="/__flamegate/api/v1/profiles").status for _ in range(5)}
        self.assertLessEqual(statuses, {200, 503})
        self.proxy.wait_for_control()


class StrangeAgents(ProfilingCase):
    """Whatever an agent does, the application's answer is delivered."""

    def test_acknowledgements_of_any_shape(self):
        for value in (
            "",
            "x",
            "v=1",
            "v=2;id=x;st=started",
            ";" * 600,
            "v=1;id=" + "0" * 20 + ";st=started",
            "\xff",
        ):
            self.app.answer(
                lambda request, v=value: reply(headers=[("Flamegate-Ack", v)], body=b"fine")
            )
            self.app.ack_state = ""
            response = self.trigger()
            self.assertEqual((response.status, response.body), (200, b"fine"))
            self.assertFalse(response.has("Flamegate-Ack"))
            self.assertFalse(response.has("Profile-Id"), value)

    def test_uploads_of_any_shape_hurt_nobody(self):
        self.app.stacks = None
        profile_id = self.assert_profiled(self.trigger())
        self.assertEqual(self.app.upload(profile_id, body=b"not a profile").status, 422)
        self.assertEqual(self.app.upload(profile_id, part="x").status, 404)
        self.app.stacks = {("a",): 1}
        self.assertEqual(self.app.upload(profile_id, part="1-2").status, 201)
        self.assertEqual(self.app.upload(profile_id, part="1-2").status, 200)
        self.app.stacks = {("b",): 1}
        self.assertEqual(self.app.upload(profile_id, part="1-2").status, 409)
        self.assertEqual(self.app.upload("0" * 20).status, 404)

    def test_a_client_that_leaves_frees_the_place(self):
        self.app.answer(lambda request: request.connection.wait_for_close(5) and None)
        for _ in range(70):  # more than may be profiled at once
            client = self.proxy.connect()
            client.request("GET", "/?pp=async-flamegraph", host="localhost")
            self.app.wait_for_requests(1)
            client.reset()
            self.app.reset_log()
        self.app.answer(lambda request: reply())
        wait_until(lambda: self.trigger().has("Profile-Id"), "a place is free")


class Resources(ProfilingCase):
    def test_descriptors_and_memory_return(self):
        def burst():
            for i in range(150):
                self.trigger(f"/{i}")
                self.fetch(target=f"/{i}")

        burst()
        fds, memory = self.proxy.open_fds(), self.proxy.resident_bytes()
        burst()
        wait_until(lambda: self.proxy.open_fds() <= fds + 4, "descriptors are closed")
        self.assertLess(self.proxy.resident_bytes(), memory * 1.2 + (1 << 20))

    def test_no_field_of_ours_is_seen_without_a_trigger(self):
        for _ in range(10):
            self.assertEqual(profiler_fields(self.fetch()), [])
