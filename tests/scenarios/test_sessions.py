"""Sticky profiling by a session cookie."""

from rig import ProfilingCase


class Sessions(ProfilingCase):
    def open(self, minutes=15):
        response = self.fetch(
            "POST",
            "/__flamegate/api/v1/session",
            [("Content-Type", "application/json")],
            b'{"minutes":%d}' % minutes,
        )
        self.assertEqual(response.status, 201, response.body)
        return response

    def cookie(self):
        return self.open().get("Set-Cookie").split(";")[0]

    def test_the_cookie_is_short_and_well_guarded(self):
        cookie = self.open(5).get("Set-Cookie")
        self.assertLessEqual(len(cookie.split(";")[0]), 128)
        attributes = {part.strip().lower() for part in cookie.split(";")[1:]}
        self.assertLessEqual({"path=/", "httponly", "samesite=lax", "max-age=300"}, attributes)
        self.assertNotIn("secure", attributes)
        self.assertTrue(cookie.startswith("flamegate="))

    def test_its_requests_are_profiled_and_the_application_does_not_see_it(self):
        pair = self.cookie()
        for cookie, forwarded in (
            (pair, None),
            (f"a=1; {pair}; b=2", "a=1; b=2"),
            (f"{pair}; a=1", "a=1"),
        ):
            self.app.reset_log()
            self.assert_profiled(self.fetch(headers=[("Cookie", cookie)]))
            self.assertEqual(self.app.requests[0].get("Cookie"), forwarded)
        self.assertEqual(self.metadata(self.app.ticket_ids()[-1])["trigger"], "session")

    def test_assets_pass_untouched_but_without_the_cookie(self):
        response = self.fetch(
            headers=[("Cookie", f"a=1; {self.cookie()}"), ("Sec-Fetch-Dest", "image")]
        )
        self.assert_untouched(response)
        self.assertEqual(self.app.requests[0].get("Cookie"), "a=1")

    def test_a_forged_cookie_is_the_applications(self):
        pair = self.cookie()
        forged = pair[:-2] + ("AA" if not pair.endswith("AA") else "BB")
        response = self.fetch(headers=[("Cookie", forged)])
        self.assert_untouched(response)
        self.assertEqual(self.app.requests[0].get("Cookie"), forged)

    def test_it_ends_on_the_server_too(self):
        pair = self.cookie()
        self.assert_profiled(self.fetch(headers=[("Cookie", pair)]))
        self.assertEqual(
            self.fetch("DELETE", "/__flamegate/api/v1/session", [("Cookie", pair)]).status, 204
        )
        self.assertFalse(self.fetch(headers=[("Cookie", pair)]).has("Profile-Id"))

    def test_minutes_are_checked(self):
        for body in (
            b'{"minutes":0}',
            b'{"minutes":16}',
            b'{"minutes":"x"}',
            b"{}",
            b"[]",
            b"nonsense",
        ):
            response = self.fetch(
                "POST", "/__flamegate/api/v1/session", [("Content-Type", "application/json")], body
            )
            self.assertEqual(response.status, 400, body)


class Budget(ProfilingCase):
    CONFIG = {"workers": 2, "profiling": {"session": {"requests": 5}}}

    def test_the_budget_counts_profiled_requests_exactly(self):
        response = self.fetch(
            "POST",
            "/__flamegate/api/v1/session",
            [("Content-Type", "application/json")],
            b'{"minutes":1}',
        )
        pair = response.get("Set-Cookie").split(";")[0]
        responses = [self.fetch(headers=[("Cookie", pair)]) for _ in range(8)]
        self.assertEqual([r.has("Profile-Id") for r in responses], [True] * 5 + [False] * 3)
        self.assert_skipped(responses[-1], "budget")
