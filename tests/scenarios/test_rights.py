"""Who may do what: access rules, tokens, and how little a client without rights learns."""

import subprocess

from rig import ProfilingCase, TokenMint, binary


class TokenCase(ProfilingCase):
    """Only a token gives rights. The control's own readiness is asked for with one."""

    CONFIG = {"profiling": {"access": [{"token": True, "allow": ["token"]}]}}

    @classmethod
    def wait_for_control(cls):
        cls.mint = TokenMint(cls.proxy.directory / "flamegate-session.key")
        cls.proxy.wait_for_control(headers=[("Flamegate-Token", cls.mint.make())])

    def assert_nothing_leaks(self, token):
        """The token reached neither the application nor a log."""
        self.assertNotIn(token.encode(), self.app.received())
        self.assertNotIn(token, self.proxy.log())
        if self.proxy.access_log_path.exists():
            self.assertNotIn(token.encode(), self.proxy.access_log_path.read_bytes())


class Tokens(TokenCase):
    def carriers(self, token):
        return [
            ("/?pp=async-flamegraph", [("Authorization", f"Bearer {token}")]),
            ("/?pp=async-flamegraph", [("Flamegate-Token", token)]),
            (f"/?fgtoken={token}&pp=async-flamegraph", []),
        ]

    def test_every_carrier_works_and_leaves_no_trace(self):
        token = self.mint.make()
        for target, headers in self.carriers(token):
            self.app.reset_log()
            response = self.fetch("POST", target, headers)
            self.assert_profiled(response)
            self.assertEqual(self.app.targets(), ["/"])
            self.assertFalse(self.app.requests[0].has("Authorization"))
        self.assert_nothing_leaks(token)

    def test_a_token_that_ran_out_gives_nothing_and_leaves_no_trace(self):
        token = self.mint.make(age=1000, ttl=500)
        for target, headers in self.carriers(token):
            self.app.reset_log()
            self.assertFalse(self.fetch("POST", target, headers).has("Profile-Id"))
        self.assert_nothing_leaks(token)

    def test_wrong_tokens_pass_like_any_credential(self):
        good = self.mint.make()
        last = "A" if good[-2] != "A" else "B"
        for token in (
            good[:-2] + last + good[-1],
            "fg1.x.y",
            good.replace("fg1.", "fg2."),
            good[:-1],
            "fg1." + good,
        ):
            self.app.reset_log()
            response = self.fetch(
                target="/?pp=async-flamegraph", headers=[("Authorization", f"Bearer {token}")]
            )
            self.assert_untouched(response)
            self.assertEqual(self.app.targets(), ["/?pp=async-flamegraph"])
            self.assertEqual(self.app.requests[0].get("Authorization"), f"Bearer {token}")

    def test_a_token_carries_its_own_rights_only(self):
        for allow, path, method, status in (
            (["view"], "profiles", "GET", 200),
            (["trigger"], "profiles", "GET", 403),
            (["manage"], "profiles", "GET", 403),
        ):
            headers = [("Flamegate-Token", self.mint.make(allow))]
            self.assertEqual(self.api(path, method, headers=headers)[0], status, allow)
        self.assertFalse(
            self.trigger(headers=[("Flamegate-Token", self.mint.make(["view"]))]).has("Profile-Id")
        )

    def test_a_token_for_another_host_gives_nothing(self):
        for host, works in (("localhost", True), ("other.test", False), ("localhost:8080", False)):
            headers = [("Flamegate-Token", self.mint.make(host=host))]
            self.assertEqual(self.trigger(headers=headers).has("Profile-Id"), works, host)

    def test_a_link_opens_a_session_and_leads_to_the_clean_address(self):
        token = self.mint.make()
        response = self.fetch(
            target=f"/page?a=1&fgtoken={token}&b=2",
            headers=[
                ("Sec-Fetch-Mode", "navigate"),
                ("Sec-Fetch-Dest", "document"),
                ("Sec-Fetch-Site", "none"),
                ("Accept", "text/html"),
            ],
        )
        self.assertEqual(response.status, 303)
        self.assertTrue(response.get("Location").endswith("/page?a=1&b=2"))
        self.assertEqual(self.app.targets(), [])
        cookie = response.get("Set-Cookie").split(";")[0]
        self.assert_profiled(self.fetch(target="/page", headers=[("Cookie", cookie)]))
        self.assert_nothing_leaks(token)

    def test_the_command_line_makes_tokens_that_work(self):
        def make(*arguments):
            command = [binary(), "token", "-c", str(self.proxy.config_path), *arguments]
            result = subprocess.run(
                command, capture_output=True, text=True, timeout=10, check=False
            )
            self.assertEqual(result.returncode, 0, result.stderr)
            return result.stdout.strip()

        token = make("--allow", "trigger,view", "--ttl", "1h", "--for", "me")
        self.assert_profiled(self.trigger(headers=[("Flamegate-Token", token)]))
        link = make("--allow", "trigger", "--ttl", "1h", "--link", "http://localhost/page")
        self.assertTrue(link.startswith("http://localhost/page?"), link)
        self.assertIn("fgtoken=fg1.", link)
        self.assertIn("pp=async-flamegraph", link)


