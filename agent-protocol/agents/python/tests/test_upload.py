"""The way to control: latency, retries, limits, connections."""

import http.client
import os
import socket
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

from flamegate import upload as uploads
from flamegate.header import ProfileRequest
from flamegate.recording import Recording
from flamegate.upload import Uploader

from .support.application import spin
from .support.control import Control
from .support.orders import KEY, new_id


def recorded(seconds=0.002):
    recording = Recording(ProfileRequest(new_id(), KEY, "wall", 1000, 30_000))
    spin(seconds)
    recording.stop()
    return recording


class Uploads(unittest.TestCase):
    def setUp(self):
        self.control = Control(KEY)
        self.addCleanup(self.control.close)
        self.sleep = mock.Mock()
        self.uploader = Uploader(self.control.url, self.sleep)

    def offer(self, count=1):
        ids = []
        for _ in range(count):
            recording = recorded()
            ids.append(recording.request.id)
            self.uploader.offer(recording)
        return ids

    def settle(self):
        self.assertTrue(self.uploader.wait_until_idle(20))

    def test_small_profiles_are_with_control_at_once(self):
        latencies = []
        for _ in range(50):
            recording = recorded(0.05)
            offered = time.monotonic_ns()
            self.uploader.offer(recording)
            latencies.append(
                (self.control.upload(recording.request.id).received_ns - offered) / 1e6
            )
        latencies.sort()
        print(
            f"\nupload: median {latencies[25]:.1f} ms, 9 of 10 within {latencies[44]:.1f} ms, "
            f"first to last over "
            f"{len(self.control.connections)} connection(s)"
        )
        self.sleep.assert_not_called()

    def test_one_connection_is_kept(self):
        for _ in range(5):
            self.offer()
            self.settle()
        self.assertEqual(len(self.control.connections), 1)

    def test_a_connection_that_control_has_closed_is_replaced_without_waiting(self):
        self.offer()
        self.settle()
        self.uploader._connection._http.sock.shutdown(socket.SHUT_RDWR)
        self.offer()
        self.settle()
        self.sleep.assert_not_called()
        self.assertEqual((len(self.control.uploads), len(self.control.connections)), (2, 2))

    def test_busy_answers_are_retried_as_asked(self):
        self.control.answers = [(503, {"Retry-After": "1"}), (429, {})]
        self.offer()
        self.settle()
        self.assertEqual(self.control.statuses, [503, 429, 201])
        self.assertGreaterEqual(self.sleep.call_args_list[0][0][0], 1)
        self.assertEqual((self.uploader.uploaded, self.uploader.failed), (1, 0))

    def test_it_gives_up_after_three_tries(self):
        self.control.answers = [(503, {})] * 3
        self.offer(2)
        self.settle()
        self.assertEqual(self.control.statuses, [503, 503, 503, 201])
        self.assertEqual((self.uploader.uploaded, self.uploader.failed), (1, 1))

    def test_it_does_not_wait_longer_than_its_window(self):
        self.control.answers = [(503, {"Retry-After": "60"})]
        self.offer()
        self.settle()
        self.sleep.assert_not_called()
        self.assertEqual(self.control.statuses, [503])

    def test_other_answers_are_final(self):
        for status in (200, 400, 401, 404, 409, 413, 415, 422, 500):
            self.control.answers = [(status, {})]
            self.offer()
            self.settle()
        self.assertEqual(self.control.requests(), 9)
        self.assertEqual((self.uploader.uploaded, self.uploader.failed), (1, 8))

    def test_a_dead_control_is_tried_three_times(self):
        uploader = Uploader("http://127.0.0.1:9", self.sleep)
        uploader.offer(recorded())
        self.assertTrue(uploader.wait_until_idle(20))
        self.assertEqual((self.sleep.call_count, uploader.failed), (2, 1))

    def test_each_try_is_signed_anew(self):
        auths = []
        real = http.client.HTTPConnection.request

        def request(connection, method, path, body, headers):
            auths.append(headers["Flamegate-Auth"])
            return real(connection, method, path, body, headers)

        self.control.answers = [(503, {})]
        with mock.patch.object(http.client.HTTPConnection, "request", request):
            self.offer()
            self.settle()
        self.assertEqual(len(set(auths)), 2)

    def test_parts_count_up(self):
        self.offer(3)
        self.settle()
        self.assertEqual(
            [u.part for u in self.control.uploads], [f"{os.getpid()}-{i}" for i in range(3)]
        )

    def test_of_more_than_eight_the_oldest_are_dropped(self):
        gate = threading.Event()
        with mock.patch.object(
            uploads.Connection, "post", side_effect=lambda *_: (gate.wait(), (201, {}))[1]
        ) as post:
            first = self.offer()[0]
            while self.uploader.pending() and self.uploader._queue:
                time.sleep(0.001)
            ids = self.offer(11)
            self.assertEqual((self.uploader.dropped, self.uploader.pending()), (3, 9))
            gate.set()
            self.settle()
        sent = [call[0][0].split("/")[4] for call in post.call_args_list]
        self.assertEqual(sent, [first] + ids[3:])

    def test_of_more_than_sixteen_mebibytes_the_oldest_are_dropped(self):
        class Large:
            bytes = 6 << 20
            request = ProfileRequest("x")

            def drop(self):
                dropped.append(self)

        dropped, large = [], [Large() for _ in range(4)]
        with mock.patch.object(uploads._thread, "start_new_thread"):
            for recording in large:
                self.uploader.offer(recording)
        self.assertEqual(dropped, large[:2])

    def test_a_profile_of_a_long_deep_request_fits(self):
        def deep(n):
            return deep(n - 1) if n else spin(4)

        recording = Recording(ProfileRequest(new_id(), KEY, "wall", 100, 30_000))
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(3000)
        deep(600)
        sys.setrecursionlimit(limit)
        recording.stop()
        began = time.monotonic()
        upload = recording.encode("host")
        print(
            f"\nlarge: {recording._stats['taken']} samples 512 deep, "
            f"{len(upload.body) / 1024:.0f} KiB, encoded in "
            f"{(time.monotonic() - began) * 1000:.0f} ms"
        )
        self.assertLess(len(upload.body), 4 << 20)

    def test_what_waits_at_exit_is_sent(self):
        script = (
            "import sys, time\n"
            "from tests.test_upload import recorded\n"
            "from flamegate.agent import Agent\n"
            "agent = Agent({'FLAMEGATE_URL': sys.argv[1], 'FLAMEGATE_SECRET_FILE': '/nowhere'})\n"
            "agent.uploader.offer(recorded())\n"
        )
        subprocess.run(
            [sys.executable, "-c", script, self.control.url],
            check=True,
            capture_output=True,
            cwd=os.path.join(os.path.dirname(__file__), ".."),
        )
        self.control.wait(1)


if __name__ == "__main__":
    unittest.main()
