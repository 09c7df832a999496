"""What an HTTP/2 client may cost (RFC 9113 §10.5): each attack at full size, beside a client that goes
on being served."""

import struct
import threading
import time

from rig import ProxyCase, reply, wait_until
from rig import http2 as h2
from rig.http2 import Http2Client, request_fields

ATTACK_FRAMES = 20_000
MEMORY_GROWTH_MAX = 24 * 1024 * 1024
NORMAL_SECONDS_MAX = 5.0


class Floods(ProxyCase):
    CONFIG = {"limits": {"header_read": "2s", "idle": "3s"}}

    def setUp(self):
        super().setUp()
        self.slow = threading.Event()
        self.in_flight = 0
        self.most_in_flight = 0
        self.lock = threading.Lock()
        self.app.respond = self.answer
        self.addCleanup(self.slow.set)

    def answer(self, request):
        if not request.target.startswith("/slow"):
            return reply(body=request.target.encode())
        with self.lock:
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        request.connection.wait_for_close()
        with self.lock:
            self.in_flight -= 1
        return None

    def attack(self, *pieces, each=64):
        """Sends the pieces until the proxy has enough; returns the code of its GOAWAY."""
        client = Http2Client(self.proxy.port)
        self.addCleanup(client.close)
        reader = threading.Thread(target=self._read_all, args=(client,))
        reader.start()
        try:
            for at in range(0, len(pieces), each):
                client.send(*pieces[at : at + each])
        except OSError:
            pass
        reader.join(20)
        self.assertFalse(reader.is_alive(), "the proxy went on with it")
        return client.error

    @staticmethod
    def _read_all(client):
        client.automatic = False
        client.error = None
        try:
            client.error = client.goaway_error()
        except OSError:
            pass

    def assert_calmed(self, *pieces):
        """The attack ends in ENHANCE_YOUR_CALM, with bounded memory; a normal client is served."""
        before = self.proxy.resident_bytes()
        answers = []
        stop = threading.Event()

        def ask():
            with Http2Client(self.proxy.port) as client:
                while not stop.is_set():
                    begun = time.monotonic()
                    self.assertEqual(client.fetch(path="/normal").body, b"/normal")
                    answers.append(time.monotonic() - begun)

        normal = threading.Thread(target=ask)
        normal.start()
        try:
            error = self.attack(*pieces)
        finally:
            stop.set()
            normal.join()
        self.assertEqual(error, h2.ENHANCE_YOUR_CALM)
        self.assertGreater(len(answers), 0)
        self.assertLess(max(answers), NORMAL_SECONDS_MAX)
        self.assertLess(self.proxy.resident_bytes() - before, MEMORY_GROWTH_MAX)
        self.assert_marker()

    def test_a16_rapid_reset(self):
        """RFC 9113 §10.5; CVE-2023-44487"""
        pieces = []
        for stream in range(1, 2 * ATTACK_FRAMES, 2):
            pieces.append(h2.headers(stream, request_fields(path=f"/slow/{stream}")) + h2.rst(stream))
        self.assert_calmed(*pieces)
        wait_until(lambda: self.in_flight == 0, "nothing is left at the application")
        self.assertLessEqual(self.most_in_flight, 100)

    def test_a16_resets_that_the_server_is_made_to_send(self):
        """CVE-2025-8671"""
        pieces = []
        for stream in range(1, 2 * ATTACK_FRAMES, 2):
            opened = h2.headers(stream, request_fields("POST", path="/slow"), end=False)
            pieces.append(opened + h2.window_update(stream, 0))
        self.assert_calmed(*pieces)
        wait_until(lambda: self.in_flight == 0, "nothing is left at the application")

    def test_malformed_requests_without_end(self):
        pieces = [
            h2.headers(stream, request_fields(more=[("connection", "close")]))
            for stream in range(1, 2 * ATTACK_FRAMES, 2)
        ]
        self.assert_calmed(*pieces)

    def test_a16_continuations_without_end(self):
        """CVE-2024-27316"""
        begin = h2.headers(1, request_fields(), flags=0)
        more = h2.frame(h2.CONTINUATION, 0, 1, h2.block([("x", "y" * 1000)]))
        self.assert_calmed(begin, *[more] * ATTACK_FRAMES)

    def test_a16_pings(self):
        """CVE-2019-9512"""
        self.assert_calmed(*[h2.ping()] * ATTACK_FRAMES)

    def test_a16_settings(self):
        """CVE-2019-9515"""
        self.assert_calmed(*[h2.settings([(h2.INITIAL_WINDOW_SIZE, 70_000)])] * ATTACK_FRAMES)

    def test_large_settings(self):
        """CVE-2020-11080"""
        many = b"".join(struct.pack(">HI", 0x99, n) for n in range(2000))
        self.assert_calmed(h2.frame(h2.SETTINGS, 0, 0, many))

    def test_a16_empty_data(self):
        """CVE-2019-9518"""
        begin = h2.headers(1, request_fields("POST", path="/normal"), end=False)
        self.assert_calmed(begin, *[h2.data(1)] * ATTACK_FRAMES)

    def test_priorities(self):
        """CVE-2019-9513"""
        self.assert_calmed(*[h2.frame(h2.PRIORITY, 0, 1, b"\0\0\0\0\1")] * ATTACK_FRAMES)

    def test_unknown_frames(self):
        self.assert_calmed(*[h2.frame(0xEE, 0, 0, b"x")] * ATTACK_FRAMES)

    def test_tiny_window_updates(self):
        """CVE-2019-9511"""
        self.assert_calmed(*[h2.window_update(0, 1)] * ATTACK_FRAMES)

    def test_streams_over_the_limit(self):
        """RFC 9113 §5.1.2"""
        self.assert_calmed(
            *[
                h2.headers(stream, request_fields(path="/slow"))
                for stream in range(1, 2 * ATTACK_FRAMES, 2)
            ]
        )

    def test_an_hpack_bomb_is_431(self):
        """RFC 9113 §10.5.1; CVE-2016-6581: fields count by their decoded size"""
        before = self.proxy.resident_bytes()
        with Http2Client(self.proxy.port) as client:
            big = b"\x40" + b"\x06x-bomb" + b"\x7f\xa1\x1e" + b"b" * 4000
            fields = h2.block(request_fields())
            for stream in range(1, 41, 2):
                payload = fields + (big if stream == 1 else b"") + b"\xbe" * 10_000
                client.send(h2.frame(h2.HEADERS, h2.END_HEADERS | h2.END_STREAM, stream, payload))
            for response in client.responses(range(1, 41, 2)):
                self.assertEqual(response.status, 431)
            self.assertTrue(client.is_alive())
        self.assertLess(self.proxy.resident_bytes() - before, MEMORY_GROWTH_MAX)

    def test_stalled_windows_hold_bounded_memory(self):
        """CVE-2019-9517: large responses that are asked for and not taken"""
        self.app.respond = lambda request: reply(body=b"x" * 4_000_000)
        before = self.proxy.resident_bytes()
        clients = [
            Http2Client(self.proxy.port, first_settings=[(h2.INITIAL_WINDOW_SIZE, 0)])
            for _ in range(5)
        ]
        for client in clients:
            self.addCleanup(client.close)
            for _ in range(20):
                client.request(path="/large")
        wait_until(lambda: len(self.app.requests) == 100, "all are asked for")
        self.app.respond = self.answer
        self.assert_marker()
        # A block a stream on its way from the application, see ARCHITECTURE.md.
        self.assertLess(self.proxy.resident_bytes() - before, 100 * 160 * 1024)

    def test_a_client_that_does_not_read_is_closed(self):
        """CVE-2019-9517: what is written waits for `limits.idle` and no longer"""
        self.app.respond = lambda request: reply(body=b"x" * 4_000_000)
        client = Http2Client(
            self.proxy.port, first_settings=[(h2.INITIAL_WINDOW_SIZE, 0x7FFFFFFF)]
        )
        self.addCleanup(client.close)
        client.send(h2.window_update(0, 0x7FFF0000 - 65535))
        for _ in range(20):
            client.request(path="/large")
        wait_until(
            lambda: len(self.proxy.access_log(20, "/large")) == 20, "the requests ended", 20
        )

    def test_a_block_that_does_not_end_is_408(self):
        """RFC 9113 §10.5"""
        with Http2Client(self.proxy.port) as client:
            client.send(h2.headers(1, request_fields(), flags=0))
            client.goaway_error()
        self.assert_marker()

    def test_an_idle_connection_is_closed_in_order(self):
        """RFC 9113 §9.1"""
        with Http2Client(self.proxy.port) as client:
            client.fetch(path="/normal")
            self.assertEqual(client.goaway_error(), h2.NO_ERROR)
