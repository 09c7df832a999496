"""What starts a profile, what leaves the request, and what the application never learns."""

from rig import Client, ProfilingCase, html, reply

SAME_ORIGIN = "http://localhost/page?pp=async-flamegraph"


class QueryTrigger(ProfilingCase):
    def test_the_pair_leaves_the_target_and_the_rest_keeps_its_bytes(self):
        for target, forwarded in (
            ("/?pp=async-flamegraph", "/"),
            ("/a?pp=async-flamegraph", "/a"),
            ("/a?x=1&pp=async-flamegraph&y=%20&x=1", "/a?x=1&y=%20&x=1"),
            ("/a?pp=async-flamegraph&x", "/a?x"),
            ("/a?x&&pp=async-flamegraph", "/a?x&"),
            ("/a?p%70=async%2Dflamegraph&x=1", "/a?x=1"),
            ("/a?pp=async-flamegraph&pp=async-flamegraph", "/a"),
            ("/a?pp=other&pp=async-flamegraph", "/a?pp=other"),
            ("/a%2Fb?pp=async-flamegraph", "/a%2Fb"),
        ):
            self.app.reset_log()
            response = self.fetch(target=target)
            self.assert_profiled(response)
            self.assertEqual(self.app.targets(), [forwarded], target)

    def test_what_is_not_the_pair_passes_as_it_is(self):
        for target in (
            "/?PP=async-flamegraph",
            "/?pp=Async-Flamegraph",
            "/?pp=async+flamegraph",
            "/?pp=async-flamegraph%zz",
            "/?pp%3Dasync-flamegraph",
            "/?a;pp=async-flamegraph",
            "/?pp=",
            "/?pp",
            "/?pp=other",
            "/?xpp=async-flamegraph",
            "/pp=async-flamegraph",
            "/?pp=async-flamegraph%20",
        ):
            self.app.reset_log()
            response = self.fetch(target=target)
            self.assertEqual(self.app.targets(), [target])
            self.assert_untouched(response)

    def test_skip_beats_every_trigger(self):
        for target, headers in (
            ("/?pp=skip&pp=async-flamegraph", []),
            ("/?pp=async-flamegraph&pp=skip", []),
            ("/?pp=skip", [("X-Rack-Mini-Profiler", "async-flamegraph")]),
        ):
            self.app.reset_log()
            response = self.fetch(target=target, headers=headers)
            self.assertFalse(response.has("Profile-Id"), target)
            self.assertEqual(self.app.tickets, [])

    def test_two_known_values_are_no_trigger_and_stay(self):
        target = "/?pp=async-flamegraph&pp=flamegraph"
        response = self.fetch(target=target)
        self.assertFalse(response.has("Profile-Id"))
        self.assertEqual(self.app.targets(), [target])

    def test_options_reach_the_agent_in_their_bounds(self):
        for options, mode, interval in (
            ("", "wall", "1000"),
            ("&flamegraph_mode=cpu", "cpu", "1000"),
            ("&flamegraph_sample_rate=5", "wall", "5000"),
            ("&flamegraph_sample_rate=0.5", "wall", "500"),
            ("&flamegraph_sample_rate=0.01", "wall", "100"),
            ("&flamegraph_sample_rate=99999", "wall", "1000000"),
            ("&flamegraph_sample_rate=x&flamegraph_mode=x", "wall", "1000"),
            ("&flamegraph_ignore_gc=true", "wall", "1000"),
        ):
            self.app.tickets.clear()
            self.app.reset_log()
            self.assert_profiled(self.fetch(target=f"/?pp=async-flamegraph{options}"))
            values = self.app.tickets[0].values
            self.assertEqual((values["mode"], values["us"]), (mode, interval), options)
            self.assertEqual(self.app.targets(), ["/"])

    def test_options_stay_without_the_pair(self):
        target = "/?flamegraph_mode=cpu"
        self.fetch(target=target)
        self.assertEqual(self.app.targets(), [target])

    def test_every_method_can_be_profiled(self):
        for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"):
            self.assert_profiled(
                self.trigger(method=method, body=b"x" if method in ("POST", "PUT") else b"")
            )


