"""Starts a server command on a Unix socket or a free port, and asks it."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
START_S = 30


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=60):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A command that listens at `{bind}`: replaced in its arguments by a socket's path, `{port}` by
    a port's number.

    Owner: the test, as a context manager; the process ends with it.
    """

    def __init__(self, command, environ=(), cwd=None, launcher=(sys.executable, "-m", "flamegate")):
        self._directory = tempfile.TemporaryDirectory()
        self.path = os.path.join(self._directory.name, "socket")
        self.port = free_port() if any("{port}" in part for part in command) else None
        command = [
            part.replace("{bind}", self.path).replace("{port}", str(self.port)) for part in command
        ]
        self.log_path = os.path.join(self._directory.name, "log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [*launcher, *command],
                cwd=cwd,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": PACKAGE, **dict(environ)},
            )
        self._wait_until_ready()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def connect(self):
        return (
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            if self.port
            else UnixConnection(self.path)
        )

    def get(self, path="/", profile_header=None):
        """Status, headers as a list, body."""
        connection = self.connect()
        try:
            connection.request(
                "GET", path, headers={"Flamegate-Profile": profile_header} if profile_header else {}
            )
            response = connection.getresponse()
            return response.status, response.getheaders(), response.read()
        finally:
            connection.close()

    def stop(self, number=signal.SIGTERM):
        """The exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self._directory.cleanup()

    def _wait_until_ready(self):
        until = time.monotonic() + START_S
        while True:
            connection = self.connect()
            try:
                connection.connect()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > until:
                    log = self.log()
                    self.stop()
                    raise AssertionError(f"the server did not start: {log}") from None
                time.sleep(0.05)
            finally:
                connection.close()
