"""Running the program: limits, timeouts, reload, drain, admin endpoints and the access log."""

import re
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

from rig import (
    Client,
    Proxy,
    ProxyCase,
    Upstream,
    binary,
    echo,
    fetch,
    free_port,
    reply,
    wait_until,
)


class Limits(ProxyCase):
    CONFIG = {"limits": {"header": "16KiB", "headers": 20}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.proxy.reload(
            {
                "routes": [
                    {"match": {"path": "/small"}, "cluster": "app", "max_body": "1KiB"},
                    {"match": {"path": "/post-only", "methods": ["POST"]}, "cluster": "app"},
                    {"match": {"prefix": "/"}, "cluster": "app"},
                ]
            }
        )

    def test_fields_that_are_too_long_are_431(self):
        self.assert_refused(
            b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 17000 + b"\r\n\r\n", {431}, "17 KB"
        )
        self.assertEqual(self.fetch(headers=[("X", "x" * 12000)]).status, 200)

    def test_too_many_fields_are_431(self):
        lines = b"".join(b"X-%d: y\r\n" % i for i in range(25))
        self.assert_refused(b"GET / HTTP/1.1\r\nHost: a\r\n" + lines + b"\r\n", {431}, "25 fields")
        self.assertEqual(self.fetch(headers=[(f"X-{i}", "y") for i in range(15)]).status, 200)

    def test_a_target_that_is_too_long_is_414(self):
        self.assert_refused(
            b"GET /" + b"a" * 17000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", {414}, "17 KB"
        )

    def test_a_body_over_the_limit_of_its_route_is_413(self):
        self.assertEqual(self.fetch("POST", "/small", body=b"x" * 1024).status, 200)
        self.app.reset_log()
        with Client(self.proxy.port) as client:
            client.send(b"POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 1025\r\n\r\n")
            self.assertEqual(client.response("POST").status, 413)
        self.assertEqual(self.app.targets(), [])
        self.assertEqual(self.fetch("POST", "/other", body=b"x" * 2000).status, 200)

    def test_a_chunked_body_over_the_limit_is_cut(self):
        with Client(self.proxy.port) as client:
            client.send(
                b"POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                + b"400\r\n"
                + b"x" * 1024
                + b"\r\n1\r\nx\r\n0\r\n\r\n"
            )
            self.assertEqual(client.response("POST").status, 413)
            self.assertTrue(client.is_closed())
        for request in self.app.requests:
            with self.assertRaises((EOFError, OSError)):
                request.body()


class Timeouts(ProxyCase):
    CONFIG = {"limits": {"header_read": "200ms", "idle": "200ms", "body_idle": "200ms"}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.proxy.reload(
            {
                "routes": [
                    {
                        "match": {"path": "/response"},
                        "cluster": "app",
                        "timeout": {"response": "100ms"},
                    },
                    {"match": {"path": "/total"}, "cluster": "app", "timeout": {"total": "150ms"}},
                    {"match": {"path": "/idle"}, "cluster": "app", "timeout": {"idle": "100ms"}},
                    {"match": {"prefix": "/"}, "cluster": "app"},
                ]
            }
        )

    @staticmethod
    def never(request):
        """Answers nothing until the proxy gives up."""
        if request.target == "/idle":
            request.connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        request.connection.wait_for_close()
        request.connection.close()

    def test_an_application_that_does_not_answer_is_504(self):
        self.app.respond = self.never
        self.assertEqual(self.fetch(target="/response").status, 504)
        self.assertTrue(self.app.connections[-1].closed.wait(1))

    def test_a_request_over_its_total_time_is_504(self):
        self.app.respond = self.never
        self.assertEqual(self.fetch(target="/total").status, 504)

    def test_an_answer_that_stands_still_is_cut(self):
        self.app.respond = self.never
        with Client(self.proxy.port) as client, self.assertRaises(EOFError):
            client.fetch(target="/idle")

    def test_a_head_that_does_not_come_to_its_end_is_408(self):
        with Client(self.proxy.port) as client:
            client.send(b"GET / HTTP/1.1\r\nHost: a\r\n")
            self.assertEqual(client.response().status, 408)
            self.assertTrue(client.is_closed())

    def test_a_connection_without_a_byte_is_closed_without_a_word(self):
        with Client(self.proxy.port) as client:
            self.assertTrue(client.is_closed(2))

    def test_an_idle_connection_is_closed(self):
        with Client(self.proxy.port) as client:
            client.fetch()
            self.assertTrue(client.is_closed(2))

    def test_a_body_that_stands_still_ends_the_request(self):
        with Client(self.proxy.port) as client:
            client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf")
            self.assertRegex(client.rest(), b"^(HTTP/1.1 408 |$)")


class Upstreams(unittest.TestCase):
    def test_an_application_that_refuses_connections_is_a_quick_error(self):
        app = Upstream()
        app.refuse()
        with Proxy(app) as proxy:
            self.assertIn(proxy.fetch().status, (502, 503))

    def test_requests_over_the_limit_of_connections_wait_and_over_that_of_waiting_are_503(self):
        app = Upstream()
        self.addCleanup(app.close)
        go = threading.Event()

        def wait(request):
            go.wait(5)
            return reply()

        app.respond = wait
        limits = {"connections": 1, "pending": 1}
        with Proxy(
            app, {"clusters": [{"name": "app", "endpoints": [app.address], "limits": limits}]}
        ) as proxy:
            clients = []
            for count in (1, 2, 3):
                clients.append(proxy.connect())
                clients[-1].request("GET", f"/{count}")
                wait_until(
                    lambda c=count: proxy.metric("flamegate_requests_total") >= c, "the request"
                )
            self.assertEqual(clients[2].response().status, 503)
            go.set()
            self.assertEqual(
                [clients[0].response().status, clients[1].response().status], [200, 200]
            )
            for client in clients:
                client.close()
        self.assertEqual(len(app.connections), 1)

    def test_a_second_endpoint_serves_while_the_first_is_down(self):
        down, up = Upstream(), Upstream(echo)
        self.addCleanup(up.close)
        down.refuse()
        clusters = [
            {"name": "app", "endpoints": [down.address, up.address], "balance": "round_robin"}
        ]
        with Proxy(up, {"clusters": clusters}) as proxy:
            self.assertEqual([proxy.fetch().status for _ in range(6)], [200] * 6)


class Reload(unittest.TestCase):
    def setUp(self):
        self.old, self.new = Upstream(lambda request: reply(body=b"old")), Upstream(
            lambda request: reply(body=b"new")
        )
        for upstream in (self.old, self.new):
            self.addCleanup(upstream.close)

    def clusters(self, upstream):
        return [{"name": "app", "endpoints": [upstream.address]}]

    def test_a_new_file_is_in_force_for_the_next_request(self):
        with Proxy(self.old) as proxy, proxy.connect() as client:
            self.assertEqual(client.fetch().body, b"old")
            proxy.reload({"clusters": self.clusters(self.new)})
            wait_until(lambda: proxy.fetch().body == b"new", "the new file is in force")
            self.assertIn(client.fetch().body, (b"new",))

    def test_a_request_that_has_begun_ends_as_it_began(self):
        go = threading.Event()

        def late(request):
            go.wait(5)
            return reply(body=b"old")

        self.old.respond = late
        with Proxy(self.old) as proxy, proxy.connect() as client:
            client.request("GET", "/")
            self.old.wait_for_requests(1)
            proxy.reload({"clusters": self.clusters(self.new)})
            go.set()
            self.assertEqual(client.response().body, b"old")

    def test_a_broken_file_is_refused_and_the_old_one_stays(self):
        with Proxy(self.old) as proxy:
            proxy.reload({"nonsense": 1})
            self.assertEqual(proxy.metric("flamegate_reloads_failed_total"), 1)
            self.assertIn("nonsense", proxy.log())
            self.assertEqual(proxy.fetch().body, b"old")

    def test_a_listener_can_be_added_and_removed(self):
        with Proxy(self.old) as proxy:
            port = free_port()
            first = proxy.config["listeners"]
            proxy.reload({"listeners": [*first, {"address": f"127.0.0.1:{port}"}]})
            self.assertEqual(fetch(port).body, b"old")
            proxy.reload({"listeners": first})

            def refused():
                try:
                    Client(port).close()
                    return False
                except ConnectionRefusedError:
                    return True

            wait_until(refused, "the listener is gone")
            self.assertEqual(proxy.fetch().body, b"old")

    def test_a_kept_connection_knows_its_listener_over_a_reload(self):
        """The rules of its listener stay those of its connections, wherever that then stands."""
        other = {"address": f"127.0.0.1:{free_port()}"}
        with Proxy(self.old) as proxy:
            own = {**proxy.config["listeners"][0], "trusted_proxies": ["127.0.0.0/8"]}
            fields = [("X-Forwarded-For", "192.0.2.7")]

            def forwarded(client):
                self.old.reset_log()
                self.assertEqual(client.fetch(headers=fields).status, 200)
                return self.old.requests[-1].get("X-Forwarded-For")

            proxy.reload({"listeners": [other, own]})
            with proxy.connect() as client:
                self.assertEqual(forwarded(client), "192.0.2.7, 127.0.0.1")
                proxy.reload({"listeners": [own, other]})
                self.assertEqual(forwarded(client), "192.0.2.7, 127.0.0.1")
                proxy.reload({"listeners": [other]})
                self.assertEqual(forwarded(client), "127.0.0.1", "trusted by nobody any more")

    def test_no_request_is_lost_while_reloading(self):
        failures, stop = [], threading.Event()
        with Proxy(self.old) as proxy:

            def load():
                while not stop.is_set():
                    try:
                        if proxy.fetch().status != 200:
                            failures.append("status")
                    except (OSError, EOFError) as error:
                        failures.append(error)

            thread = threading.Thread(target=load)
            thread.start()
            for i in range(10):
                proxy.reload({"limits": {"h2_streams": 50 + i}})
            stop.set()
            thread.join()
        self.assertEqual(failures, [])


class Drain(unittest.TestCase):
    def setUp(self):
        self.app = Upstream()
        self.addCleanup(self.app.close)

    def test_requests_in_flight_end_and_the_program_exits_with_0(self):
        go = threading.Event()

        def late(request):
            go.wait(5)
            return reply(body=b"done")

        self.app.respond = late
        with Proxy(self.app) as proxy, proxy.connect() as client, proxy.connect() as idle:
            client.request("GET", "/")
            self.app.wait_for_requests(1)
            proxy.signal(signal.SIGTERM)
            self.assertTrue(idle.is_closed(2))
            self.assertTrue(proxy.is_running())
            go.set()
            response = client.response()
            self.assertEqual((response.status, response.body), (200, b"done"))
            self.assertTrue(response.closes())
            self.assertEqual(proxy.wait_for_exit(), 0)

    def test_readiness_ends_at_once_and_liveness_does_not(self):
        go = threading.Event()
        self.app.respond = lambda request: go.wait(5) and reply()
        with Proxy(self.app) as proxy, proxy.connect() as client:
            client.request("GET", "/")
            self.app.wait_for_requests(1)
            proxy.signal(signal.SIGTERM)
            wait_until(lambda: fetch(proxy.admin_port, target="/ready").status == 503, "not ready")
            self.assertEqual(fetch(proxy.admin_port, target="/live").status, 200)
            go.set()
            client.response()
            self.assertEqual(proxy.wait_for_exit(), 0)

    def test_what_takes_longer_than_the_drain_is_cut(self):
        self.app.respond = lambda request: request.connection.wait_for_close(5) and None
        with Proxy(self.app, {"shutdown": {"drain": "200ms"}}) as proxy, proxy.connect() as client:
            client.request("GET", "/")
            self.app.wait_for_requests(1)
            proxy.signal(signal.SIGTERM)
            self.assertEqual(proxy.wait_for_exit(5), 0)

    def test_the_control_process_ends_with_it(self):
        with Proxy(self.app) as proxy:
            proxy.wait_for_metric("flamegate_control_up", 1)
            control = proxy.control_pid()
            proxy.signal(signal.SIGTERM)
            self.assertEqual(proxy.wait_for_exit(), 0)

            def gone():
                try:
                    with open(f"/proc/{control}/stat", encoding="ascii") as stat:
                        return stat.read().rsplit(")", 1)[1].split()[0] == "Z"
                except FileNotFoundError:
                    return True

            wait_until(gone, "control is gone")


class Admin(ProxyCase):
    def page(self, path):
        return fetch(self.proxy.admin_port, target=path)

    def test_probes_answer(self):
        self.assertEqual((self.page("/ready").status, self.page("/live").status), (200, 200))
        self.assertEqual(self.page("/nothing").status, 404)

    def test_durations_are_counted_by_route_and_cluster_and_survive_a_reload(self):
        route = {"match": {"prefix": "/"}, "cluster": "app", "name": 'a "quoted" name'}
        with Proxy(self.app, {"routes": [route]}) as proxy:
            for _ in range(3):
                self.assertEqual(proxy.fetch().status, 200)
            proxy.reload({"limits": {"idle": "20s"}})
            self.assertEqual(proxy.fetch().status, 200)
            metrics = proxy.metrics()
        name = 'route="a \\"quoted\\" name"'
        self.assertEqual(metrics[f"flamegate_request_duration_seconds_count{{{name}}}"], 4)
        self.assertEqual(
            metrics[f'flamegate_request_duration_seconds_bucket{{{name},le="+Inf"}}'], 4
        )
        self.assertLess(0, metrics[f"flamegate_request_duration_seconds_sum{{{name}}}"])
        self.assertEqual(metrics['flamegate_upstream_duration_seconds_count{cluster="app"}'], 4)

    def test_metrics_are_in_the_text_format_and_count(self):
        before = self.proxy.metric("flamegate_requests_total")
        self.fetch()
        self.proxy.wait_for_metric("flamegate_requests_total", before + 1)
        text = self.page("/metrics").body.decode()
        families = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M)
        self.assertEqual(len(families), len({name for name, _ in families}))
        for line in text.splitlines():
            self.assertRegex(
                line, r'^(# (HELP|TYPE) \S+ .+|[a-z_]+(\{([a-z_]+="[^"]*",?)+\})? [0-9.e+-]+)$'
            )

    def test_the_configuration_is_shown_without_secrets(self):
        secret = "t0psecret"
        store = {"kind": "redis", "redis": {"url": f"redis://:{secret}@127.0.0.1:1/0"}}
        with Proxy(self.app, {"store": store}) as proxy:
            response = fetch(proxy.admin_port, target="/config")
            self.assertEqual(response.status, 200)
            self.assertIn(self.app.address.encode(), response.body)
            self.assertNotIn(secret.encode(), response.body)
            self.assertNotIn(secret, proxy.log())

    def test_clusters_and_profiling_are_shown(self):
        self.assertIn(self.app.address.encode(), self.page("/clusters").body)
        self.assertEqual(self.page("/profiling").status, 200)


class AccessLog(ProxyCase):
    def test_a_record_tells_what_happened(self):
        self.fetch("POST", "/path?q=1", body=b"12345", headers=[("User-Agent", "rig")])
        record = self.proxy.access_log(1, "/path")[0]
        self.assertEqual(
            (record["method"], record["status"], record["client"]), ("POST", 200, "127.0.0.1")
        )
        self.assertEqual((record["request_bytes"], record["upstream"]), (5, self.app.address))
        self.assertGreater(record["duration_us"], 0)

    def test_answers_of_our_own_are_logged_too(self):
        self.app.respond = lambda request: b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"
        self.fetch(target="/broken")
        self.assertEqual(self.proxy.access_log(1, "/broken")[0]["status"], 502)

    def test_the_text_format_holds_a_record_a_line(self):
        app = Upstream()
        self.addCleanup(app.close)
        with Proxy(app, {"access_log": {"format": "text"}}) as proxy:
            proxy.fetch(target="/text", headers=[("User-Agent", 'x" 200 "y')])
            text = wait_until(
                lambda: proxy.access_log_path.read_text() if proxy.access_log_path.exists() else "",
                "a line",
            )
            self.assertEqual(text.count("\n"), 1)
            self.assertIn('x\\" 200 \\"y', text)


class CommandLine(unittest.TestCase):
    def run_program(self, *arguments):
        return subprocess.run(
            [binary(), *arguments], capture_output=True, text=True, timeout=10, check=False
        )

    def test_version_and_help(self):
        self.assertRegex(self.run_program("version").stdout, r"^flamegate \d+\.\d+")
        for arguments in (["--help"], ["run", "--help"], ["check", "--help"]):
            result = self.run_program(*arguments)
            self.assertEqual((result.returncode, "usage" in result.stdout), (0, True))

    def test_wrong_usage_exits_with_2_and_says_so_on_stderr(self):
        for arguments in ([], ["nonsense"], ["run"], ["run", "--nonsense"], ["check"]):
            result = self.run_program(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            self.assertTrue(result.stderr, arguments)

    def test_check_names_the_place_of_each_fault(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(
                "listeners:\n  - address: 127.0.0.1:0\nclusters:\n  - name: app\n    endpoints: [a:1]\n    balanse: x\n"
            )
            file.flush()
            result = self.run_program("check", "-c", file.name)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"{file.name}:6:", result.stdout)
            self.assertIn("balanse", result.stdout)

    def test_it_runs_without_a_file_and_says_where_it_listens(self):
        app = Upstream()
        self.addCleanup(app.close)
        with tempfile.TemporaryDirectory() as directory:
            process = subprocess.Popen(
                [
                    binary(),
                    "run",
                    "--listen",
                    "127.0.0.1:0",
                    "--upstream",
                    f"http://{app.address}",
                    "--store",
                    f"{directory}/store.db",
                ],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                cwd=directory,
            )
            try:
                port = None
                for line in process.stderr:
                    found = re.search(r"proxy: listening on 127\.0\.0\.1:(\d+)", line)
                    if found:
                        port = int(found[1])
                        break
                self.assertEqual(fetch(port).status, 200)
            finally:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()
                process.stderr.close()


class UnixSockets(unittest.TestCase):
    def test_it_listens_on_and_connects_to_unix_sockets(self):
        app = Upstream(echo)
        self.addCleanup(app.close)
        proxy = Proxy(app)
        path = proxy.directory / "proxy.sock"
        proxy.config["listeners"].append({"address": f"unix:{path}"})
        with proxy, socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(path))
            sock.sendall(b"GET /u HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            data = b"".join(iter(lambda: sock.recv(65536), b""))
            self.assertTrue(data.endswith(b"/u"), data)
