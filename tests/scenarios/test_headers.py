"""What a profiled response tells its client, and what it keeps."""

from rig import ProfilingCase, chunked, fetch, html, reply


class Announcement(ProfilingCase):
    def test_the_id_is_told_in_every_dialect(self):
        response = self.trigger("/x")
        profile_id = self.assert_profiled(response)
        self.assertEqual(
            response.get("Profile-Link"), f"http://localhost/__flamegate/p/{profile_id}"
        )
        self.assertEqual(response.all("Server-Timing"), [f'profile;desc="{profile_id}"'])
        self.assertEqual(response.get("X-MiniProfiler-Ids"), profile_id)
        self.assertEqual(
            response.get("X-MiniProfiler-Flamegraph-Path"),
            f"/__flamegate/flamegraph?id={profile_id}",
        )

    def test_every_final_status_carries_it(self):
        for status in (200, 201, 301, 400, 404, 500, 503):
            self.app.answer(lambda request, s=status: reply(s, reason="X"))
            self.assert_profiled(self.trigger())
        for status in (204, 304):
            self.app.answer(
                lambda request, s=status: reply(s, [("ETag", '"a"')], b"", length=False)
            )
            response = self.trigger(headers=[("If-None-Match", '"a"')])
            self.assertEqual(response.status, status)
            self.assert_profiled(response)
            self.assertEqual(self.app.requests[-1].get("If-None-Match"), '"a"')

    def test_the_applications_own_timing_and_ids_stay_beside_ours(self):
        own = [f"own{i}" for i in range(30)]
        self.app.answer(
            lambda request: reply(
                headers=[
                    ("Server-Timing", "db;dur=3"),
                    ("X-MiniProfiler-Ids", ",".join(own)),
                    ("X-MiniProfiler-Flamegraph-Path", "/theirs"),
                ]
            )
        )
        response = self.trigger()
        profile_id = self.assert_profiled(response)
        self.assertIn("db;dur=3", response.all("Server-Timing"))
        ids = response.head.elements("X-MiniProfiler-Ids")
        self.assertEqual(ids[0], profile_id)
        self.assertLessEqual(len(ids), 21)
        self.assertEqual(ids[1:], own[: len(ids) - 1])
        self.assertTrue(response.get("X-MiniProfiler-Flamegraph-Path").startswith("/__flamegate/"))

    def test_it_is_exposed_to_scripts_of_other_origins_that_may_read(self):
        origin = [("Origin", "https://b.test")]
        for allowed, exposed in (("https://b.test", None), ("https://b.test", "X-Own"), ("*", "*")):
            fields = [("Access-Control-Allow-Origin", allowed)] + (
                [("Access-Control-Expose-Headers", exposed)] if exposed else []
            )
            self.app.answer(lambda request, f=fields: reply(headers=f))
            names = [
                name.lower()
                for name in self.trigger(headers=origin).head.elements(
                    "Access-Control-Expose-Headers"
                )
            ]
            if exposed == "*":
                self.assertEqual(names, ["*"])
            else:
                self.assertIn("profile-id", names)
                self.assertEqual("x-own" in names, exposed is not None)

    def test_without_an_origin_nothing_is_exposed(self):
        self.app.answer(lambda request: reply(headers=[("Access-Control-Allow-Origin", "*")]))
        self.assertFalse(self.trigger().has("Access-Control-Expose-Headers"))

    def test_it_is_for_this_client_alone(self):
        caching = [
            ("Cache-Control", "public, max-age=600"),
            ("Expires", "Mon, 01 Jan 2035 00:00:00 GMT"),
            ("Pragma", "x"),
            ("Surrogate-Control", "max-age=9"),
            ("CDN-Cache-Control", "max-age=9"),
        ]
        self.app.answer(lambda request: reply(headers=caching))
        response = self.trigger()
        self.assertEqual(sorted(response.head.elements("Cache-Control")), ["no-store", "private"])
        for name, _ in caching[1:]:
            self.assertFalse(response.has(name), name)

    def test_validators_stay_where_the_body_does(self):
        fields = [
            ("Content-Type", "application/json"),
            ("ETag", '"v1"'),
            ("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT"),
            ("Accept-Ranges", "bytes"),
            ("Content-Digest", "sha-256=:x:"),
        ]
        self.app.answer(lambda request: reply(headers=fields, body=b"{}"))
        response = self.trigger()
        self.assert_profiled(response)
        for name, value in fields:
            self.assertEqual(response.get(name), value)

    def test_bodies_other_than_documents_are_unchanged(self):
        for kind, body in (
            ("application/json", b'{"html":"<html></html>"}'),
            ("text/plain", b"<html></html>"),
            ("text/event-stream", b"data: <html>\n\n"),
            ("application/xhtml+xml", b"<html/>"),
        ):
            self.app.answer(
                lambda request, k=kind, b=body: reply(headers=[("Content-Type", k)], body=b)
            )
            response = self.trigger(headers=[("Accept", "text/html")])
            self.assertEqual((response.body, response.framing), (body, "length"))

    def test_trailers_and_chunks_of_a_profiled_answer_stay(self):
        self.app.answer(
            lambda request: chunked(
                [b"a", b"b"], [("Trailer", "X-Sum")], end=b"0\r\nX-Sum: 1\r\n\r\n"
            )
        )
        response = self.trigger()
        self.assertEqual((response.body, response.trailers), (b"ab", [("X-Sum", "1")]))


