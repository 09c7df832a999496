"""PROXY protocol on listeners: who may speak it, whom it names, and what ends a connection."""

import socket
import struct
import unittest

from rig import Authority, Client, Proxy, Upstream, echo, tls_client, wait_until

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def line(client="203.0.113.9", family="TCP4", us="192.0.2.1"):
    return f"PROXY {family} {client} {us} 40000 443\r\n".encode()


def binary_header(client="203.0.113.9", command=0x21, vectors=b""):
    if ":" in client:
        kind, ends = 0x21, socket.inet_pton(socket.AF_INET6, client) + bytes(16)
    else:
        kind, ends = 0x11, socket.inet_aton(client) + bytes(4)
    content = ends + struct.pack(">HH", 40000, 443) + vectors
    return SIGNATURE + struct.pack(">BBH", command, kind, len(content)) + content


class ProxyProtocolCase(unittest.TestCase):
    CONFIG = {}
    TRUSTED = ["127.0.0.0/8"]

    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.addClassCleanup(cls.authority.close)
        cls.app = Upstream(echo)
        cls.addClassCleanup(cls.app.close)
        cls.proxy = Proxy(cls.app, cls.CONFIG)
        common = {"proxy_protocol": True, "trusted_proxies": cls.TRUSTED}
        cls.socket_path = str(cls.proxy.directory / "in.sock")
        cls.proxy.config["listeners"] = [
            {"address": f"127.0.0.1:{cls.proxy.port}", **common},
            {"address": f"unix:{cls.socket_path}", "proxy_protocol": True},
        ]
        cls.proxy.start()
        cls.addClassCleanup(cls.proxy.stop)

    def setUp(self):
        self.app.reset_log()

    def connect(self):
        client = self.proxy.connect()
        self.addCleanup(client.close)
        return client

    def seen(self, header):
        """What the application is told of the client that this header names."""
        with self.proxy.connect() as client:
            client.send(header)
            self.assertEqual(client.fetch(target="/seen").body, b"/seen")
        return self.app.requests[-1].get("X-Forwarded-For")

    def assert_closed(self, data, label=""):
        with self.proxy.connect() as client:
            try:
                client.send(data)
                self.assertEqual(client.rest(), b"", label)
            except ConnectionError:
                pass
        self.assertEqual(self.app.targets(), [], label)


class Headers(ProxyProtocolCase):
    def test_the_named_client_is_the_client(self):
        for header in (line, binary_header):
            self.assertEqual(self.seen(header()), "203.0.113.9")
        self.assertEqual(self.seen(line("2001:db8::9", "TCP6", "::1")), "2001:db8::9")
        self.assertEqual(self.seen(binary_header("2001:db8::9")), "2001:db8::9")
        record = self.proxy.access_log(4, "/seen")[-1]
        self.assertEqual(record["client"], "2001:db8::9")

    def test_a_proxy_that_speaks_for_itself_is_the_client(self):
        self.assertEqual(self.seen(binary_header(command=0x20)), "127.0.0.1")

    def test_a_client_that_is_not_named_has_no_address(self):
        self.assertEqual(self.seen(b"PROXY UNKNOWN\r\n"), "unknown")
        self.assertEqual(self.seen(SIGNATURE + b"\x21\0\0\0"), "unknown")

    def test_what_the_client_claims_itself_is_not_believed(self):
        with self.connect() as client:
            client.send(line())
            client.fetch(headers=[("X-Forwarded-For", "10.0.0.1"), ("Forwarded", "for=10.0.0.1")])
        request = self.app.requests[-1]
        self.assertEqual(request.all("X-Forwarded-For"), ["203.0.113.9"])
        self.assertFalse(request.has("Forwarded"))

    def test_a_header_may_come_in_pieces_and_with_the_request(self):
        request = b"GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n"
        vectors = b"\x02\0\x06a.test"
        for header in (line(), binary_header(vectors=vectors)):
            with self.connect() as client:
                client.send(header + request)
                self.assertEqual(client.response().body, b"/pieces")
            for cut in range(1, len(header), 5):
                with self.connect() as client:
                    client.send(header[:cut])
                    client.send(header[cut:] + request)
                    self.assertEqual(client.response().body, b"/pieces", cut)

    def test_anything_else_ends_the_connection(self):
        for data in (
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"PROXY TCP4 1.2.3 4.5.6.7 1 2\r\n",
            b"PROXY " + b"x" * 200,
            SIGNATURE + b"\x31\x11\0\x0c" + bytes(12),
            SIGNATURE + b"\x21\x11\0\x0b" + bytes(11),
            SIGNATURE + b"\x21\x11\xff\xff",
        ):
            self.assert_closed(data, data)

    def test_a_client_that_leaves_before_its_header_is_whole_is_forgotten(self):
        before = self.proxy.open_fds()
        for _ in range(10):
            with self.proxy.connect() as client:
                client.send(b"PROXY TCP4 1")
        wait_until(lambda: self.proxy.open_fds() <= before, "the descriptors are back")

    def test_who_can_open_the_unix_socket_is_believed(self):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(10)
            sock.connect(self.socket_path)
            sock.sendall(line() + b"GET /unix HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            answer = b"".join(iter(lambda: sock.recv(4096), b""))
        self.assertTrue(answer.endswith(b"/unix"), answer)
        self.assertEqual(self.app.requests[-1].get("X-Forwarded-For"), "203.0.113.9")


class Untrusted(ProxyProtocolCase):
    TRUSTED = ["192.0.2.0/24"]

    def test_a_peer_that_is_not_trusted_is_refused(self):
        self.assert_closed(line() + b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        self.assert_closed(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")


class Tls(ProxyProtocolCase):
    """The header stands before TLS."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        listener = {
            **cls.proxy.config["listeners"][0],
            "tls": {"certificates": [cls.authority.issue("a.test")]},
        }
        cls.proxy.reload({"listeners": [listener]})

    def test_tls_follows_the_header(self):
        context = self.authority.client_context()

        def wrap(sock):
            sock.sendall(binary_header())
            return context.wrap_socket(sock, server_hostname="a.test")

        with Client(self.proxy.port, wrap=wrap) as client:
            self.assertEqual(client.fetch(target="/tls").body, b"/tls")
        request = self.app.requests[-1]
        self.assertEqual(request.get("X-Forwarded-For"), "203.0.113.9")
        self.assertEqual(request.get("X-Forwarded-Proto"), "https")
        with self.assertRaises((OSError, EOFError)):
            tls_client(self.proxy.port, context)


class Rights(ProxyProtocolCase):
    """Address rules look at the named client."""

    CONFIG = {
        "profiling": {
            "access": [{"from": ["203.0.113.9", "127.0.0.0/8", "::/0"], "allow": ["view"]}],
            "public_url": "http://a.test",
        }
    }

    def status(self, header):
        path = "/__flamegate/api/v1/status"
        with self.connect() as client:
            client.send(header)
            response = client.fetch(target=path)
            return "application" if response.body == path.encode() else response.status

    def test_rights_follow_the_named_client(self):
        self.proxy.wait_for_metric("flamegate_control_up", 1)
        self.assertIn(self.status(line()), (200, 503))
        self.assertEqual(self.status(line("203.0.113.10")), "application")
        self.assertEqual(self.status(b"PROXY UNKNOWN\r\n"), "application")
