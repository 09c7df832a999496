"""Clusters of several endpoints: balancing, health, ejection, limits, reloads (case A20)."""

import tempfile
import threading
import unittest
from collections import Counter
from pathlib import Path

from rig import Client, Proxy, Upstream, echo, fetch, reply, wait_until


def named(name):
    return lambda request: reply(body=name)


class Case(unittest.TestCase):
    def applications(self, count):
        apps = [Upstream(named(b"%d" % i)) for i in range(count)]
        for app in apps:
            self.addCleanup(app.close)
        return apps

    def start(self, apps, workers=1, routes=None, **cluster):
        config = {
            "workers": workers,
            "clusters": [{"name": "app", "endpoints": [app.address for app in apps], **cluster}],
        }
        if routes is not None:
            config["routes"] = routes
        proxy = Proxy(config=config)
        proxy.start()
        self.addCleanup(proxy.stop)
        return proxy

    @staticmethod
    def spread(proxy, count, **request):
        return Counter(int(proxy.fetch(**request).body) for _ in range(count))

    @staticmethod
    def states(proxy):
        return [endpoint["state"] for endpoint in proxy.clusters()["app"]["endpoints"]]


class Balancing(Case):
    def test_round_robin_takes_turns_by_weight(self):
        apps = self.applications(2)
        proxy = self.start([], balance="round_robin",
                           endpoints=[{"address": apps[0].address, "weight": 3}, apps[1].address])
        self.assertEqual(self.spread(proxy, 40), {0: 30, 1: 10})
        self.assertEqual([e["weight"] for e in proxy.clusters()["app"]["endpoints"]], [3, 1])

    def test_random_uses_all(self):
        proxy = self.start(self.applications(2), balance="random")
        self.assertEqual(len(self.spread(proxy, 60)), 2)

    def test_a_header_keeps_its_endpoint(self):
        proxy = self.start(self.applications(3), balance={"hash": {"header": "X-User"}}, workers=2)
        homes = {}
        for user in map(str, range(30)):
            spread = self.spread(proxy, 3, headers=[("X-User", user)])
            self.assertEqual(len(spread), 1, user)
            homes[user] = next(iter(spread))
        self.assertEqual(set(homes.values()), {0, 1, 2})

    def test_a_cookie_keeps_its_endpoint(self):
        proxy = self.start(self.applications(3), balance={"hash": {"cookie": "sid"}})
        for user in range(10):
            cookie = [("Cookie", f"a=1; sid={user}; b=2")]
            self.assertEqual(len(self.spread(proxy, 3, headers=cookie)), 1)

    def test_a_client_keeps_its_endpoint(self):
        proxy = self.start(self.applications(3), balance={"hash": "source"})
        self.assertEqual(len(self.spread(proxy, 10)), 1)

    def test_the_least_busy_is_next(self):
        apps = self.applications(2)
        proxy = self.start(apps)
        release = threading.Event()
        self.addCleanup(release.set)
        held = self.spread(proxy, 1)

        def hold(request):
            if request.target == "/hold":
                release.wait(20)
            return reply(body=b"held")

        for app in apps:
            app.respond = hold
        with Client(proxy.port) as client:
            client.send(b"GET /hold HTTP/1.1\r\nHost: a\r\n\r\n")
            wait_until(lambda: "/hold" in apps[0].targets() + apps[1].targets(), "it is held")
            busy = 0 if "/hold" in apps[0].targets() else 1
            for app, name in zip(apps, (b"0", b"1")):
                app.respond = named(name)
            self.assertEqual(self.spread(proxy, 6), {1 - busy: 6})
            release.set()
            self.assertEqual(client.response().status, 200)
        self.assertEqual(sum(held.values()), 1)


class Endpoints(Case):
    def test_a_unix_socket_can_be_an_endpoint(self):
        with tempfile.TemporaryDirectory() as directory:
            app = Upstream(echo, path=Path(directory) / "app.sock")
            self.addCleanup(app.close)
            proxy = self.start([app], health={"path": "/healthz", "interval": "100ms"})
            self.assertEqual(proxy.fetch(target="/x").body, b"/x")
            wait_until(lambda: "/healthz" in app.targets(), "a health check")

    def test_a_route_may_hold_its_cluster(self):
        app = self.applications(1)[0]
        proxy = Proxy(config={"routes": [{"cluster": {"endpoints": [app.address]}}]})
        proxy.start()
        self.addCleanup(proxy.stop)
        self.assertEqual(proxy.fetch().body, b"0")


