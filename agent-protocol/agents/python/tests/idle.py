"""What the agent holds when it does nothing; run by test_failures.py."""

import os
import threading
import unittest

from .support.agents import AgentCase, simple


class Idle(AgentCase):
    def test_nothing_is_left_when_idle(self):
        def held():
            return (
                len(os.listdir("/proc/self/fd")),
                threading.active_count(),
                len(os.listdir("/proc/self/task")),
            )

        self.profile_of(simple)
        self.agent.uploader.wait_until_idle(10)
        before = held()
        for _ in range(20):
            self.profile_of(simple)
        self.agent.uploader.wait_until_idle(10)
        self.assertEqual(held(), before)

    def test_no_thread_or_descriptor_before_the_first_profile(self):
        before = len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))
        self.assertEqual(self.profiled(simple, sig="A" * 22)[1], "bad-sig")
        self.assertEqual(
            (len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))), before
        )


if __name__ == "__main__":
    unittest.main()
