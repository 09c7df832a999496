"""The program under test: started with a generated configuration, watched, and stopped."""

import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import tempfile

from .client import Client, fetch
from .deadline import DEFAULT_SECONDS, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[3]
_SANITIZER_MARKS = (
    "ERROR: AddressSanitizer",
    "runtime error:",
    "WARNING: ThreadSanitizer",
    "ERROR: LeakSanitizer",
    "CHECK failed",
)


def binary():
    return os.environ.get("FLAMEGATE_BIN", str(ROOT / "build/dev/flamegate"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def merge(base, changes):
    """`changes` over `base`, dictionaries key by key."""
    merged = dict(base)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = merge(merged[key], value) if both else value
    return merged


class Proxy:
    """`flamegate run` with the given keys over a small default configuration. Use as a context
    manager, or start() and stop(). JSON is YAML, so the file is written as JSON. `sockets` are handed
    over as a service manager does it.
    """

    def __init__(self, upstream=None, config=None, env=None, sockets=()):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="flamegate-test-"))
        self.port, self.admin_port, self.agents_port = free_port(), free_port(), free_port()
        self.log_path = self.directory / "stderr"
        self.access_log_path = self.directory / "access.log"
        self.config = merge(self._defaults(upstream), config or {})
        self.env = {**os.environ, "XDG_RUNTIME_DIR": str(self.directory), **(env or {})}
        self.sockets = sockets
        self._process = None
        self._successor = None  # pid of the process that took over
        self.tolerates_crash = False

    def _defaults(self, upstream):
        config = {
            "workers": 1,
            "listeners": [{"address": f"127.0.0.1:{self.port}"}],
            "access_log": {"path": str(self.access_log_path), "format": "json"},
            "admin": {"address": f"127.0.0.1:{self.admin_port}"},
            "shutdown": {"drain": "5s"},
            "store": {"kind": "memory"},
            "control": {"agents": {"address": f"127.0.0.1:{self.agents_port}"}},
        }
        if upstream is not None:
            config["clusters"] = [
                {"name": "app", "endpoints": [upstream.address], "service": "shop"}
            ]
        return config

    def __enter__(self):
        return self.start()

    def __exit__(self, *unused):
        self.stop()

    def start(self):
        self.write_config()
        with open(self.log_path, "ab") as log:
            self._process = subprocess.Popen(
                [*_hand_over(self.sockets), binary(), "run", "-c", str(self.config_path)],
                pass_fds=[sock.fileno() for sock in self.sockets],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.env,
                cwd=self.directory,
            )
        try:
            wait_until(self._is_ready, "the proxy is ready", 10)
        except BaseException:
            self._process.kill()
            self._process.wait()
            shutil.rmtree(self.directory, ignore_errors=True)
            raise
        return self

    @property
    def config_path(self):
        return self.directory / "flamegate.yaml"

    def write_config(self, changes=None):
        self.config = merge(self.config, changes or {})
        self.config_path.write_text(json.dumps(self.config, indent=1))

    def _is_ready(self):
        if self._process.poll() is not None:
            raise AssertionError(f"the proxy ended with {self._process.returncode}:\n{self.log()}")
        try:
            return fetch(self.admin_port, target="/ready").status == 200
        except (OSError, EOFError):
            return False

    # Control over the process ------------------------------------------------------------------

    @property
    def pid(self):
        return self._successor or self._process.pid

    def signal(self, number):
        if self._successor:
            os.kill(self._successor, number)
        else:
            self._process.send_signal(number)

    def upgrade(self):
        """Has a new process take over and waits until it answers; the old one drains meanwhile."""
        old, began = self.pid, self.metric("process_start_time_seconds")
        self.signal(signal.SIGUSR2)
        self._successor = wait_until(lambda: _child_that("run", old), "a successor")
        wait_until(lambda: self._began_after(began), "the successor is ready")

    def reload(self, changes=None):
        """Puts a changed file in force and waits until it is."""
        self.write_config(changes)
        before = self.metric("flamegate_reloads_total") + self.metric(
            "flamegate_reloads_failed_total"
        )
        self.signal(signal.SIGHUP)
        wait_until(
            lambda: self.metric("flamegate_reloads_total")
            + self.metric("flamegate_reloads_failed_total")
            > before,
            "the reload",
        )

    def is_running(self):
        return self._process.poll() is None

    def wait_for_exit(self, seconds=10.0):
        """The exit status."""
        return self._process.wait(seconds)

    def stop(self):
        """Ends the process in order; raises when it had crashed or a sanitizer complained."""
        if self._successor:
            self._stop_successor()
        status = self._process.poll()
        for attempt in (1, 2):
            if status is not None:
                break
            self._process.send_signal(signal.SIGTERM)  # the second does not wait for connections
            try:
                status = self._process.wait(0.2 if attempt == 1 else 5)
            except subprocess.TimeoutExpired:
                pass
        if status is None:
            self._process.kill()
            status = self._process.wait()
        log = self.log()
        shutil.rmtree(self.directory, ignore_errors=True)
        complaints = [mark for mark in _SANITIZER_MARKS if mark in log]
        if complaints or (status != 0 and not self.tolerates_crash):
            raise AssertionError(f"the proxy ended with {status} {complaints}:\n{log[-4000:]}")

    def _stop_successor(self):
        """It is no child of this process: its end is seen by its descriptor, its status is not."""
        with os.fdopen(os.pidfd_open(self._successor)) as ended:
            for seconds in (0.2, 5):
                os.kill(self._successor, signal.SIGTERM)
                if select.select([ended], [], [], seconds)[0]:
                    return
            os.kill(self._successor, signal.SIGKILL)
            raise AssertionError(f"the successor did not end:\n{self.log()[-4000:]}")

    def _began_after(self, moment):
        try:
            return self.metric("process_start_time_seconds") > moment
        except (OSError, EOFError):
            return False

    def kill_control(self):
        """Kills the control process; returns its id."""
        pid = self.control_pid()
        os.kill(pid, signal.SIGKILL)
        return pid

    def control_pid(self):
        return wait_until(lambda: _child_that("control", self.pid), "the control process")

    def wait_for_control(self, headers=(), seconds=10):
        """Waits until control answers through the proxy."""

        def answers():
            response = self.fetch(
                target="/__flamegate/api/v1/status", headers=headers, host="localhost"
            )
            return response.status == 200 and response.get("Content-Type", "").startswith(
                "application/json"
            )

        wait_until(answers, "control is up", seconds)

    # What can be seen from outside ---------------------------------------------------------------

    def log(self):
        return self.log_path.read_text(errors="replace")

    def access_log(self, count, path="/"):
        """The records of requests whose path begins so, once there are `count` of them."""

        def read():
            if not self.access_log_path.exists():
                return None
            lines = self.access_log_path.read_bytes().split(b"\n")[:-1]
            records = [json.loads(line.decode("utf-8", "strict")) for line in lines]
            wanted = [record for record in records if record.get("path", "").startswith(path)]
            return wanted if len(wanted) >= count else None

        return wait_until(read, f"{count} log records of {path}")

    def clusters(self):
        """What the admin listener says of each cluster, by name."""
        document = json.loads(fetch(self.admin_port, target="/clusters?format=json").body)
        return {cluster["name"]: cluster for cluster in document["clusters"]}

    def metrics(self):
        text = fetch(self.admin_port, target="/metrics").body.decode()
        samples = (
            line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#")
        )
        return {name: float(value) for name, value in samples}

    def metric(self, name):
        return self.metrics()[name]

    def wait_for_metric(self, name, value, seconds=DEFAULT_SECONDS):
        wait_until(lambda: self.metrics().get(name) == value, f"{name} is {value}", seconds)

    def resident_bytes(self):
        pages = int((pathlib.Path("/proc") / str(self.pid) / "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def open_fds(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    # Talking to it -------------------------------------------------------------------------------

    def connect(self):
        return Client(self.port)

    def fetch(self, method="GET", target="/", headers=(), body=b"", **more):
        return fetch(self.port, method, target, headers, body, **more)


def _hand_over(sockets):
    """What to put before a command so that it finds the sockets as its descriptors 3, 4, …"""
    if not sockets:
        return []
    high = 200  # above all numbers that are moved
    moves = [f"{high + i}<&{sock.fileno()}" for i, sock in enumerate(sockets)]
    moves += [f"{3 + i}<&{high + i} {high + i}<&-" for i in range(len(sockets))]
    script = f'exec {" ".join(moves)}; LISTEN_PID=$$ LISTEN_FDS={len(sockets)} exec "$@"'
    return ["bash", "-c", script, "bash"]


def _child_that(command, pid):
    """The child of a process that runs a command of flamegate; None if there is none."""
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        try:
            arguments = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        except FileNotFoundError:
            continue
        if command.encode() in arguments[1:2]:
            return int(child)
    return None