class C03OneRuleForAllCarriers(TokenCase):
    """A secret is checked alike wherever it comes from."""

    def test_only_the_right_token_works_in_any_carrier(self):
        good = self.mint.make()
        for token in (
            "",
            "fg1",
            "fg1.",
            "fg1..",
            good[:-1],
            good + "x",
            good.upper(),
            good.replace(".", "%2E"),
            "x" * 50000,
        ):
            for headers in ([("Authorization", f"Bearer {token}")], [("Flamegate-Token", token)]):
                response = self.trigger(headers=headers)
                self.assertFalse(
                    response.has("Profile-Id") or response.has("Profile-Skipped"), token[:80]
                )

    def test_the_right_token_in_a_wrong_place_gives_nothing(self):
        good = self.mint.make()
        for headers in (
            [("Authorization", f"Basic {good}")],
            [("Authorization", good)],
            [("Cookie", f"flamegate={good}")],
            [("X-Token", good)],
            [("Referer", f"http://localhost/?fgtoken={good}")],
        ):
            self.assertFalse(self.trigger(headers=headers).has("Profile-Id"), headers)

    def test_answers_do_not_tell_how_near_a_guess_was(self):
        good = self.mint.make()
        answers = set()
        for token in ("fg1.a.b", good[:-4] + "AAAA", good[:20], self.mint.make(age=1000, ttl=10)):
            response = self.fetch(
                target="/__flamegate/api/v1/profiles", headers=[("Flamegate-Token", token)]
            )
            answers.add((response.status, tuple(sorted(name for name, _ in response.head.fields))))
        self.assertEqual(len(answers), 1)


class AddressRules(ProfilingCase):
    """The default rules: loopback may do everything."""

    def test_a_loopback_client_that_relays_for_others_has_no_rights(self):
        for name, value in (
            ("X-Forwarded-For", "1.2.3.4"),
            ("Forwarded", "for=1.2.3.4"),
            ("X-Real-IP", "1.2.3.4"),
            ("Via", "1.1 x"),
        ):
            self.app.reset_log()
            self.assertFalse(self.trigger(headers=[(name, value)]).has("Profile-Id"), name)
            self.assertEqual(self.app.targets(), ["/?pp=async-flamegraph"])

    def test_a_host_that_is_not_ours_gives_no_rights(self):
        for host, works in (
            ("localhost", True),
            ("localhost:81", True),
            ("app.localhost", True),
            ("127.0.0.1", True),
            ("[::1]", True),
            ("evil.test", False),
            ("localhost.evil.test", False),
        ):
            self.assertEqual(self.trigger(host=host).has("Profile-Id"), works, host)

    def test_a_request_from_another_site_gives_no_rights(self):
        for site, works in (
            ("none", True),
            ("same-origin", True),
            ("same-site", False),
            ("cross-site", False),
        ):
            self.assertEqual(
                self.trigger(headers=[("Sec-Fetch-Site", site)]).has("Profile-Id"), works, site
            )

    def test_changes_need_our_own_origin(self):
        for headers in (
            [("Origin", "http://evil.test")],
            [("Origin", "null")],
            [("Origin", "http://localhost:1")],
        ):
            self.assertEqual(self.api("session", "POST", {"minutes": 1}, headers)[0], 403, headers)
        body = b"minutes=1"
        form = self.fetch(
            "POST",
            "/__flamegate/api/v1/session",
            [("Content-Type", "application/x-www-form-urlencoded")],
            body,
        )
        self.assertEqual(form.status, 415)
        self.assertEqual(
            self.api("session", "POST", {"minutes": 1}, [("Origin", "http://localhost")])[0], 201
        )