class Health(Case):
    CHECKS = {"path": "/healthz", "interval": "100ms", "timeout": "300ms", "healthy": 2, "unhealthy": 3}

    def answers(self, app, name):
        """Lets the application's health path answer what the returned list holds, the last for ever."""
        statuses = [200]

        def respond(request):
            if request.target != "/healthz":
                return reply(body=name)
            status = statuses.pop(0) if len(statuses) > 1 else statuses[0]
            if status is None:
                request.connection.closed.wait(20)
                return None
            return reply(status)

        app.respond = respond
        return statuses

    def test_an_endpoint_goes_and_comes_back_by_its_health_path(self):
        apps = self.applications(2)
        statuses = self.answers(apps[0], b"0")
        self.answers(apps[1], b"1")
        proxy = self.start(apps, health=self.CHECKS, balance="round_robin")
        self.assertEqual(self.spread(proxy, 4), {0: 2, 1: 2})
        for failure in (503, 429, None):
            statuses[:] = [failure]
            wait_until(lambda: self.states(proxy) == ["unhealthy", "healthy"], f"{failure} is seen")
            self.assertEqual(self.spread(proxy, 4), {1: 4})
            statuses[:] = [200]
            wait_until(lambda: self.states(proxy) == ["healthy", "healthy"], "it is back")
            self.assertEqual(self.spread(proxy, 4), {0: 2, 1: 2})

    def test_alternating_results_never_count_as_a_run(self):
        apps = self.applications(1)
        statuses = self.answers(apps[0], b"0")
        proxy = self.start(apps, health=self.CHECKS)
        statuses[:] = [503, 503, 200] * 5 + [200]
        wait_until(lambda: len(statuses) == 1, "all were asked for")
        self.assertEqual(self.states(proxy), ["healthy"])
        self.assertNotIn("unhealthy", proxy.log())
        statuses[:] = [503, 503, 503] + [200, 503] * 5 + [503]
        wait_until(lambda: len(statuses) == 1, "all were asked for")
        self.assertEqual(self.states(proxy), ["unhealthy"])
        self.assertNotIn("healthy again", proxy.log())

    def test_without_a_healthy_endpoint_the_answer_is_a_quick_503(self):
        app = self.applications(1)[0]
        app.close()
        proxy = self.start([app], health=self.CHECKS)
        wait_until(lambda: self.states(proxy) == ["unhealthy"], "it is seen")
        response = proxy.fetch(target="/down")
        self.assertEqual((response.status, response.get("Retry-After")), (503, "1"))
        self.assertEqual(proxy.access_log(1, "/down")[0]["reason"], "no-healthy-endpoint")
        usable = f'flamegate_endpoint_usable{{cluster="app",endpoint="{app.address}"}}'
        self.assertEqual(proxy.metric(usable), 0)

    def test_probes_are_neither_counted_nor_logged(self):
        app = self.applications(1)[0]
        self.answers(app, b"0")
        proxy = self.start([app], health=self.CHECKS)
        wait_until(lambda: len(app.requests) >= 3, "probes")
        self.assertEqual(proxy.metric("flamegate_requests_total"), 0)
        self.assertEqual(proxy.metric('flamegate_cluster_requests_total{cluster="app"}'), 0)
        self.assertFalse(any("Flamegate" in name for name, _ in app.requests[0].head.fields))

    def test_state_survives_a_reload_that_leaves_the_cluster_as_it_is(self):
        apps = self.applications(2)
        self.answers(apps[0], b"0")[:] = [503]
        self.answers(apps[1], b"1")
        proxy = self.start(apps, health=self.CHECKS)
        wait_until(lambda: self.states(proxy) == ["unhealthy", "healthy"], "it is seen")
        proxy.reload({"limits": {"headers": 50}})
        self.assertEqual(self.states(proxy), ["unhealthy", "healthy"])
        self.assertEqual(self.spread(proxy, 6), {1: 6})

    def test_state_of_endpoints_survives_other_settings_of_the_cluster(self):
        apps = self.applications(2)
        self.answers(apps[0], b"0")[:] = [503]
        self.answers(apps[1], b"1")
        proxy = self.start(apps, health=self.CHECKS)
        wait_until(lambda: self.states(proxy) == ["unhealthy", "healthy"], "it is seen")
        cluster = {**proxy.config["clusters"][0], "slow_start": "1s"}
        proxy.reload({"clusters": [cluster]})
        self.assertEqual(self.states(proxy), ["unhealthy", "healthy"])
        del cluster["health"]
        proxy.reload({"clusters": [cluster]})
        self.assertEqual(self.states(proxy), ["healthy", "healthy"])


