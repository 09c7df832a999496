"""The middleware: what the application and the server see, and what is recorded."""

import os
import sys
import tempfile
import threading
import time
import timeit
import unittest
import wsgiref.util
from unittest import mock

from flamegate import recording as recordings
from flamegate.agent import ERRORS_MAX, Agent
from flamegate.middleware import wrap

from .support.application import ack_of, call, spin
from .support.control import Control
from .support.orders import KEY, SECRET, fields_of, header, new_id


def app_part(seconds):
    spin(seconds)


def simple(environ, start_response):
    app_part(0.02)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"hello"]


class AgentCase(unittest.TestCase):
    """An agent with a secret, uploading to a control of its own."""

    environment = {}

    def setUp(self):
        self.control = Control(KEY)
        self.addCleanup(self.control.close)
        secret = tempfile.NamedTemporaryFile()
        self.addCleanup(secret.close)
        secret.write(SECRET + b"\n")
        secret.flush()
        self.agent = self.make_agent(FLAMEGATE_SECRET_FILE=secret.name)

    def make_agent(self, **environ):
        return Agent({"FLAMEGATE_URL": self.control.url, "FLAMEGATE_SERVICE": "shop", **environ, **self.environment})

    def profiled(self, application, **options):
        """Calls with a valid header; returns the response and the state acknowledged."""
        profile_id = new_id()
        response = call(wrap(application, self.agent), header(profile_id, **options))
        ack = ack_of(response[1])
        self.assertEqual(fields_of(ack)["id"], profile_id)
        return response, fields_of(ack)["st"], profile_id

    def profile_of(self, application, **options):
        _, state, profile_id = self.profiled(application, **options)
        self.assertEqual(state, "started")
        return self.control.upload(profile_id)


