"""A real redis-server on a free port, and the few commands that tests need."""

import shutil
import socket
import subprocess
import tempfile

from .deadline import wait_until
from .process import free_port


class Redis:
    """Use as a context manager. `options`: arguments of redis-server, as "--maxmemory", "20mb"."""

    def __init__(self, *options, password=None, user="default"):
        self.port = free_port()
        self._options = options
        self._credentials = (user, password)
        self._directory = tempfile.mkdtemp(prefix="flamegate-redis-")
        self._process = None

    @staticmethod
    def available():
        return shutil.which("redis-server") is not None

    def __enter__(self):
        return self.start()

    def __exit__(self, *unused):
        self.stop()
        shutil.rmtree(self._directory, ignore_errors=True)

    def start(self):
        command = [
            "redis-server",
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
            self._directory,
            *self._options,
        ]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_until(self._answers, "redis-server answers", 10)
        return self

    def stop(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self):
        try:
            self.command("PING")
            return True
        except OSError:
            return False

    def command(self, *words, database=0):
        """The decoded reply: bytes, int, list or None; an error reply raises."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as sock, sock.makefile(
            "rb"
        ) as file:

            def call(*parts):
                encoded = [
                    part if isinstance(part, bytes) else str(part).encode() for part in parts
                ]
                sock.sendall(
                    b"*%d\r\n" % len(encoded)
                    + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in encoded)
                )
                return _read_reply(file)

            user, password = self._credentials
            if password is not None:
                call("AUTH", user, password)
            if database:
                call("SELECT", database)
            return call(*words)

    def keys(self, database=0):
        return self.command("KEYS", "*", database=database)

    def keys_without_ttl(self, database=0):
        return [
            key for key in self.keys(database) if self.command("TTL", key, database=database) == -1
        ]


def _read_reply(file):
    line = file.readline()
    if not line.endswith(b"\r\n"):
        raise ConnectionError("redis closed the connection")
    kind, text = line[:1], line[1:-2]
    if kind == b"-":
        raise RuntimeError(text.decode())
    if kind == b":":
        return int(text)
    if kind == b"$":
        return None if text == b"-1" else file.read(int(text) + 2)[:-2]
    if kind == b"*":
        return [_read_reply(file) for _ in range(int(text))]
    return text
