"""The middleware: what the application and the server see, and what is recorded."""

import os
import sys
import threading
import time
import timeit
import unittest
import wsgiref.util
from unittest import mock

from flamegate import recording as recordings
from flamegate.middleware import wrap

from .support.agents import AgentCase, app_part, simple
from .support.application import ack_of, call, spin
from .support.orders import fields_of, header, new_id


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
        plain, ours = (
            min(timeit.repeat(lambda: f(environ, None), number=20_000, repeat=15)) / 20_000
            for f in (application, wrapped)
        )
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
        cases = {
            "bad-sig": {"sig": "A" * 22},
            "expired": {"ts": now - 20_000},
            "unsupported": {"v": "2"},
        }
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
            {"REQUEST_METHOD": "GET", "HTTP_FLAMEGATE_PROFILE": header(new_id())}, start_response
        )
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
                {
                    "REQUEST_METHOD": "GET",
                    "HTTP_FLAMEGATE_PROFILE": header(new_id()),
                    "wsgi.file_wrapper": FileWrapper,
                },
                lambda *_: None,
            )
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
                {"REQUEST_METHOD": "GET", "HTTP_FLAMEGATE_PROFILE": header(new_id())},
                lambda *_: None,
            )
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
        result = wrapped(
            {"REQUEST_METHOD": "GET", "HTTP_FLAMEGATE_PROFILE": header(profile_id)}, lambda *_: None
        )
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
            {"REQUEST_METHOD": "GET", "HTTP_FLAMEGATE_PROFILE": header(profile_id)}, lambda *_: None
        )
        first = next(result)
        took = time.monotonic_ns() - began
        time.sleep(0.05)
        thread = threading.Thread(target=lambda: rest.extend(result))
        thread.start()
        thread.join()
        result.close()
        self.assertEqual([first] + rest, [b"x", b"y"])
        self.assertLessEqual(self.control.upload(profile_id).profile.total("wall"), took)

    def test_a_stream_that_another_thread_closes_ended_when_it_was_left(self):
        class Stream:
            def __iter__(self):
                return iter([b"x"])

            def close(self):
                spin(0.05)

        began = time.monotonic_ns()
        profile_id = new_id()
        result = wrap(lambda environ, start_response: Stream(), self.agent)(
            {"REQUEST_METHOD": "GET", "HTTP_FLAMEGATE_PROFILE": header(profile_id)}, lambda *_: None
        )
        self.assertEqual(list(result), [b"x"])
        took = time.monotonic_ns() - began
        thread = threading.Thread(target=result.close)
        thread.start()
        spin(0.05)  # another request
        thread.join()
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
        self.assertTrue(
            all(sample.stack[-1].function == "call" for sample in upload.profile.samples)
        )
        files = {frame.file for sample in upload.profile.samples for frame in sample.stack}
        self.assertFalse([file for file in files if os.path.dirname(file).endswith("flamegate")])

    def test_meta_tells_the_conditions(self):
        upload = self.profile_of(simple, us=2000, max=5000)
        meta, profile = upload.meta, upload.profile
        self.assertEqual((meta["agent"], meta["runtime"]), (recordings.AGENT, recordings.RUNTIME))
        self.assertEqual(
            (meta["pid"], meta["period_us"], meta["attribution"]), (os.getpid(), 2000, "thread")
        )
        self.assertEqual(
            (meta["start_unix_ns"], meta["end_unix_ns"]),
            (profile.time_nanos, profile.time_nanos + profile.duration_nanos),
        )
        self.assertEqual(meta["ticks"]["taken"], len(profile.samples))
        self.assertEqual(
            meta["ticks"]["expected"], meta["ticks"]["taken"] + meta["ticks"]["missed"]
        )
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
            self.assertEqual(
                self.profile_of(simple, mode=mode).profile.default_sample_type, expected
            )

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
        inner = []

        def application(environ, start_response):
            began = time.monotonic_ns()
            spin(0.1)
            time.sleep(0.1)
            result = simple(environ, start_response)
            inner.append(time.monotonic_ns() - began)
            return result

        began = time.monotonic_ns()
        _, _, profile_id = self.profiled(application)
        outer = time.monotonic_ns() - began
        total = self.control.upload(profile_id).profile.total("wall")
        print(f"\nweights of a request: {100 * total / inner[0]:.2f} % of its time")
        self.assertGreaterEqual(total, 0.97 * inner[0])
        self.assertLessEqual(total, outer)


if __name__ == "__main__":
    unittest.main()
