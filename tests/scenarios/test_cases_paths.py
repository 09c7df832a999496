"""Faults that other proxies had, as public reports describe them: what a path means (area A)."""

import json
import unittest

from rig import Proxy, ProxyCase, Upstream, echo, reply


class A10EncodedPaths(ProxyCase):
    """Another resource than the one asked for, or a rule that a spelling dodges."""

    @classmethod
    def setUpClass(cls):
        cls.admin = Upstream(lambda request: reply(200, body=b"admin " + request.target.encode()))
        cls.addClassCleanup(cls.admin.close)
        super().setUpClass()

    @classmethod
    def make_app(cls):
        cls.CONFIG = {
            "routes": [
                {"match": {"prefix": "/admin"}, "cluster": "admin"},
                {
                    "match": {"prefix": "/api/"},
                    "rewrite": {"prefix": "/v1/"},
                    "cluster": "app",
                },
                {"match": {"prefix": "/"}, "cluster": "app"},
            ],
        }
        app = super().make_app()
        cls.CONFIG["clusters"] = [
            {"name": "app", "endpoints": [app.address]},
            {"name": "admin", "endpoints": [cls.admin.address]},
        ]
        return app

    def body_of(self, target):
        response = self.proxy.fetch(target=target)
        self.assertEqual(response.status, 200, target)
        return response.body.decode()

    def test_the_application_gets_the_bytes_that_were_sent(self):
        for target in (
            "/a%2Fb",
            "/a%2fb",
            "//a//b/",
            "/a/./b/../c",
            "/a/%2e%2e/c",
            "/%7Euser",
            "/caf%C3%A9",
            "/caf%c3%a9?x=%zz",
            "/a;v=1/b",
            "/a\\b",
            "/ADMIN",
            "/x?/../admin",
        ):
            with self.subTest(target=target):
                self.assertEqual(self.body_of(target), target)

    def test_no_spelling_dodges_a_route(self):
        for target in (
            "/admin",
            "//admin",
            "/x/../admin",
            "/./admin/y",
            "/%61dmin",
            "/%61%64%6D%69%6e",
            "/x/%2e%2E/admin",
            "/x/.%2e/admin",
            "///x//..//admin?q",
            "/../admin",
        ):
            with self.subTest(target=target):
                self.assertEqual(self.body_of(target), "admin " + target)

    def test_an_encoded_slash_separates_nothing(self):
        for target in ("/x%2f..%2fadmin", "/%2Fadmin", "/x%2F../y"):
            with self.subTest(target=target):
                self.assertEqual(self.body_of(target), target)

    def test_a_rewrite_works_on_what_matched(self):
        for target, forwarded in (
            ("/api/x?a=//", "/v1/x?a=//"),
            ("//api/x", "/v1/x"),
            ("/y/../api/x%2Fz", "/v1/x%2Fz"),
            ("/%61pi/", "/v1/"),
        ):
            with self.subTest(target=target):
                self.assertEqual(self.body_of(target), forwarded)

    def test_malformed_escapes_and_controls_are_refused(self):
        for target in ("/a%00b", "/a%zz", "/a%", "/a%4", "/a\x01b", "/a\x7fb"):
            with self.subTest(target=target):
                self.assertEqual(self.proxy.fetch(target=target).status, 400)
        self.assertEqual(self.app.requests, [])

    def test_the_asterisk_is_for_options_alone(self):
        self.assertEqual(self.proxy.fetch("OPTIONS", "*").body, b"*")
        self.assertEqual(self.proxy.fetch("GET", "*").status, 400)


class A10OwnPrefix(unittest.TestCase):
    """The own pages are found by the same form of a path as everything else."""

    def test_no_spelling_of_the_prefix_reaches_the_application(self):
        app = Upstream(echo)
        self.addCleanup(app.close)
        with Proxy(app) as proxy:
            proxy.wait_for_control()
            app.reset_log()
            for target in (
                "/__flamegate/api/v1/status",
                "//__flamegate/api/v1/status",
                "/x/../__flamegate/api/v1/status",
                "/%5f%5Fflamegate/api/v1/status",
            ):
                with self.subTest(target=target):
                    response = proxy.fetch(target=target, host="localhost")
                    self.assertEqual(response.status, 200)
                    self.assertIn("store", json.loads(response.body))
            for target in ("/__flamegate/../../etc/passwd", "/__flamegate/assets/..%2f..%2fx"):
                with self.subTest(target=target):
                    self.assertIn(
                        proxy.fetch(target=target, host="localhost").status, (200, 400, 404)
                    )
            self.assertLessEqual(len(app.requests), 1)  # the first leaves the prefix


if __name__ == "__main__":
    unittest.main()
