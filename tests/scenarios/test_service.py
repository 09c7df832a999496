"""Running under a service manager: what it is told, and sockets that it hands over."""

import signal
import socket
import tempfile
import threading
import unittest

from rig import Proxy, Upstream, echo, fetch, wait_until


class Notification(unittest.TestCase):
    def setUp(self):
        directory = self.enterContext(tempfile.TemporaryDirectory())
        self.manager = self.enterContext(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        self.manager.settimeout(10)
        self.manager.bind(f"{directory}/notify")
        self.env = {"NOTIFY_SOCKET": f"{directory}/notify"}
        self.app = Upstream(echo)
        self.addCleanup(self.app.close)

    def told(self):
        return self.manager.recv(4096).decode()

    def test_the_manager_is_told_of_each_change(self):
        with Proxy(self.app, env=self.env) as proxy:
            self.assertEqual(self.told(), "READY=1")
            self.assertEqual(proxy.fetch().status, 200)
            proxy.reload({"limits": {"idle": "20s"}})
            self.assertEqual((self.told(), self.told()), ("RELOADING=1", "READY=1"))
            proxy.signal(signal.SIGTERM)
            self.assertEqual(self.told(), "STOPPING=1")
            self.assertEqual(proxy.wait_for_exit(), 0)

    def test_a_refused_reload_ends_in_readiness_too(self):
        with Proxy(self.app, env=self.env) as proxy:
            self.assertEqual(self.told(), "READY=1")
            proxy.reload({"clusters": []})
            self.assertEqual((self.told(), self.told()), ("RELOADING=1", "READY=1"))
            self.assertEqual(proxy.fetch().status, 200)


class HandOver(unittest.TestCase):
    def setUp(self):
        self.app = Upstream(echo)
        self.addCleanup(self.app.close)
        self.listening = self.enterContext(socket.create_server(("127.0.0.1", 0), backlog=128))
        self.port = self.listening.getsockname()[1]
        self.config = {"listeners": [{"address": f"127.0.0.1:{self.port}"}], "workers": 2}

    def proxy(self):
        return Proxy(self.app, self.config, sockets=[self.listening])

    def test_listeners_are_served_from_the_managers_sockets(self):
        with self.proxy() as proxy:
            for i in range(20):
                self.assertEqual(fetch(self.port, target=f"/{i}").body, b"/%d" % i)
            self.assertNotIn("no longer listening", proxy.log())

    def test_a_socket_that_no_listener_names_is_closed(self):
        other = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        with Proxy(self.app, self.config, sockets=[other, self.listening]) as proxy:
            self.assertEqual(fetch(self.port).status, 200)
            self.assertIn(
                f"no longer listening on 127.0.0.1:{other.getsockname()[1]}", proxy.log()
            )

    def test_no_client_is_refused_while_the_program_is_restarted(self):
        stop, statuses = threading.Event(), []

        def ask():
            while not stop.is_set():
                statuses.append(fetch(self.port).status)

        client = threading.Thread(target=ask)
        with self.proxy() as first:
            client.start()
            wait_until(lambda: len(statuses) >= 20, "requests to the first")
            first.signal(signal.SIGTERM)
            self.assertEqual(first.wait_for_exit(), 0)
        with self.proxy():
            seen = len(statuses)
            wait_until(lambda: len(statuses) >= seen + 20, "requests to the second")
            stop.set()
            client.join()
        self.assertEqual(set(statuses), {200})