class Reasons(ProfilingCase):
    """Why there is no profile, told to a client that asked."""

    def test_the_agents_answer_is_told(self):
        for state, reason in (
            ("busy", "agent-busy"),
            ("off", "agent-off"),
            ("error", "agent-error"),
            ("bad-sig", "bad-signature"),
            ("expired", "clock"),
            ("", "no-agent"),
        ):
            self.app.ack_state = state
            self.assert_skipped(self.trigger(), reason)

    def test_an_acknowledgement_of_another_request_does_not_count(self):
        self.app.ack_id = "0lx1c2d3abcdefghijkl"
        self.assert_skipped(self.trigger(), "no-agent")

    def test_two_acknowledgements_do_not_count(self):
        self.app.answer(
            lambda request: reply(
                headers=[("Flamegate-Ack", "v=1;id=0lx1c2d3abcdefghijkl;st=started")]
            )
        )
        response = self.trigger()
        self.assertFalse(response.has("Profile-Id") and response.has("Profile-Skipped"))

    def test_an_upload_without_an_acknowledgement_is_kept_all_the_same(self):
        self.app.ack_state = ""
        self.assert_skipped(self.trigger(), "no-agent")
        profile_id = self.app.tickets[0].id
        self.assertEqual(self.app.upload(profile_id).status, 201)
        self.assertEqual(self.metadata(profile_id)["state"], "stored")

    def test_no_connection_is_told_as_upstream(self):
        clusters = self.proxy.config["clusters"]
        self.proxy.reload({"clusters": [{**clusters[0], "endpoints": ["127.0.0.1:1"]}]})
        try:
            response = self.trigger()
            self.assertIn(response.status, (502, 503))
            self.assert_skipped(response, "upstream")
        finally:
            self.proxy.reload({"clusters": clusters})

    def test_a_failure_after_the_head_was_forwarded_carries_the_id(self):
        def break_off(request):
            request.connection.close()

        self.app.answer(break_off)
        response = self.trigger(method="POST", body=b"x")
        self.assertEqual(response.status, 502)
        self.assert_profiled(response)

    def test_caching_is_forbidden_with_a_reason_too(self):
        self.app.ack_state = "off"
        self.app.answer(lambda request: html(headers=[("Cache-Control", "public")]))
        self.assertEqual(
            sorted(self.trigger().head.elements("Cache-Control")), ["no-store", "private"]
        )


class Limits(ProfilingCase):
    CONFIG = {"profiling": {"limits": {"concurrent": 2, "per_minute": 4, "per_route": 2}}}

    def test_no_more_than_the_limits_at_once_and_in_a_minute(self):
        clients = []

        def hold(request):
            if request.target == "/hold":
                request.connection.wait_for_close(5)
                request.connection.close()
                return None
            return reply()

        self.app.answer(hold)
        for _ in range(2):
            clients.append(self.connect())
            clients[-1].request("GET", "/hold?pp=async-flamegraph", host="localhost")
        self.app.wait_for_requests(2)
        response = self.trigger("/free")
        self.assertEqual(response.status, 200)
        self.assert_skipped(response, "busy")
        for client in clients:
            client.close()
        profiled = 0
        for _ in range(6):
            response = self.trigger("/free")
            profiled += response.has("Profile-Id")
            if not response.has("Profile-Id"):
                self.assertIn(response.get("Profile-Skipped"), ("rate", "busy"))
        self.assertLessEqual(profiled, 2)


