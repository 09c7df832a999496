"""SIGUSR2: a new executable on the same sockets, while the old process drains."""

import os
import select
import shutil
import signal
import socket
import tempfile
import threading
import unittest
from unittest import mock

from rig import Proxy, Upstream, binary, echo, reply, wait_until


class Load:
    """Requests on kept and on new connections from four threads. A context manager."""

    def __init__(self, proxy):
        self.failures, self.answered = [], 0
        self._proxy, self._stop = proxy, threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(i,)) for i in range(4)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        self.wait_for(50)
        return self

    def __exit__(self, *unused):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, more):
        answered = self.answered
        wait_until(lambda: self.answered > answered + more, "requests are answered")

    def _run(self, number):
        run = self._on_new_connections if number % 2 else self._on_kept_connections
        try:
            run(f"/{number}")
        except (AssertionError, OSError, EOFError) as error:
            self.failures.append(error)

    def _check(self, response, target):
        if (response.status, response.body) != (200, target.encode()):
            raise AssertionError(f"{target} was answered {response.status} {response.body!r}")
        self.answered += 1

    def _on_new_connections(self, target):
        while not self._stop.is_set():
            self._check(self._proxy.fetch(target=target), target)

    def _on_kept_connections(self, target):
        """A server may close a connection between two requests; then they go on on a new one."""
        while not self._stop.is_set():
            with self._proxy.connect() as client:
                while not self._stop.is_set() and not select.select([client.sock], [], [], 0)[0]:
                    received = len(client.reader.received)
                    try:
                        response = client.request("GET", target).response()
                    except (EOFError, ConnectionError):
                        if len(client.reader.received) > received:
                            raise
                        break
                    self._check(response, target)
                    if response.get("Connection") == "close":
                        break


class Upgrade(unittest.TestCase):
    def setUp(self):
        self.app = Upstream(echo)
        self.addCleanup(self.app.close)

    def test_no_request_fails_while_new_processes_take_over(self):
        with Proxy(self.app, {"workers": 2}) as proxy, Load(proxy) as load:
            for _ in range(3):
                before = proxy.pid
                proxy.upgrade()
                self.assertNotEqual(proxy.pid, before)
                load.wait_for(200)
            self.assertEqual(proxy.wait_for_exit(), 0, "the first process has drained")
        self.assertEqual(load.failures, [])

    def test_a_transfer_that_has_begun_is_finished_by_the_old_process(self):
        released = threading.Event()

        def slow(request):
            request.connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234")
            released.wait(20)
            request.connection.send(b"56789")

        app = Upstream(slow)
        self.addCleanup(app.close)
        with Proxy(app) as proxy, proxy.connect() as client:
            client.request("GET", "/")
            self.assertEqual(client.head().start, b"HTTP/1.1 200 OK")
            proxy.upgrade()
            released.set()
            self.assertEqual(client.rest(), b"0123456789")
            self.assertEqual(proxy.wait_for_exit(), 0)

    def test_control_and_its_store_move_to_the_new_process(self):
        with Proxy(self.app, {"store": {"kind": "embedded", "path": "profiles.db"}}) as proxy:
            proxy.wait_for_control()
            old = proxy.control_pid()
            proxy.upgrade()
            proxy.wait_for_control()
            self.assertNotEqual(proxy.control_pid(), old)
            self.assertFalse(os.path.exists(f"/proc/{old}"))
            folders = [path for path in proxy.directory.glob("flamegate-*") if path.is_dir()]
            self.assertEqual(len(folders), 1, folders)

    def test_a_successor_with_a_bad_configuration_changes_nothing(self):
        with Proxy(self.app) as proxy:
            good = proxy.config_path.read_text()
            proxy.config_path.write_text("listeners: [")
            proxy.signal(signal.SIGUSR2)
            proxy.wait_for_metric("flamegate_upgrades_failed_total", 1)
            self.assertEqual(proxy.fetch().status, 200)
            proxy.wait_for_control()
            proxy.config_path.write_text(good)
            before = proxy.pid
            proxy.upgrade()
            self.assertNotEqual(proxy.pid, before)
            self.assertEqual(proxy.fetch().status, 200)

    def test_an_executable_that_is_none_or_gone_changes_nothing(self):
        directory = self.enterContext(tempfile.TemporaryDirectory())
        executable = shutil.copy(binary(), directory)
        with mock.patch.dict(os.environ, FLAMEGATE_BIN=executable), Proxy(self.app) as proxy:
            os.unlink(executable)
            proxy.signal(signal.SIGUSR2)
            proxy.wait_for_metric("flamegate_upgrades_failed_total", 1)
            with open(executable, "w", encoding="ascii") as script:
                script.write("#!/bin/sh\nexit 7\n")
            os.chmod(executable, 0o700)
            proxy.signal(signal.SIGUSR2)
            proxy.wait_for_metric("flamegate_upgrades_failed_total", 2)
            self.assertEqual(proxy.fetch().status, 200)

    def test_unix_listeners_are_handed_over(self):
        with Proxy(self.app) as proxy:
            path = str(proxy.directory / "listen.sock")
            proxy.reload({"listeners": [{"address": f"unix:{path}"}]})
            self.assertIn(b"200 OK", fetch_by_path(path))
            proxy.upgrade()
            self.assertIn(b"200 OK", fetch_by_path(path))

    def test_a_service_manager_learns_the_new_process(self):
        name = f"flamegate-test-{os.getpid()}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.settimeout(10)
            manager.bind(f"\0{name}")
            with Proxy(self.app, env={"NOTIFY_SOCKET": f"@{name}"}) as proxy:
                self.assertEqual(manager.recv(100), b"READY=1")
                proxy.upgrade()
                told = [manager.recv(100), manager.recv(100)]
                self.assertEqual(sorted(told), [f"MAINPID={proxy.pid}".encode(), b"READY=1"])
                self.assertEqual(proxy.wait_for_exit(), 0)
                self.assertFalse(select.select([manager], [], [], 0)[0], "nobody stops")

    def test_fewer_workers_serve_all_sockets_that_were_handed_over(self):
        with Proxy(self.app, {"workers": 6}) as proxy:
            proxy.write_config({"workers": 2})
            proxy.upgrade()
            self.assertEqual(proxy.wait_for_exit(), 0)
            for _ in range(60):
                self.assertEqual(proxy.fetch().status, 200)

    def test_a_reload_of_the_old_process_is_ignored(self):
        started, go = threading.Event(), threading.Event()

        def late(request):
            started.set()
            go.wait(10)
            return reply(body=b"late")

        app = Upstream(late)
        self.addCleanup(app.close)
        with Proxy(app) as proxy, proxy.connect() as client:
            client.request("GET", "/")
            self.assertTrue(started.wait(10))
            old = proxy.pid
            proxy.upgrade()
            os.kill(old, signal.SIGHUP)
            go.set()
            self.assertEqual(client.response().body, b"late")
            self.assertEqual(proxy.wait_for_exit(), 0)

    def test_the_new_process_takes_signals(self):
        with Proxy(self.app) as proxy:
            proxy.upgrade()
            proxy.reload({"limits": {"idle": "20s"}})
            self.assertEqual(proxy.fetch().status, 200)


def fetch_by_path(path):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(path)
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        return client.recv(65536)


if __name__ == "__main__":
    unittest.main()