class OtherTriggers(ProfilingCase):
    def test_the_header(self):
        self.assert_profiled(self.fetch(headers=[("X-Rack-Mini-Profiler", "async-flamegraph")]))
        self.assertFalse(self.fetch(headers=[("X-Rack-Mini-Profiler", "other")]).has("Profile-Id"))

    def test_a_referer_of_the_same_origin(self):
        response = self.fetch(headers=[("Referer", SAME_ORIGIN + "&flamegraph_mode=cpu")])
        self.assert_profiled(response)
        self.assertEqual(self.app.tickets[0].values["mode"], "cpu")
        self.assertEqual(self.app.requests[0].get("Referer"), SAME_ORIGIN + "&flamegraph_mode=cpu")

    def test_any_other_referer_is_none(self):
        for referer in (
            "http://other/page?pp=async-flamegraph",
            "http://localhost:81/?pp=async-flamegraph",
            "http://u@localhost/?pp=async-flamegraph",
            "/page?pp=async-flamegraph",
            "//localhost/?pp=async-flamegraph",
            "http://localhost/pp=async-flamegraph",
            "http://localhost/#?pp=async-flamegraph",
            "http://localhost.evil/?pp=async-flamegraph",
            "http://localhost/__flamegate/?pp=async-flamegraph",
            SAME_ORIGIN + "&x=" + "x" * 9000,
        ):
            self.assertFalse(self.fetch(headers=[("Referer", referer)]).has("Profile-Id"), referer)
        two = [("Referer", SAME_ORIGIN), ("Referer", SAME_ORIGIN)]
        self.assertFalse(self.fetch(headers=two).has("Profile-Id"))

    def test_assets_and_preflights_of_a_profiled_page_pass_untouched(self):
        for destination in (
            "audio",
            "font",
            "image",
            "manifest",
            "style",
            "script",
            "track",
            "video",
        ):
            response = self.fetch(
                headers=[("Referer", SAME_ORIGIN), ("Sec-Fetch-Dest", destination)]
            )
            self.assert_untouched(response)
        preflight = [
            ("Referer", SAME_ORIGIN),
            ("Origin", "http://localhost"),
            ("Access-Control-Request-Method", "PUT"),
        ]
        self.assert_untouched(self.fetch("OPTIONS", headers=preflight))

    def test_upgrades_are_never_profiled(self):
        response = self.trigger(headers=[("Connection", "Upgrade"), ("Upgrade", "websocket")])
        self.assertEqual(self.app.tickets, [])
        self.assert_skipped(response, "upgrade")


