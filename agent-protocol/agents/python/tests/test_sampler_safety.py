"""The C sampler among threads, signals, forks and stacks that change quickly."""

import functools
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

from flamegate import _sampler

from .support.application import spin
from .test_sampler import MS, part_a, part_b, read, record


class Threads(unittest.TestCase):
    def test_other_threads_are_not_recorded(self):
        stop = threading.Event()

        def heavy_other():
            while not stop.is_set():
                part_b(0.001)

        others = [threading.Thread(target=heavy_other) for _ in range(2)]
        for other in others:
            other.start()
        profile, stats, wall, cpu = record(lambda: part_a(0.2))
        stop.set()
        for other in others:
            other.join()
        gil = 100 * profile.by_state("wall")["gil"] / wall
        truth = 100 * (wall - cpu) / wall
        print(
            f"\nthreads: gil {gil:.0f} %, not on a CPU by the clocks {truth:.0f} %; "
            f"{stats['taken']} of {stats['expected']} ticks"
        )
        self.assertNotIn("heavy_other", " ".join(profile.functions()))
        self.assertNotIn("part_b", profile.functions())
        self.assertGreater(gil, truth / 4)  # the rest waited for a CPU
        self.assertLess(gil, truth + 5)

    def test_several_threads_are_recorded_at_once(self):
        def run(name, results):
            space = {"spin": spin}
            exec(f"def only_{name}():\n    spin(0.1)", space)
            results[name] = record(space[f"only_{name}"])[0]

        results = {}
        threads = [threading.Thread(target=run, args=(name, results)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name in "abcd":
            own = {
                function for function in results[name].functions() if function.startswith("only_")
            }
            self.assertEqual(own, {f"only_{name}"})

    def test_a_capture_may_be_stopped_by_another_thread(self):
        for _ in range(50):
            box, go = [], threading.Event()

            def recorded():
                box.append(_sampler.start(MS // 20, 60_000 * MS))
                go.set()
                part_a(0.01)

            thread = threading.Thread(target=recorded)
            thread.start()
            go.wait()
            box[0].stop()
            read(box[0])
            box[0].release()
            thread.join()

    def test_a_thread_may_end_while_it_is_recorded(self):
        box = []
        thread = threading.Thread(target=lambda: box.append(_sampler.start(MS // 10, 60_000 * MS)))
        thread.start()
        thread.join()
        spin(0.02)
        box[0].stop()
        box[0].release()

    def test_threads_may_end_at_any_tick(self):
        for _ in range(300):
            box = []
            start = functools.partial(_sampler.start, MS // 100, 60_000 * MS)
            thread = threading.Thread(target=lambda: box.append(start()))
            thread.start()
            thread.join()
            box[0].release()


class Signals(unittest.TestCase):
    def test_blocking_calls_take_their_full_time(self):
        left, right = socket.socketpair()
        self.addCleanup(left.close)
        self.addCleanup(right.close)
        left.settimeout(0.1)
        lock = threading.Lock()
        lock.acquire()

        def blocking():
            time.sleep(0.1)
            select.select([], [], [], 0.1)
            select.poll().poll(100)
            with self.assertRaises(socket.timeout):
                left.recv(1)
            threading.Event().wait(0.1)
            lock.acquire(timeout=0.1)
            subprocess.run(["sleep", "0.1"], check=True)

        profile, _, wall, _ = record(blocking, period_ms=0.2)
        waiting = 100 * profile.by_state("wall")["waiting"] / wall
        print(
            f"\nEINTR: seven blocking calls of 100 ms took {wall / MS:.0f} ms, {waiting:.0f} "
            f"% waiting"
        )
        self.assertGreaterEqual(wall, 690 * MS)
        self.assertGreater(waiting, 70)

    def test_data_arrives_while_a_read_is_interrupted(self):
        reader, writer = os.pipe()

        def feed():
            for _ in range(20):
                spin(0.005)
                os.write(writer, b"x" * 1000)
            os.close(writer)

        thread = threading.Thread(target=feed)
        thread.start()
        received = []

        def drain():
            while True:
                chunk = os.read(reader, 4096)
                if not chunk:
                    return
                received.append(chunk)

        record(drain, period_ms=0.1)
        thread.join()
        os.close(reader)
        self.assertEqual(sum(map(len, received)), 20_000)

    def test_the_applications_own_timers_and_handlers_work(self):
        ticks = []
        before = signal.signal(signal.SIGALRM, lambda *_: ticks.append(1))
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        try:
            profile, *_ = record(lambda: spin(0.2))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.assertGreater(len(ticks), 8)
        self.assertGreater(len(profile.samples), 100)

    def test_a_signal_that_the_application_takes_is_left_to_it(self):
        script = (
            "import signal, time, sys\n"
            "from flamegate import _sampler\n"
            "_sampler.start(1000000, 10**9).release()\n"
            "got = []\n"
            "signal.signal(signal.SIGURG, lambda *a: got.append(1))\n"
            "c = _sampler.start(1000000, 10**11)\n"
            "end = time.thread_time() + 0.1\n"
            "while time.thread_time() < end: pass\n"
            "c.stop()\n"
            "print(len(got), c.stats()['taken'] > 20)\n"
        )
        result = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        self.assertEqual(result.stdout.split(), ["0", "True"])

    def test_a_thread_that_blocks_all_signals_is_recorded(self):
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            _, stats, *_ = record(lambda: spin(0.05))
            self.assertIn(signal.SIGURG, signal.pthread_sigmask(signal.SIG_BLOCK, []))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.assertGreater(stats["taken"], 20)


class Forks(unittest.TestCase):
    def test_a_child_starts_clean(self):
        capture = _sampler.start(MS // 5, 60_000 * MS)
        outcomes = []
        for _ in range(5):
            child = os.fork()
            if child == 0:
                try:
                    capture.stop()
                    os._exit(1)  # must have ended
                except RuntimeError:
                    profile, *_ = record(lambda: part_b(0.05))
                    os._exit(
                        0 if len(profile.samples) > 10 and "part_b" in profile.functions() else 2
                    )
            outcomes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        part_a(0.02)
        capture.stop()
        profile = read(capture)
        capture.release()
        self.assertEqual(outcomes, [0] * 5)
        self.assertIn("part_a", profile.functions())
        self.assertNotIn("part_b", profile.functions())

    def test_fork_of_a_large_process_ends_under_a_fast_clock(self):
        ballast = [
            bytearray(4096) for _ in range(60_000)
        ]  # copying its page table takes longer than a period

        def fork():
            for _ in range(3):
                child = os.fork()
                if child == 0:
                    os._exit(0)
                os.waitpid(child, 0)

        _, stats, wall, _ = record(fork, period_ms=0.1)
        print(f"\nfork: 3 forks of a {len(ballast) * 4 // 1024} MiB process in {wall / MS:.0f} ms")

    def test_programs_that_are_executed_are_not_disturbed(self):
        def execute():
            for _ in range(10):
                subprocess.run([sys.executable, "-S", "-c", "pass"], check=True)

        record(execute, period_ms=0.1)

    def test_executing_another_program_in_place_is_safe(self):
        script = (
            "import os, sys\n"
            "from flamegate import _sampler\n"
            "_sampler.start(50000, 10**10)\n"
            "os.execv('/bin/true', ['true'])\n"
        )
        for _ in range(20):
            self.assertEqual(subprocess.run([sys.executable, "-c", script]).returncode, 0)


class Hostile(unittest.TestCase):
    """Stacks that change as fast as they can, at 20 kHz."""

    def churn(self, seconds):
        class Item:
            def __init__(self, n):
                self.n = n

            def __lt__(self, other):
                return self.n < other.n

            def __del__(self):
                pass

        def nest(n):
            return nest(n - 1) + 1 if n else 0

        def leaf():
            return 1

        def at_depth(n):
            if n:
                return at_depth(n - 1)
            for _ in range(100):
                leaf()

        until, k = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            sorted(Item(i * 7919 % 101) for i in range(50))
            list(map(lambda x: x + 1, (i for i in range(30))))
            nest(k % 600)
            at_depth(k % 300)
            for j in range(10):
                eval(f"(lambda: {k} + {j})()")
            k += 1

    def test_no_fault_and_few_unreadable_stacks(self):
        _, stats, wall, _ = record(lambda: self.churn(3), period_ms=0.05)
        unreadable = 100 * stats["unreadable"] / stats["expected"]
        print(
            f"\nhostile: {stats['expected']} ticks, {unreadable:.2f} % unreadable, "
            f"{stats['taken']} samples"
        )
        self.assertLess(unreadable, 5)

    def test_no_fault_in_three_threads(self):
        threads = [
            threading.Thread(target=record, args=(lambda: self.churn(2), 0.05)) for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(_sampler.kept_code(), 0)


if __name__ == "__main__":
    unittest.main()