class Responses(AgentCase):
    def test_without_the_header_the_applications_own_answer_comes_back(self):
        result = [b"x"]
        start = object()
        application = mock.Mock(return_value=result)
        environ = {"REQUEST_METHOD": "GET"}
        self.assertIs(wrap(application, self.agent)(environ, start), result)
        application.assert_called_once_with(environ, start)

    def test_an_absent_header_costs_less_than_a_microsecond(self):
        def application(environ, start_response):
            return environ

        wrapped, environ = wrap(application, self.agent), {str(i): i for i in range(40)}
        plain, ours = (min(timeit.repeat(lambda: f(environ, None), number=20_000, repeat=15)) / 20_000
                       for f in (application, wrapped))
        print(f"\nabsent header: {(ours - plain) * 1e9:.0f} ns more than {plain * 1e9:.0f} ns")
        self.assertLess(ours - plain, 1e-6)

    def test_a_profiled_response_is_the_same_but_for_the_acknowledgement(self):
        plain = call(simple)
        response, state, _ = self.profiled(simple)
        self.assertEqual(state, "started")
        self.assertEqual(response[0], plain[0])
        self.assertEqual([pair for pair in response[1] if pair[0] != "Flamegate-Ack"], plain[1])
        self.assertEqual(response[2], plain[2])

    def test_the_applications_list_of_headers_is_not_changed(self):
        headers = [("A", "b")]

        def application(environ, start_response):
            start_response("200 OK", headers)
            return [b""]

        self.profiled(application)
        self.assertEqual(headers, [("A", "b")])

    def test_the_application_does_not_see_the_header(self):
        seen = []

        def application(environ, start_response):
            seen.extend(key for key in environ if "FLAMEGATE" in key)
            return simple(environ, start_response)

        self.profiled(application)
        self.assertEqual(seen, [])

    def test_malformed_headers_get_no_acknowledgement(self):
        for text in ("", "x", "v=1", header(new_id()) + ";", header("UPPER"), "v=1;" + "x" * 600):
            response = call(wrap(simple, self.agent), text)
            self.assertIsNone(ack_of(response[1]), text)
            self.assertEqual(response[2], b"hello")

    def test_refusals_are_acknowledged_and_the_request_runs(self):
        now = int(time.time() * 1000)
        cases = {"bad-sig": {"sig": "A" * 22}, "expired": {"ts": now - 20_000}, "unsupported": {"v": "2"}}
        for state, options in cases.items():
            response, answered, _ = self.profiled(simple, **options)
            self.assertEqual(answered, state)
            self.assertEqual(response[2], b"hello")
        self.assertEqual(self.profiled(simple, svc="other")[1], "bad-sig")
        self.assertEqual(self.control.requests(), 0)

    def test_a_second_request_with_the_same_header_is_a_replay(self):
        text = header(new_id())
        wrapped = wrap(simple, self.agent)
        states = [fields_of(ack_of(call(wrapped, text)[1]))["st"] for _ in range(3)]
        self.assertEqual(states, ["started", "replay", "replay"])

    def test_the_method_is_signed(self):
        profile_id = new_id()
        response = call(wrap(simple, self.agent), header(profile_id, "GET"), "POST")
        self.assertEqual(fields_of(ack_of(response[1]))["st"], "bad-sig")

    def test_exc_info_and_write_pass_through(self):
        seen = []

        def application(environ, start_response):
            start_response("200 OK", [])
            try:
                raise ValueError("late")
            except ValueError:
                write = start_response("500 Oops", [("X", "y")], sys.exc_info())
            write(b"written ")
            return iter([b"and iterated"])

        def start_response(status, headers, exc_info=None):
            seen.append((status, headers, exc_info))
            return written.append

        written = []
        result = wrap(application, self.agent)(
            {"REQUEST_METHOD": "GET", "HTTP_FLAMEGATE_PROFILE": header(new_id())}, start_response)
        self.assertEqual(written + list(result), [b"written ", b"and iterated"])
        result.close()
        self.assertEqual([status for status, _, _ in seen], ["200 OK", "500 Oops"])
        self.assertIsNone(seen[0][2])
        self.assertIs(seen[1][2][0], ValueError)
        self.assertEqual([name for name, _ in seen[1][1]], ["X", "Flamegate-Ack"])

    def test_exceptions_of_the_application_pass_and_are_profiled(self):
        for error in (KeyError("x"), SystemExit(3)):
            def application(environ, start_response):
                app_part(0.01)
                raise error

            profile_id = new_id()
            with self.assertRaises(type(error)) as caught:
                call(wrap(application, self.agent), header(profile_id))
            self.assertIs(caught.exception, error)
            self.assertIn("app_part", self.control.upload(profile_id).profile.functions())
        self.assertEqual(self.agent.by_thread, {})

    def test_lists_and_files_reach_the_server_as_they_are(self):
        class FileWrapper(wsgiref.util.FileWrapper):
            pass

        for result in ([b"one"], (b"one",), FileWrapper(open(__file__, "rb"))):
            def application(environ, start_response):
                start_response("200 OK", [])
                return result

            got = wrap(application, self.agent)(
                {"REQUEST_METHOD": "GET", "HTTP_FLAMEGATE_PROFILE": header(new_id()), "wsgi.file_wrapper": FileWrapper},
                lambda *_: None)
            self.assertIs(got, result)
            self.assertEqual(self.agent.by_thread, {})
        got.close()
        self.control.wait(3)

    def test_iterables_keep_their_length(self):
        class Chunks:
            def __iter__(self):
                return iter([b"a", b"b"])

            def __len__(self):
                return 2

        for chunks, sized in ((Chunks(), True), (iter([b"a", b"b"]), False)):
            result = wrap(lambda environ, start: chunks, self.agent)(
                {"REQUEST_METHOD": "GET", "HTTP_FLAMEGATE_PROFILE": header(new_id())}, lambda *_: None)
            self.assertEqual(hasattr(result, "__len__"), sized)
            self.assertEqual(list(result), [b"a", b"b"])
            result.close()


