"""What the tests of HTTP/2 share: how each kind of error shows."""

from rig import ProxyCase
from rig import http2 as h2
from rig.http2 import Http2Client


class Http2Case(ProxyCase):
    def client(self, **options):
        client = Http2Client(self.proxy.port, **options)
        self.addCleanup(client.close)
        return client

    def assert_marker(self, client=None):
        client = client or self.client()
        path = f"/marker-{id(self)}"
        response = client.fetch(path=path)
        self.assertEqual((response.status, response.body), (200, path.encode()))

    def assert_connection_error(self, errors, *pieces, client=None, label=""):
        """The frames end the connection with one of these codes; others are still served."""
        client = client or self.client()
        errors = errors if isinstance(errors, tuple) else (errors,)
        try:
            client.send(*pieces)
        except OSError:
            pass  # it may have closed already
        self.assertIn(client.goaway_error(), errors, label or pieces)
        self.assert_marker()

    def assert_stream_error(self, errors, *pieces, stream=1, client=None, label=""):
        """The frames reset the stream; the connection goes on, and the application saw nothing."""
        client = client or self.client()
        errors = errors if isinstance(errors, tuple) else (errors,)
        client.send(*pieces)
        got = client.wait_for(lambda got: got.kind in (h2.RST_STREAM, h2.GOAWAY) or got.ends_stream)
        self.assertIsNotNone(got, label)
        self.assertEqual((got.kind, got.stream), (h2.RST_STREAM, stream), f"{label}: {got}")
        self.assertIn(got.error, errors, label)
        self.assertTrue(client.is_alive(), label)
        self.assert_marker()

    def assert_malformed(self, fields, label="", end=True):
        self.app.reset_log()
        self.assert_stream_error(h2.PROTOCOL_ERROR, h2.headers(1, fields, end), label=label or fields)
        self.assertEqual([t for t in self.app.targets() if not t.startswith("/marker")], [], label)