class LimitsOfARoute(ProfilingCase):
    CONFIG = {"profiling": {"limits": {"concurrent": 8, "per_minute": 1000, "per_route": 2}}}

    def test_paths_that_differ_in_ids_are_one_route(self):
        def hold(request):
            if request.target.startswith("/users/"):
                request.connection.wait_for_close(5)
                request.connection.close()
                return None
            return reply()

        self.app.answer(hold)
        for user in (1, 2):
            target = f"/users/{user}?pp=async-flamegraph"
            self.connect().request("GET", target, host="localhost")
        self.app.wait_for_requests(2)
        with self.connect() as client:
            client.request("GET", "/users/3?pp=async-flamegraph", host="localhost")
            self.app.wait_for_requests(3)
            self.assertFalse(self.app.requests[-1].has("Flamegate-Profile"))
        self.assert_profiled(self.trigger("/items/3"))


class LimitedDialects(ProfilingCase):
    CONFIG = {
        "profiling": {"headers": {"native": False, "miniprofiler": True, "server_timing": False}}
    }

    def test_families_of_fields_can_be_switched_off(self):
        response = self.trigger()
        self.assertTrue(response.has("X-MiniProfiler-Ids"))
        for name in ("Profile-Id", "Profile-Link", "Server-Timing"):
            self.assertFalse(response.has(name), name)


class Lifecycle(ProfilingCase):
    """From the trigger to the stored profile."""

    def test_a_profile_is_stored_listed_and_downloaded(self):
        profile_id = self.assert_profiled(self.trigger("/shop/42?x=secret"))
        data = self.metadata(profile_id)
        self.assertEqual(
            (
                data["state"],
                data["trigger"],
                data["method"],
                data["path"],
                data["status"],
                data["service"],
            ),
            ("stored", "query", "GET", "/shop/42", 200, "shop"),
        )
        self.assertEqual(data["site"], "localhost")
        self.assertNotIn("secret", str(data))
        self.assertEqual((data["samples"], data["agent"]), (10, "stub/1.0"))
        listed = self.api("profiles?limit=500")[1]["profiles"]
        self.assertIn(profile_id, [profile["id"] for profile in listed])
        for name, begin in (
            ("pprof", b"\x1f\x8b"),
            ("collapsed", b"main;handle;"),
            ("speedscope", b"{"),
            ("json", b"{"),
        ):
            download = self.fetch(
                target=f"/__flamegate/api/v1/profiles/{profile_id}/download?format={name}"
            )
            self.assertEqual((download.status, download.body[: len(begin)]), (200, begin), name)
            self.assertIn("attachment", download.get("Content-Disposition"))
            self.assertEqual(download.get("X-Content-Type-Options"), "nosniff")

    def test_a_profile_that_never_comes_is_not_waiting_for_ever(self):
        self.app.stacks = None
        profile_id = self.assert_profiled(self.trigger())
        self.assertIn(self.metadata(profile_id, "0s")["state"], ("running", "waiting"))

    def test_an_upload_with_a_wrong_signature_is_refused(self):
        self.app.stacks = None
        profile_id = self.assert_profiled(self.trigger())
        response = self.fetch_agents(
            "POST",
            f"/agent/v1/profiles/{profile_id}/1-1",
            [
                ("Content-Type", "application/x-pprof"),
                ("Flamegate-Auth", "kid=00000000;ts=1;nonce=x;sig=x"),
            ],
        )
        self.assertEqual(response.status, 401)

    def test_browsers_have_no_business_on_the_agents_listener(self):
        for field in (("Origin", "http://x"), ("Sec-Fetch-Site", "cross-site")):
            self.assertEqual(self.fetch_agents("GET", "/healthz", [field]).status, 403)
        self.assertEqual(self.fetch_agents("GET", "/healthz").status, 200)

    def fetch_agents(self, method, target, headers=()):
        return fetch(
            self.proxy.agents_port, method, target, headers, b"x" if method == "POST" else b""
        )