class Streams(AgentCase):
    def test_a_stream_is_recorded_until_it_is_closed(self):
        closed = []

        class Stream:
            def __iter__(self):
                for _ in range(3):
                    self.produce()
                    yield b"x"

            def produce(self):
                spin(0.02)

            def close(self):
                closed.append(1)
                self.clean_up()

            def clean_up(self):
                spin(0.02)

        def application(environ, start_response):
            start_response("200 OK", [])
            return Stream()

        upload = self.profile_of(application)
        functions = {name.rpartition(".")[2] for name in upload.profile.functions()}
        self.assertEqual(closed, [1])
        self.assertTrue({"produce", "clean_up"} <= functions, functions)
        self.assertGreater(upload.profile.total("wall"), 75e6)

    def test_a_generator_application_is_acknowledged(self):
        def application(environ, start_response):
            start_response("200 OK", [])
            app_part(0.02)
            yield b"x"

        self.assertIn("app_part", self.profile_of(application).profile.functions())

    def test_errors_in_the_stream_pass_and_close_ends_the_recording(self):
        def application(environ, start_response):
            start_response("200 OK", [])
            yield b"x"
            raise OSError("broken")

        profile_id = new_id()
        with self.assertRaisesRegex(OSError, "broken"):
            call(wrap(application, self.agent), header(profile_id))
        self.control.upload(profile_id)

    def test_a_stream_that_is_never_closed_ends_before_the_threads_next_request(self):
        def stream(environ, start_response):
            start_response("200 OK", [])
            app_part(0.02)
            yield b"x"

        def other_request(environ, start_response):
            spin(0.05)
            return simple(environ, start_response)

        profile_id = new_id()
        wrapped = wrap(stream, self.agent)
        began = time.monotonic_ns()
        result = wrapped({"REQUEST_METHOD": "GET", "HTTP_FLAMEGATE_PROFILE": header(profile_id)}, lambda *_: None)
        next(iter(result))
        took = time.monotonic_ns() - began
        time.sleep(0.05)  # the server does something else
        call(wrap(other_request, self.agent))
        profile = self.control.upload(profile_id).profile
        self.assertIn("app_part", profile.functions())
        self.assertNotIn("other_request", " ".join(profile.functions()))
        self.assertLessEqual(profile.total("wall"), took)
        result.close()
        self.assertEqual(self.agent.by_thread, {})

    def test_a_stream_that_another_thread_takes_over_ends_there(self):
        def stream(environ, start_response):
            start_response("200 OK", [])
            yield b"x"
            yield b"y"

        profile_id, rest = new_id(), []
        began = time.monotonic_ns()
        result = wrap(stream, self.agent)(
            {"REQUEST_METHOD": "GET", "HTTP_FLAMEGATE_PROFILE": header(profile_id)}, lambda *_: None)
        first = next(result)
        took = time.monotonic_ns() - began
        time.sleep(0.05)
        thread = threading.Thread(target=lambda: rest.extend(result))
        thread.start()
        thread.join()
        result.close()
        self.assertEqual([first] + rest, [b"x", b"y"])
        self.assertLessEqual(self.control.upload(profile_id).profile.total("wall"), took)

    def test_an_application_may_call_itself(self):
        def inner(environ, start_response):
            app_part(0.02)
            return simple(environ, start_response)

        wrapped_inner = wrap(inner, self.agent)

        def outer(environ, start_response):
            call(wrapped_inner)
            return simple(environ, start_response)

        profile = self.profile_of(outer).profile
        self.assertGreater(profile.by_function("wall")["app_part"], 50e6)