class C05ReadingWithoutLeave(ProfilingCase):
    """Nobody reads what is not theirs to read."""

    CONFIG = {"profiling": {"access": [{"from": ["127.0.0.0/8"], "allow": ["trigger"]}]}}

    @classmethod
    def wait_for_control(cls):
        cls.proxy.wait_for_metric("flamegate_control_up", 1)

    def test_the_right_to_trigger_is_none_to_view(self):
        profile_id = self.assert_profiled(self.trigger())
        for path in (
            "",
            "profiles",
            f"p/{profile_id}",
            f"flamegraph?id={profile_id}",
            "api/v1/profiles",
            f"api/v1/profiles/{profile_id}",
            f"api/v1/profiles/{profile_id}/download?format=pprof",
            f"api/v1/profiles/{profile_id}/tree",
            "api/v1/routes",
            "api/v1/status",
            f"api/v1/profiles/{profile_id}x",
            "api/v1/profiles/..%2f..",
            "api/v1/profiles/%00",
        ):
            for method in ("GET", "HEAD"):
                response = self.fetch(method, f"/__flamegate/{path}")
                self.assertIn(response.status, (400, 403), f"{method} {path}")
                self.assertNotIn(b"render", response.body)
        for method in ("DELETE", "POST"):
            self.assertEqual(
                self.fetch(method, f"/__flamegate/api/v1/profiles/{profile_id}").status, 403
            )

    def test_good_and_unknown_ids_look_alike(self):
        profile_id = self.assert_profiled(self.trigger())
        answers = {
            (response.status, response.body)
            for response in (
                self.fetch(target=f"/__flamegate/api/v1/profiles/{name}")
                for name in (profile_id, "0" * 20)
            )
        }
        self.assertEqual(len(answers), 1)


class C01ManyIds(ProfilingCase):
    """The list of ids in the headers never grows."""

    def test_no_field_of_ours_grows_with_the_number_of_requests(self):
        sizes = set()
        with self.proxy.connect() as client:
            for i in range(150):
                response = client.fetch(target="/?pp=async-flamegraph", host="localhost")
                profile_id = response.get("Profile-Id")
                self.assertEqual(response.head.elements("X-MiniProfiler-Ids")[0], profile_id, i)
                ours = [
                    len(name) + len(value)
                    for name, value in response.head.fields
                    if name.lower() != "date"
                ]
                self.assertLess(max(ours), 1024)
                sizes.add(len(response.head.raw))
        self.assertLessEqual(max(sizes) - min(sizes), 10)


class OwnPages(ProfilingCase):
    def test_pages_of_our_own_are_locked_down(self):
        for path in ("", "profiles", "routes", "campaigns", "status"):
            response = self.fetch(target=f"/__flamegate/{path}", headers=[("Accept", "text/html")])
            self.assertEqual(response.status, 200, path)
            policy = response.get("Content-Security-Policy")
            self.assertIn("frame-ancestors 'none'", policy)
            self.assertNotIn("unsafe-inline", policy.split("script-src")[1].split(";")[0])
            self.assertEqual(response.get("X-Content-Type-Options"), "nosniff")
            self.assertEqual(response.get("Referrer-Policy"), "no-referrer")
        self.assertEqual(self.app.targets(), [])

    def test_errors_are_json_and_say_what_is_wrong(self):
        for path, status in (
            ("profiles/0000000000000000000x", 404),
            ("profiles?limit=0", 400),
            ("profiles?sort=x", 400),
            ("nothing", 404),
        ):
            got, data = self.api(path)
            self.assertEqual(got, status, path)
            self.assertEqual(set(data["error"]), {"code", "message"})

    def test_nothing_outside_the_tree_is_served(self):
        for path in (
            "../../etc/passwd",
            "%2e%2e/%2e%2e/etc/passwd",
            "..%2f..%2fetc/passwd",
            "assets/../../../etc/passwd",
        ):
            response = self.fetch(target=f"/__flamegate/{path}")
            self.assertNotIn(b"root:", response.body)
