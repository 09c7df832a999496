"""Endpoints given by name: the DNS says where they are, and is believed only while it makes sense
(case A20)."""

import unittest

from rig import (
    CUT_SHORT,
    GARBAGE,
    NXDOMAIN,
    SERVFAIL,
    SILENT,
    Client,
    NameServer,
    Proxy,
    Upstream,
    fetch,
    free_port,
    reply,
    wait_until,
)


def named(name):
    return lambda request: reply(body=name)


class Names(unittest.TestCase):
    def setUp(self):
        self.dns = NameServer()
        self.addCleanup(self.dns.close)
        self.port = free_port()

    def application(self, host, name):
        app = Upstream(named(name), host=host, port=self.port)
        self.addCleanup(app.close)
        return app

    def start(self, endpoints=("app.test",), **changes):
        cluster = {
            "name": "app",
            "endpoints": [f"{name}:{self.port}" for name in endpoints],
            "timeout": {"connect": "500ms"},
        }
        proxy = Proxy(
            config={
                "clusters": [{**cluster, **changes}],
                "dns": {"servers": [self.dns.address], "ttl_min": "100ms", "timeout": "100ms"},
            }
        )
        proxy.start()
        self.addCleanup(proxy.stop)
        return proxy

    def addresses(self, proxy):
        return proxy.clusters()["app"]["names"][0]["addresses"]

    def test_a_name_that_moves_is_followed_without_a_reload(self):
        old = self.application("127.0.0.2", b"old")
        self.application("127.0.0.3", b"new")
        self.dns.answers["app.test"] = ["127.0.0.2"]
        proxy = self.start()
        self.assertEqual(proxy.fetch().body, b"old")
        self.dns.answers["app.test"] = ["127.0.0.3"]
        old.close()
        wait_until(lambda: proxy.fetch().body == b"new", "the new address is used")
        self.assertEqual([e["address"] for e in proxy.clusters()["app"]["endpoints"]],
                         [f"127.0.0.3:{self.port}"])

    def test_requests_under_way_at_an_old_address_end_there(self):
        old = self.application("127.0.0.2", b"old")
        self.application("127.0.0.3", b"new")
        self.dns.answers["app.test"] = ["127.0.0.2"]
        proxy = self.start()

        def slowly(request):
            request.connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nold")
            wait_until(lambda: self.addresses(proxy) == ["127.0.0.3"], "the name has moved")
            request.connection.send(b"old")

        old.respond = slowly
        with Client(proxy.port) as client:
            client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            old.wait_for_requests(1)
            self.dns.answers["app.test"] = ["127.0.0.3"]
            self.assertEqual(client.response().body, b"oldold")
        self.assertEqual(proxy.fetch().body, b"new")
        self.assertTrue(old.connections[0].wait_for_close(), "nothing is kept at the old address")

    def test_failures_keep_the_last_good_addresses(self):
        self.application("127.0.0.2", b"app")
        self.dns.answers["app.test"] = ["127.0.0.2"]
        proxy = self.start()
        for failure in (NXDOMAIN, SERVFAIL, GARBAGE, CUT_SHORT, SILENT, []):
            with self.subTest(failure=failure):
                self.dns.answers["app.test"] = failure
                wait_until(
                    lambda: proxy.clusters()["app"]["names"][0].get("failure"), "a failure is seen"
                )
                self.assertEqual(self.addresses(proxy), ["127.0.0.2"])
                self.assertEqual(proxy.fetch().body, b"app")
                self.dns.answers["app.test"] = ["127.0.0.2"]
                wait_until(
                    lambda: not proxy.clusters()["app"]["names"][0].get("failure"),
                    "it works again",
                )

    def test_a_name_that_cannot_be_resolved_at_the_start_is_found_later(self):
        self.application("127.0.0.2", b"app")
        self.dns.answers["app.test"] = SERVFAIL
        proxy = self.start()
        response = proxy.fetch(target="/early")
        self.assertEqual((response.status, response.get("Retry-After")), (503, "1"))
        self.assertEqual(proxy.access_log(1, "/early")[0]["reason"], "no-endpoint")
        self.dns.answers["app.test"] = ["127.0.0.2"]
        wait_until(lambda: proxy.fetch().status == 200, "the name is resolved")

    def test_one_bad_name_does_not_stop_the_others(self):
        self.application("127.0.0.2", b"app")
        self.dns.answers["good.test"] = ["127.0.0.2"]
        proxy = self.start(["bad.test", "good.test"])
        self.assertEqual(proxy.fetch().body, b"app")

    def test_all_addresses_of_a_name_are_used(self):
        self.application("127.0.0.2", b"a")
        self.application("127.0.0.3", b"b")
        self.dns.answers["app.test"] = ["127.0.0.2", "127.0.0.3"]
        proxy = self.start(balance="round_robin")
        self.assertEqual({proxy.fetch().body for _ in range(4)}, {b"a", b"b"})

    def test_addresses_of_both_families_are_used(self):
        self.application("127.0.0.2", b"four")
        six = Upstream(named(b"six"), host="::1", port=self.port)
        self.addCleanup(six.close)
        self.dns.answers["app.test"] = ["127.0.0.2", "::1"]
        proxy = self.start(balance="round_robin")
        self.assertEqual({proxy.fetch().body for _ in range(4)}, {b"four", b"six"})

    def test_an_answer_that_is_too_long_for_udp_is_asked_for_by_tcp(self):
        self.application("127.0.0.2", b"app")
        self.dns.answers["app.test"] = [f"127.0.0.{i}" for i in range(2, 90)]
        proxy = self.start()
        self.assertEqual(len(self.addresses(proxy)), 88)
        self.assertIn("tcp", {transport for _, _, transport in self.dns.questions})

    def test_a_reload_asks_for_new_names_before_it_takes_effect(self):
        self.application("127.0.0.2", b"old")
        self.application("127.0.0.3", b"new")
        self.dns.answers.update({"app.test": ["127.0.0.2"], "new.test": ["127.0.0.3"]})
        proxy = self.start()
        self.assertEqual(proxy.fetch().body, b"old")
        proxy.reload({"clusters": [{"name": "app", "endpoints": [f"new.test:{self.port}"]}]})
        self.assertEqual(proxy.fetch().body, b"new")

    def test_a_reload_while_the_dns_is_dead_keeps_what_is_known(self):
        self.application("127.0.0.2", b"app")
        self.dns.answers["app.test"] = ["127.0.0.2"]
        proxy = self.start()
        self.dns.answers["app.test"] = SERVFAIL
        proxy.reload(
            {
                "clusters": [
                    {
                        "name": "app",
                        "endpoints": [f"app.test:{self.port}"],
                        "timeout": {"connect": "700ms"},
                    }
                ]
            }
        )
        self.assertEqual(proxy.fetch().body, b"app")

    def test_operators_see_names_and_when_they_are_asked_again(self):
        self.dns.answers["app.test"] = ["127.0.0.2"]
        self.dns.ttl = 60
        proxy = self.start()
        name = proxy.clusters()["app"]["names"][0]
        self.assertEqual((name["name"], name["addresses"]), ("app.test", ["127.0.0.2"]))
        self.assertLessEqual(name["asked_again_in_ms"], 60_000)
        text = fetch(proxy.admin_port, target="/clusters").body.decode()
        self.assertIn("app.test: 1 addresses, asked again in ", text)