class OtherVerbs(ProfilingCase):
    def test_help_is_a_page_of_our_own(self):
        response = self.fetch(target="/?pp=help", headers=[("Accept", "text/html")])
        self.assertEqual(response.status, 200)
        self.assertIn(b"async-flamegraph", response.body)
        self.assertEqual(self.app.targets(), [])

    def test_flamegraph_runs_the_application_and_leads_to_the_viewer(self):
        self.app.answer(
            lambda request: html(headers=[("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])
        )
        response = self.fetch(target="/x?pp=flamegraph&y=1")
        self.assertEqual(response.status, 303)
        self.assertEqual(self.app.targets(), ["/x?y=1"])
        self.assertEqual(response.all("Set-Cookie")[:2], ["a=1", "b=2"])
        profile_id = self.app.tickets[0].id
        self.assertTrue(
            response.get("Location").endswith(f"/__flamegate/flamegraph?id={profile_id}")
        )

    def test_disable_and_enable_last_as_a_cookie(self):
        response = self.fetch(target="/?pp=disable")
        self.assertEqual(response.status, 200)
        cookie = [
            value for value in response.all("Set-Cookie") if value.startswith("flamegate-off=")
        ][0]
        pair = cookie.split(";")[0]
        off = self.trigger(headers=[("Cookie", pair)])
        self.assert_skipped(off, "disabled")
        back = self.fetch(target="/?pp=enable", headers=[("Cookie", pair)])
        cleared = [value for value in back.all("Set-Cookie") if value.startswith("flamegate-off=")]
        self.assertRegex(cleared[0].lower(), "max-age=0|expires=")
        self.assert_profiled(self.trigger())


class WithoutStripping(ProfilingCase):
    CONFIG = {"profiling": {"trigger": {"strip": False}}}

    def test_the_pair_stays(self):
        self.assert_profiled(self.trigger("/?a=1"))
        self.assertEqual(self.app.targets(), ["/?a=1&pp=async-flamegraph"])


class WithoutRights(ProfilingCase):
    """A client without any right sees an application without a profiler."""

    CONFIG = {
        "profiling": {
            "access": [
                {"from": ["10.0.0.0/8"], "allow": ["view", "trigger", "manage"]},
                {"token": True, "allow": ["token"]},
            ]
        }
    }

    @classmethod
    def wait_for_control(cls):
        cls.proxy.wait_for_metric("flamegate_control_up", 1)

    def test_every_trigger_passes_as_it_came(self):
        targets = [
            "/?pp=async-flamegraph",
            "/?pp=flamegraph",
            "/?pp=help",
            "/?pp=skip",
            "/?pp=disable",
            "/?pp=async-flamegraph&flamegraph_mode=cpu",
            "/++profile++show/a",
        ]
        for target in targets:
            self.app.reset_log()
            response = self.fetch(
                target=target,
                headers=[("Referer", SAME_ORIGIN), ("X-Rack-Mini-Profiler", "async-flamegraph")],
            )
            self.assertEqual(self.app.targets(), [target])
            self.assertEqual(self.app.requests[0].get("X-Rack-Mini-Profiler"), "async-flamegraph")
            self.assertEqual(response.body, target.encode())
            self.assertFalse(response.has("Set-Cookie"))
            self.assert_untouched(response)

    def test_the_prefix_is_a_path_like_any(self):
        for target in (
            "/__flamegate/",
            "/__flamegate/api/v1/profiles",
            "/__flamegate/flamegraph?id=x",
            "/__flamegate",
            "/mini-profiler-resources/flamegraph?id=0lx1c2d3abcdefghijkl",
            "/__flamegate/api/v1/session",
        ):
            for method in ("GET", "POST", "DELETE", "HEAD", "OPTIONS"):
                self.app.reset_log()
                self.fetch(method, target)
                self.assertEqual(
                    [(r.method, r.target) for r in self.app.requests], [(method, target)]
                )


class FieldsOfOurOwn(ProfilingCase):
    """Fields named Flamegate-… are a matter between proxy and agent."""

    NAMES = (
        "Flamegate-Profile",
        "flamegate-ack",
        "FLAMEGATE_PROFILE",
        "Flamegate_Meta",
        "flamegate-x",
    )

    def test_they_never_pass_from_a_client(self):
        self.fetch(headers=[(name, "v=1;id=0lx1c2d3abcdefghijkl") for name in self.NAMES])
        self.trigger(headers=[(name, "v=1;id=0lx1c2d3abcdefghijkl") for name in self.NAMES])
        first, second = self.app.requests
        self.assertEqual(
            [
                n
                for n, _ in first.head.fields
                if n.lower().replace("_", "-").startswith("flamegate-")
            ],
            [],
        )
        self.assertEqual(len(second.all("Flamegate-Profile")), 1)
        self.assertNotIn(b"0lx1c2d3abcdefghijkl", second.head.raw)

    def test_they_never_pass_in_trailers(self):
        with Client(self.proxy.port) as client:
            client.send(
                b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nFlamegate-Profile: x\r\n"
                b"flamegate_ack: y\r\n\r\n"
            )
            client.response("POST")
        received = self.app.requests[0].connection.received.split(b"\r\n\r\n", 1)[1].lower()
        self.assertNotIn(b"flamegate-profile: x", received)
        self.assertNotIn(b"flamegate_ack", received)

    def test_they_never_pass_to_a_client(self):
        lines = "Flamegate-Ack: v=1;id=x;st=started\r\nflamegate_meta: x\r\n"
        self.app.answer(
            lambda request: (
                f"HTTP/1.1 103 Early Hints\r\n{lines}\r\nHTTP/1.1 200 OK\r\n{lines}Transfer-Encoding: chunked\r\n\r\n"
                f"0\r\n{lines}\r\n"
            ).encode()
        )
        for target in ("/", "/?pp=async-flamegraph"):
            with Client(self.proxy.port) as client:
                client.fetch(target=target, host="localhost")
                self.assertNotIn(
                    b"flamegate", client.reader.received.lower().replace(b"/__flamegate", b"")
                )


class SwitchedOff(ProfilingCase):
    """profiling.enabled: false takes the prefix away; fields of ours still never pass."""

    CONFIG = {"profiling": {"enabled": False}}

    @classmethod
    def wait_for_control(cls):
        """There is no way to it, and no need."""

    def test_triggers_and_prefix_are_the_applications(self):
        for target in ("/?pp=async-flamegraph", "/__flamegate/", "/__flamegate/api/v1/status"):
            self.app.reset_log()
            self.assertEqual(self.fetch(target=target).body, target.encode())

    def test_fields_of_ours_do_not_pass(self):
        self.app.answer(lambda request: reply(headers=[("Flamegate-Ack", "x")]))
        response = self.fetch(headers=[("Flamegate-Profile", "x"), ("flamegate_profile", "y")])
        self.assertNotIn(
            b"lamegate", self.app.requests[0].head.raw.lower().replace(b"via: 1.1 flamegate", b"")
        )
        self.assertFalse(response.has("Flamegate-Ack"))