class Ejection(Case):
    def test_an_endpoint_that_fails_in_a_row_is_left_out_for_a_while(self):
        apps = self.applications(2)
        apps[0].respond = lambda request: reply(503)
        proxy = self.start(
            apps,
            balance="round_robin",
            outlier={"consecutive": 3, "eject": "500ms"},
            routes=[{"cluster": "app", "retry": {"attempts": 0}}],
        )
        statuses = [proxy.fetch().status for _ in range(8)]
        self.assertEqual(statuses.count(503), 3)
        self.assertEqual(self.states(proxy), ["ejected", "healthy"])
        apps[0].respond = named(b"0")
        wait_until(lambda: self.states(proxy) == ["healthy", "healthy"], "it is back")
        self.assertEqual(self.spread(proxy, 4), {0: 2, 1: 2})
        self.assertEqual(proxy.clusters()["app"]["endpoints"][0]["ejections"], 1)

    def test_the_last_one_stays(self):
        apps = self.applications(1)
        apps[0].respond = lambda request: reply(503)
        proxy = self.start(apps, outlier={"consecutive": 1, "eject": "1h"})
        self.assertEqual([proxy.fetch().status for _ in range(5)], [503] * 5)
        self.assertEqual(self.states(proxy), ["healthy"])
        self.assertEqual(len(apps[0].requests), 5)

    def test_a_vanished_endpoint_costs_no_request_and_is_ejected(self):
        apps = self.applications(2)
        apps[0].close()
        proxy = self.start(apps, balance="round_robin", outlier={"consecutive": 2, "eject": "1h"})
        self.assertEqual(self.spread(proxy, 10), {1: 10})
        self.assertEqual(self.states(proxy), ["ejected", "healthy"])


