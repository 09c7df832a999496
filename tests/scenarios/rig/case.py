"""Base classes of the tests: one application and one proxy for all tests of a class."""

import json
import unittest

from .application import Application
from .client import Client
from .message import ProtocolError
from .process import Proxy, merge
from .upstream import Upstream, reply


def echo(request):
    """Answers with the request's target, so that a test sees whose answer it got."""
    return reply(body=request.target.encode("latin-1"))


class ProxyCase(unittest.TestCase):
    """Sets `app` and `proxy`. CONFIG is laid over the rig's default configuration. Each test begins
    with an empty log and the echo answer.
    """

    CONFIG = {}

    @classmethod
    def make_app(cls):
        return Upstream(echo)

    @classmethod
    def setUpClass(cls):
        cls.app = cls.make_app()
        cls.addClassCleanup(cls.app.close)
        cls.proxy = Proxy(cls.app, cls.CONFIG)
        cls.proxy.start()
        cls.addClassCleanup(cls.proxy.stop)

    def setUp(self):
        self.app.respond = echo
        self.app.reset_log()

    def tearDown(self):
        self.app.check()

    def connect(self):
        client = self.proxy.connect()
        self.addCleanup(client.close)
        return client

    def fetch(self, method="GET", target="/", headers=(), body=b"", **more):
        return self.proxy.fetch(method, target, headers, body, **more)

    def assert_marker(self, client=None):
        """A request of its own gets its own answer, on this connection or a new one."""
        target = f"/marker-{id(self)}"
        response = client.fetch(target=target) if client else self.fetch(target=target)
        self.assertEqual((response.status, response.body), (200, target.encode()))

    def assert_refused(self, data, statuses, label=""):
        """The bytes get one error answer and the connection's end; nothing complete reaches the
        application, and nothing after them is served."""
        self.app.reset_log()
        with Client(self.proxy.port) as client:
            client.send(data)
            response = client.response()
            self.assertIn(response.status, statuses, f"{label}: {response}")
            self.assertTrue(client.is_closed(), f"{label}: not closed after {response}")
        for request in list(self.app.requests):
            with self.assertRaises((EOFError, OSError, ProtocolError), msg=label):
                request.body()
        self.assertNotIn("/smuggled", self.app.targets(), label)
        self.assert_marker()


class ProfilingCase(ProxyCase):
    """With an application that has an agent, and with control up. `trigger()` asks for a profile
    as a client on loopback, which the default rules allow everything."""

    HOST = "localhost"
    PROFILING = {"limits": {"concurrent": 64, "per_minute": 100000, "per_route": 64}}

    @classmethod
    def make_app(cls):
        return Application(echo)

    @classmethod
    def setUpClass(cls):
        cls.CONFIG = merge({"profiling": cls.PROFILING}, cls.CONFIG)
        super().setUpClass()
        cls.app.attach(cls.proxy)
        cls.wait_for_control()

    @classmethod
    def wait_for_control(cls):
        cls.proxy.wait_for_control()

    def setUp(self):
        self.app.reset_log()
        self.app.reset_agent(echo)

    def fetch(self, method="GET", target="/", headers=(), body=b"", **more):
        return self.proxy.fetch(method, target, headers, body, **{"host": self.HOST, **more})

    def trigger(self, target="/", headers=(), method="GET", body=b"", **more):
        mark = "&" if "?" in target else "?"
        return self.fetch(method, f"{target}{mark}pp=async-flamegraph", headers, body, **more)

    def api(self, path, method="GET", data=None, headers=()):
        """A call of the API: (status, decoded JSON or the raw bytes)."""
        body = b"" if data is None else json.dumps(data).encode()
        more = [("Content-Type", "application/json")] if body else []
        response = self.fetch(method, f"/__flamegate/api/v1/{path}", [*more, *headers], body)
        is_json = response.get("Content-Type", "").startswith("application/json")
        return (
            response.status,
            json.loads(response.body) if is_json and response.body else response.body,
        )

    def metadata(self, profile_id, wait="3s"):
        status, data = self.api(f"profiles/{profile_id}?wait={wait}")
        self.assertEqual(status, 200, data)
        return data

    def assert_profiled(self, response, reached_agent=True):
        """The response carries an id, and no reason for having none; returns the id."""
        profile_id = response.get("Profile-Id")
        self.assertRegex(profile_id or "", "^[0-9a-z]{20}$", response.head.raw)
        self.assertFalse(response.has("Profile-Skipped"))
        if reached_agent:
            self.assertIn(profile_id, self.app.ticket_ids())
        return profile_id

    def assert_skipped(self, response, reason):
        self.assertEqual(response.get("Profile-Skipped"), reason, response.head.raw)
        self.assertFalse(response.has("Profile-Id"))

    def assert_untouched(self, response):
        """Nothing betrays the profiler, on either side."""
        for message in [response, *self.app.requests]:
            self.assertEqual(profiler_fields(message), [], message.head.raw)


PROFILER_FIELDS = ("profile-", "flamegate-", "x-miniprofiler-", "server-timing")


def profiler_fields(message):
    return [name for name, _ in message.head.fields if name.lower().startswith(PROFILER_FIELDS)]
