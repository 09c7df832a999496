"""Where the profiled requests go: straight to the application, or through flamegate."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
AGENT = os.path.join(HERE, "..", "..", "agent-protocol", "agents", "python")
sys.path.insert(0, AGENT)

from tests.support import pprof  # noqa: E402
from tests.support.control import Control  # noqa: E402
from tests.support.orders import KEY, SECRET, fields_of, header, new_id  # noqa: E402
from tests.support.server import Server, free_port  # noqa: E402

GUNICORN = "/usr/bin/gunicorn"
START_S = 30
RECORDING_MS_MAX = 600_000  # on a busy machine a second of CPU time takes long


class Answer(NamedTuple):
    truth: dict
    profile: pprof.Profile  # None: the request was not profiled
    refusal: str  # why not
    client_ns: int  # duration, as the client saw it


@contextlib.contextmanager
def gunicorn(workers, threads, environ):
    # A worker with threads accepts more connections than it has threads; a synchronous one takes
    # one at a time.
    kind = ["-k", "gthread", "--threads", str(threads)] if threads > 1 else ["-k", "sync"]
    command = [
        sys.executable,
        GUNICORN,
        *kind,
        "-w",
        str(workers),
        "--timeout",
        "120",
        "-b",
        "unix:{bind}",
        "application:application",
    ]
    with Server(command, environ, cwd=HERE) as server:
        yield server


class Direct:
    """Signs requests as the proxy does, and is control. What is measured is the agent alone."""

    name = "the agent alone"

    def __init__(self, workers=1, threads=4):
        self._stack = contextlib.ExitStack()
        secret = self._stack.enter_context(tempfile.NamedTemporaryFile())
        secret.write(SECRET)
        secret.flush()
        self._control = self._stack.enter_context(Control(KEY))
        environ = {
            "FLAMEGATE_SECRET_FILE": secret.name,
            "FLAMEGATE_URL": self._control.url,
            "FLAMEGATE_SERVICE": "shop",
        }
        self._server = self._stack.enter_context(gunicorn(workers, threads, environ))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._stack.close()

    def plain(self, path):
        return json.loads(self._server.get(path)[2])

    def profiled(self, path) -> Answer:
        profile_id = new_id()
        began = time.monotonic_ns()
        _, headers, body = self._server.get(path, header(profile_id, max=RECORDING_MS_MAX))
        took = time.monotonic_ns() - began
        state = fields_of(dict(headers).get("Flamegate-Ack", "st=none"))["st"]
        profile = self._control.upload(profile_id).profile if state == "started" else None
        return Answer(json.loads(body), profile, state, took)


_CONFIGURATION = """\
listeners: [{{address: "127.0.0.1:{port}"}}]
clusters:
  - name: app
    endpoints: ["unix:{application}"]
    service: shop
access_log: {{path: none}}
admin: {{address: none}}
store: {{kind: memory}}
control: {{agents: {{address: "127.0.0.1:{agents}"}}}}
profiling:
  secret_file: {directory}/secret
  session_secret_file: {directory}/session
  defaults: {{max: {recording_ms_max}ms}}
  limits: {{concurrent: 20, per_minute: 6000, per_route: 20}}
"""


class Proxied:
    """flamegate in front of the application, asked as a browser asks."""

    name = "through flamegate"

    def __init__(self, executable, workers=1, threads=4):
        self._stack = contextlib.ExitStack()
        directory = self._stack.enter_context(tempfile.TemporaryDirectory())
        self._port, agents = free_port(), free_port()
        secret = os.path.join(directory, "secret")
        with open(secret, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(SECRET)
        environ = {
            "FLAMEGATE_SECRET_FILE": secret,
            "FLAMEGATE_URL": f"http://127.0.0.1:{agents}",
            "FLAMEGATE_SERVICE": "shop",
        }
        server = self._stack.enter_context(gunicorn(workers, threads, environ))
        configuration = os.path.join(directory, "flamegate.yaml")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(
                _CONFIGURATION.format(
                    port=self._port,
                    application=server.path,
                    agents=agents,
                    directory=directory,
                    recording_ms_max=RECORDING_MS_MAX,
                )
            )
        self._flamegate = subprocess.Popen(
            [executable, "run", "-c", configuration], stdin=subprocess.DEVNULL
        )
        self._stack.callback(self._stop)
        self._wait_until_ready()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._stack.close()

    def plain(self, path):
        return json.loads(self._get(path)[2])

    def profiled(self, path) -> Answer:
        began = time.monotonic_ns()
        _, headers, body = self._get(path + "&pp=async-flamegraph&flamegraph_sample_rate=1")
        took = time.monotonic_ns() - began
        profile_id = headers.get("Profile-Id")
        if profile_id is None:
            return Answer(json.loads(body), None, headers.get("Profile-Skipped", "no answer"), took)
        status, _, data = self._get(
            f"/__flamegate/api/v1/profiles/{profile_id}/download?format=pprof&wait=30s"
        )
        if status != 200:
            return Answer(
                json.loads(body), None, f"download answered {status}: {data[:200]!r}", took
            )
        return Answer(json.loads(body), pprof.read(data), "", took)

    def _get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def _wait_until_ready(self):
        until = time.monotonic() + START_S
        while True:
            try:
                if self._get("/__flamegate/api/v1/status")[0] == 200:
                    return
            except OSError:
                pass
            if self._flamegate.poll() is not None or time.monotonic() > until:
                self._stack.close()
                raise SystemExit("flamegate did not start")
            time.sleep(0.05)

    def _stop(self):
        if self._flamegate.poll() is None:
            self._flamegate.send_signal(signal.SIGTERM)
        try:
            self._flamegate.wait(60)
        except subprocess.TimeoutExpired:
            self._flamegate.kill()