class Profiles(AgentCase):
    def test_the_profile_is_of_the_request_and_nothing_else(self):
        def busy():
            while not done.is_set():
                spin(0.001)

        done = threading.Event()
        other = threading.Thread(target=busy)
        other.start()
        upload = self.profile_of(simple)
        done.set()
        other.join()
        names = upload.profile.functions()
        self.assertTrue({"simple", "app_part", "spin"} <= names)
        self.assertFalse([name for name in names if "busy" in name])
        self.assertTrue(all(sample.stack[-1].function == "call" for sample in upload.profile.samples))
        files = {frame.file for sample in upload.profile.samples for frame in sample.stack}
        self.assertFalse([file for file in files if os.path.dirname(file).endswith("flamegate")])

    def test_meta_tells_the_conditions(self):
        upload = self.profile_of(simple, us=2000, max=5000)
        meta, profile = upload.meta, upload.profile
        self.assertEqual((meta["agent"], meta["runtime"]), (recordings.AGENT, recordings.RUNTIME))
        self.assertEqual((meta["pid"], meta["period_us"], meta["attribution"]), (os.getpid(), 2000, "thread"))
        self.assertEqual((meta["start_unix_ns"], meta["end_unix_ns"]),
                         (profile.time_nanos, profile.time_nanos + profile.duration_nanos))
        self.assertEqual(meta["ticks"]["taken"], len(profile.samples))
        self.assertEqual(meta["ticks"]["expected"], meta["ticks"]["taken"] + meta["ticks"]["missed"])
        self.assertIs(meta["truncated"], False)
        self.assertGreater(meta["overhead_ns"], 0)
        self.assertNotIn("route", meta)
        self.assertEqual(upload.part.split("-")[0], str(os.getpid()))

    def test_periods_below_what_can_be_held_are_raised(self):
        self.assertEqual(self.profile_of(simple, us=1).meta["period_us"], recordings.PERIOD_US_MIN)

    def test_the_recording_stops_at_its_maximum_and_says_so(self):
        upload = self.profile_of(simple, max=5)
        self.assertTrue(upload.meta["truncated"])
        self.assertEqual(upload.profile.total("wall"), 5_000_000)

    def test_the_mode_chooses_the_default_sample_type(self):
        for mode, expected in (("wall", "wall"), ("cpu", "cpu"), ("both", "wall")):
            self.assertEqual(self.profile_of(simple, mode=mode).profile.default_sample_type, expected)

    def test_routes_of_frameworks_are_told(self):
        class Rule:
            rule = "/orders/<id>"

        class Request:
            url_rule = Rule

        def application(environ, start_response):
            environ["werkzeug.request"] = Request
            return simple(environ, start_response)

        with mock.patch.dict(sys.modules, {"werkzeug": mock.Mock()}):
            self.assertEqual(self.profile_of(application).meta["route"], "/orders/<id>")

    def test_wrapping_twice_is_wrapping_once(self):
        wrapped = wrap(simple, self.agent)
        self.assertIs(wrap(wrapped, self.agent), wrapped)

    def test_weights_sum_to_the_requests_time(self):
        took = []

        def application(environ, start_response):
            began = time.monotonic_ns()
            spin(0.1)
            time.sleep(0.1)
            result = simple(environ, start_response)
            took.append(time.monotonic_ns() - began)
            return result

        percent = 100 * self.profile_of(application).profile.total("wall") / took[0]
        print(f"\nweights of a request: {percent:.2f} % of its time")
        self.assertTrue(97 <= percent <= 101, percent)


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
            self.assertEqual(fields_of(ack_of(call(wrap(simple, agent), header(new_id()))[1]))["st"], "started")

    def test_a_child_does_not_upload_its_parents_recording(self):
        def forking(environ, start_response):
            child = os.fork()
            if child:
                self.child_status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            self.is_child = child == 0
            return simple(environ, start_response)

        _, state, profile_id = self.profiled(forking)
        if self.is_child:
            clean = not self.agent.by_thread and self.agent.uploader.pending() == 0 and not self.agent.uploader._started
            started = self.profiled(simple)[1] == "started" and self.agent.uploader.wait_until_idle(10)
            os._exit(0 if clean and started else 1)
        self.assertEqual((self.child_status, state), (0, "started"))
        uploads = self.control.wait(2)
        self.assertEqual(sorted(u.id == profile_id for u in uploads), [False, True])
        self.assertEqual(len({u.meta["pid"] for u in uploads}), 2)

    def test_nothing_is_left_when_idle(self):
        def held():
            return (len(os.listdir("/proc/self/fd")), threading.active_count(), len(os.listdir("/proc/self/task")))

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
        self.assertEqual((len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))), before)


class Disabled(AgentCase):
    environment = {"FLAMEGATE_DISABLE": "1"}

    def test_a_disabled_agent_answers_off(self):
        self.assertEqual(self.profiled(simple)[1], "off")


if __name__ == "__main__":
    unittest.main()
