"""Base classes of the tests: one application and one proxy for all tests of a class."""

import unittest

from .client import Client
from .message import ProtocolError
from .process import Proxy
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
        cls.addClassCleanup(cls.proxy.stop)
        cls.proxy.start()

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