class Retries(Case):
    """Without ejection, so that the dead endpoint is tried again and again."""

    def test_a_dead_endpoint_costs_no_request_however_many_there_are(self):
        """Kept connections break, new ones are refused: more at once than the retry budget."""
        alive, dying = self.applications(2)
        proxy = self.start([alive, dying])
        self.spread(proxy, 20)
        dying.close()
        statuses = []

        def fetch_some():
            with proxy.connect() as client:
                statuses.extend(client.fetch().status for _ in range(50))

        threads = [threading.Thread(target=fetch_some) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(Counter(statuses), {200: 16 * 50})


class Limits(Case):
    def hold(self, app):
        release = threading.Event()
        self.addCleanup(release.set)

        def respond(request):
            if request.target == "/hold":
                release.wait(20)
            return reply()

        app.respond = respond
        return release

    def hold_requests(self, proxy, app, count):
        clients = [Client(proxy.port) for _ in range(count)]
        for client in clients:
            self.addCleanup(client.close)
            client.send(b"GET /hold HTTP/1.1\r\nHost: a\r\n\r\n")
        return clients

    def assert_overflow(self, proxy, path):
        response = proxy.fetch(target=path)
        self.assertEqual((response.status, response.get("Retry-After")), (503, "1"))
        self.assertEqual(proxy.access_log(1, path)[0]["reason"], "overflow")

    def test_requests_over_the_limit_are_refused_over_all_workers(self):
        app = self.applications(1)[0]
        release = self.hold(app)
        proxy = self.start([app], workers=2, limits={"requests": 5})
        clients = self.hold_requests(proxy, app, 5)
        app.wait_for_requests(5)
        for i in range(6):
            self.assert_overflow(proxy, f"/over-{i}")
        self.assertEqual(proxy.clusters()["app"]["overflows"], 6)
        release.set()
        for client in clients:
            self.assertEqual(client.response().status, 200)
        self.assertEqual(proxy.fetch().status, 200)

    def test_connections_over_the_limit_are_waited_for_by_few(self):
        app = self.applications(1)[0]
        release = self.hold(app)
        proxy = self.start([app], workers=2, limits={"connections": 2, "pending": 3})
        clients = self.hold_requests(proxy, app, 5)
        wait_until(lambda: proxy.clusters()["app"]["pending"] == 3, "three wait")
        app.wait_for_requests(2)
        self.assert_overflow(proxy, "/over")
        self.assertEqual(len(app.requests), 2)
        release.set()
        for client in clients:
            self.assertEqual(client.response().status, 200)
        self.assertEqual(proxy.clusters()["app"]["pending"], 0)
        self.assertLessEqual(proxy.clusters()["app"]["connections"], 2)

    def test_a_worker_gets_a_connection_that_another_keeps_idle(self):
        app = self.applications(1)[0]
        proxy = self.start([app], workers=4, limits={"connections": 1})
        for i in range(24):
            self.assertEqual(proxy.fetch(target=f"/{i}").status, 200)

    def test_retries_are_few_when_everything_fails(self):
        apps = self.applications(2)
        release = threading.Event()
        self.addCleanup(release.set)

        def respond(request):
            if request.has("X-Wait"):
                release.wait(20)
            return reply(503)

        for app in apps:
            app.respond = respond
        proxy = self.start(apps, limits={"retry_budget": "0%"})
        clients = [Client(proxy.port) for _ in range(12)]
        for client in clients:
            self.addCleanup(client.close)
            client.send(b"GET /hold HTTP/1.1\r\nHost: a\r\nX-Wait: 1\r\n\r\n")
        wait_until(lambda: sum(len(app.requests) for app in apps) == 12, "all wait")
        release.set()
        for client in clients:
            self.assertEqual(client.response().status, 503)
        self.assertEqual(
            proxy.clusters()["app"]["retries"] + proxy.clusters()["app"]["retries_refused"], 12
        )


class Reload(Case):
    def test_connections_to_an_unchanged_cluster_are_kept(self):
        app = self.applications(1)[0]
        proxy = self.start([app])
        proxy.fetch()
        for i in range(3):
            proxy.reload({"limits": {"headers": 50 + i}})
            self.assertEqual(proxy.fetch().status, 200)
        self.assertEqual(len(app.connections), 1)

    def test_an_endpoint_that_is_taken_out_ends_its_requests(self):
        apps = self.applications(2)
        proxy = self.start(apps[:1])

        def slowly(request):
            request.connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nol")
            proxy.reload({"clusters": [{"name": "app", "endpoints": [apps[1].address]}]})
            request.connection.send(b"d!")

        apps[0].respond = slowly
        with Client(proxy.port) as client:
            client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertEqual(client.response().body, b"old!")
            self.assertEqual(client.fetch().body, b"1")
        self.assertTrue(apps[0].connections[0].wait_for_close())


class Pages(Case):
    def test_operators_see_endpoints_by_page_and_metric(self):
        app = self.applications(1)[0]
        proxy = self.start([app])
        proxy.fetch()
        endpoint = proxy.clusters()["app"]["endpoints"][0]
        self.assertEqual(
            (endpoint["address"], endpoint["state"], endpoint["requests"], endpoint["failures"]),
            (app.address, "healthy", 1, 0),
        )
        labels = f'{{cluster="app",endpoint="{app.address}"}}'
        self.assertEqual(proxy.metric("flamegate_endpoint_requests_total" + labels), 1)
        self.assertEqual(proxy.metric("flamegate_endpoint_usable" + labels), 1)
        text = fetch(proxy.admin_port, target="/clusters").body.decode()
        self.assertIn(f"  {app.address} healthy weight=1 active=0 requests=1", text)
