"""What the agent does when it is refused, breaks, forks or is switched off."""

import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

from flamegate import recording as recordings
from flamegate.agent import ERRORS_MAX
from flamegate.middleware import wrap

from .support.agents import AgentCase, simple
from .support.application import ack_of, call
from .support.orders import SECRET, fields_of, header, new_id


class Failures(AgentCase):
    def test_at_most_two_requests_at_once(self):
        inside, leave = threading.Barrier(3), threading.Event()

        def waiting(environ, start_response):
            inside.wait()
            leave.wait()
            return simple(environ, start_response)

        threads = [threading.Thread(target=self.profiled, args=(waiting,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        inside.wait()
        self.assertEqual([self.profiled(simple)[1] for _ in range(3)], ["busy"] * 3)
        leave.set()
        for thread in threads:
            thread.join()
        self.assertEqual(self.profiled(simple)[1], "started")
        self.control.wait(3)

    def test_three_own_errors_switch_the_agent_off_for_ten_minutes(self):
        with mock.patch.object(recordings._sampler, "start", side_effect=OSError(22, "broken")):
            with self.assertLogs("flamegate", "WARNING"):
                for _ in range(ERRORS_MAX):
                    response, state, _ = self.profiled(simple)
                    self.assertEqual((state, response[2]), ("error", b"hello"))
        self.assertEqual(self.profiled(simple)[1], "off")
        now = time.monotonic()
        with mock.patch("flamegate.agent.time.monotonic", return_value=now + 599):
            self.assertEqual(self.profiled(simple)[1], "off")
        with mock.patch("flamegate.agent.time.monotonic", return_value=now + 601):
            self.assertEqual(self.profiled(simple)[1], "started")
        self.assertEqual(self.agent.by_thread, {})

    def test_an_error_at_the_end_leaves_the_response_alone(self):
        with mock.patch.object(recordings.Recording, "stop", side_effect=RuntimeError("broken")):
            with self.assertLogs("flamegate", "WARNING"):
                response, state, _ = self.profiled(simple)
        self.assertEqual((response[2], state), (b"hello", "started"))
        self.assertEqual(self.profiled(simple)[1], "started")

    def test_greenlets_are_not_recorded(self):
        class Greenlet:
            parent = object()

        with mock.patch.dict(sys.modules, {"greenlet": mock.Mock(getcurrent=Greenlet)}):
            self.assertEqual(self.profiled(simple)[1], "unsupported")

    def test_without_the_extension_requests_run(self):
        with mock.patch.object(recordings, "_sampler", None):
            self.assertEqual(self.profiled(simple)[1], "unsupported")

    def test_without_a_secret_the_agent_does_nothing(self):
        with self.assertLogs("flamegate", "WARNING") as logs:
            agent = self.make_agent()
            for _ in range(3):
                self.assertIsNone(ack_of(call(wrap(simple, agent), header(new_id()))[1]))
        self.assertEqual(len(logs.output), 1)

    def test_a_secret_that_appears_later_is_found(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "key")
            with self.assertLogs("flamegate", "WARNING"):
                agent = self.make_agent(FLAMEGATE_SECRET_FILE=path)
            self.assertIsNone(ack_of(call(wrap(simple, agent), header(new_id()))[1]))
            with open(path, "wb") as file:
                file.write(SECRET)
            agent._keyring._looked_at -= 1.0
            self.assertEqual(
                fields_of(ack_of(call(wrap(simple, agent), header(new_id()))[1]))["st"], "started"
            )

    def test_a_child_does_not_upload_its_parents_recording(self):
        def forking(environ, start_response):
            child = os.fork()
            if child:
                self.child_status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            self.is_child = child == 0
            return simple(environ, start_response)

        _, state, profile_id = self.profiled(forking)
        if self.is_child:
            clean = (
                not self.agent.by_thread
                and self.agent.uploader.pending() == 0
                and not self.agent.uploader._started
            )
            started = self.profiled(simple)[1] == "started" and self.agent.uploader.wait_until_idle(
                10
            )
            os._exit(0 if clean and started else 1)
        self.assertEqual((self.child_status, state), (0, "started"))
        uploads = self.control.wait(2)
        self.assertEqual(sorted(u.id == profile_id for u in uploads), [False, True])
        self.assertEqual(len({u.meta["pid"] for u in uploads}), 2)

    def test_nothing_is_held_before_the_first_profile_and_when_idle(self):
        # In a process of its own, where no other test's threads and sockets come and go.
        command = [sys.executable, "-m", "unittest", "tests.idle"]
        folder = os.path.join(os.path.dirname(__file__), "..")
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)


class Disabled(AgentCase):
    environment = {"FLAMEGATE_DISABLE": "1"}

    def test_a_disabled_agent_answers_off(self):
        self.assertEqual(self.profiled(simple)[1], "off")


if __name__ == "__main__":
    unittest.main()
