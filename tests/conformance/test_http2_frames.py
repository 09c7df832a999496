"""Frames, streams and flow control of a server under RFC 9113; each test names the section it stands
for."""

import struct

from http2_case import Http2Case
from rig import reply, wait_until
from rig import http2 as h2
from rig.http2 import request_fields


class Connections(Http2Case):
    def test_h2_01_settings_come_first(self):
        """RFC 9113 §3.4"""
        client = self.client()
        self.assertEqual(client.read().kind, h2.SETTINGS)
        self.assert_marker(client)

    def test_h2_01_a_bad_preface_is_no_http2(self):
        """RFC 9113 §3.4"""
        client = self.client(preface=False)
        client.send(b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n")
        self.assertIn(client.reader.take_rest(h2.Deadline())[9:12], (b"400", b"505"))

    def test_h2_01_frames_before_settings_are_an_error(self):
        """RFC 9113 §3.4"""
        client = self.client(preface=False)
        self.assert_connection_error(h2.PROTOCOL_ERROR, h2.PREFACE, h2.ping(), client=client)

    def test_h2_02_unknown_frames_and_reserved_bits_are_ignored(self):
        """RFC 9113 §4.1, §5.5"""
        client = self.client()
        client.send(h2.frame(0x42, 0xFF, 0, b"what"), h2.frame(0x10, 0, 0, b"\0\0\0\1u=1"))
        client.send(h2.frame(h2.PING, 0xF0, 0x80000000, b"12345678"))
        self.assert_marker(client)

    def test_h2_03_a_frame_over_16384_bytes_is_an_error(self):
        """RFC 9113 §4.2"""
        for kind in (h2.DATA, h2.HEADERS, h2.SETTINGS, 0x42):
            self.assert_connection_error(
                h2.FRAME_SIZE_ERROR, h2.frame(kind, 0, 1, b"\0" * 16385), label=kind
            )

    def test_h2_03_a_frame_of_16384_bytes_passes(self):
        """RFC 9113 §4.2"""
        client = self.client()
        self.app.respond = lambda request: reply(body=str(len(request.body())).encode())
        response = client.fetch("POST", body=b"x" * 16384)
        self.assertEqual(response.body, b"16384")

    def test_h2_04_a_field_block_is_contiguous(self):
        """RFC 9113 §4.3"""
        begin = h2.headers(1, request_fields(), flags=0)
        for other in (h2.ping(), h2.data(1, b"x"), h2.headers(3, request_fields()), h2.frame(0x42)):
            self.assert_connection_error(h2.PROTOCOL_ERROR, begin, other)

    def test_h2_04_a_broken_block_is_a_compression_error(self):
        """RFC 9113 §4.3"""
        for broken in (b"\xff\xff\xff\xff\xff\xff", b"\xbf", b"\x00\x85abc", b"\x80"):
            self.assert_connection_error(
                h2.COMPRESSION_ERROR,
                h2.frame(h2.HEADERS, h2.END_HEADERS | h2.END_STREAM, 1, broken),
                label=broken,
            )

    def test_h2_04_the_table_is_kept_over_refused_streams(self):
        """RFC 9113 §4.3"""
        client = self.client()
        indexed = b"\x40" + b"\x06x-kept" + b"\x05value"
        client.send(
            h2.frame(
                h2.HEADERS, h2.END_HEADERS | h2.END_STREAM, 1, h2.block([(":bad", "x")]) + indexed
            )
        )
        self.assertEqual(client.wait_for_kind(h2.RST_STREAM).error, h2.PROTOCOL_ERROR)
        client.send(
            h2.frame(
                h2.HEADERS,
                h2.END_HEADERS | h2.END_STREAM,
                3,
                h2.block(request_fields(path="/kept")) + b"\xbe",
            )
        )
        self.assertEqual(client.response(3).status, 200)
        self.assertEqual(self.app.requests[-1].get("x-kept"), "value")

    def test_h2_12_ping_is_answered_with_its_bytes(self):
        """RFC 9113 §6.7"""
        client = self.client()
        client.send(h2.ping(b"\0\1\2\3\4\5\6\7"))
        got = client.wait_for_kind(h2.PING)
        self.assertEqual((got.flags, got.payload), (h2.ACK, b"\0\1\2\3\4\5\6\7"))

    def test_h2_11_h2_12_sizes_and_streams_of_control_frames(self):
        """RFC 9113 §6.3 to §6.9"""
        opened = h2.headers(1, request_fields(method="POST"), end=False)
        for error, pieces in (
            (h2.FRAME_SIZE_ERROR, [h2.frame(h2.PING, 0, 0, b"1234567")]),
            (h2.PROTOCOL_ERROR, [h2.frame(h2.PING, 0, 1, b"12345678")]),
            (h2.FRAME_SIZE_ERROR, [h2.frame(h2.SETTINGS, 0, 0, b"12345")]),
            (h2.PROTOCOL_ERROR, [h2.frame(h2.SETTINGS, 0, 1)]),
            (h2.FRAME_SIZE_ERROR, [h2.frame(h2.SETTINGS, h2.ACK, 0, b"123456")]),
            (h2.PROTOCOL_ERROR, [h2.settings([(h2.ENABLE_PUSH, 2)])]),
            (h2.FLOW_CONTROL_ERROR, [h2.settings([(h2.INITIAL_WINDOW_SIZE, 1 << 31)])]),
            (h2.PROTOCOL_ERROR, [h2.settings([(h2.MAX_FRAME_SIZE, 16383)])]),
            (h2.PROTOCOL_ERROR, [h2.settings([(h2.MAX_FRAME_SIZE, 1 << 24)])]),
            (h2.PROTOCOL_ERROR, [h2.settings([(h2.ENABLE_CONNECT_PROTOCOL, 2)])]),
            (h2.FRAME_SIZE_ERROR, [opened, h2.frame(h2.RST_STREAM, 0, 1, b"123")]),
            (h2.PROTOCOL_ERROR, [h2.rst(0)]),
            (h2.PROTOCOL_ERROR, [h2.rst(1)]),
            (h2.PROTOCOL_ERROR, [h2.frame(h2.PRIORITY, 0, 0, b"12345")]),
            (h2.FRAME_SIZE_ERROR, [h2.frame(h2.WINDOW_UPDATE, 0, 0, b"123")]),
            (h2.PROTOCOL_ERROR, [h2.window_update(0, 0)]),
            (h2.PROTOCOL_ERROR, [h2.window_update(1, 5)]),
            (h2.PROTOCOL_ERROR, [h2.frame(h2.GOAWAY, 0, 1, b"\0" * 8)]),
            (h2.FRAME_SIZE_ERROR, [h2.frame(h2.GOAWAY, 0, 0, b"\0" * 7)]),
            (h2.PROTOCOL_ERROR, [h2.frame(h2.PUSH_PROMISE, h2.END_HEADERS, 1, b"\0\0\0\2")]),
            (h2.PROTOCOL_ERROR, [h2.frame(h2.CONTINUATION, h2.END_HEADERS, 1)]),
            (h2.PROTOCOL_ERROR, [h2.data(0, b"x")]),
            (h2.PROTOCOL_ERROR, [h2.data(1, b"x")]),
            (h2.PROTOCOL_ERROR, [h2.headers(0, request_fields())]),
        ):
            self.assert_connection_error(error, *pieces)

    def test_h2_11_priority_of_a_wrong_size_or_on_itself_is_a_stream_error(self):
        """RFC 9113 §6.3; RFC 7540 §5.3.1"""
        opened = h2.headers(1, request_fields(method="POST"), end=False)
        self.assert_stream_error(
            h2.FRAME_SIZE_ERROR, opened, h2.frame(h2.PRIORITY, 0, 1, b"1234")
        )
        self.assert_stream_error(
            h2.PROTOCOL_ERROR, opened, h2.frame(h2.PRIORITY, 0, 1, struct.pack(">IB", 1, 0))
        )

    def test_h2_11_settings_are_acknowledged_and_unknown_ones_ignored(self):
        """RFC 9113 §6.5"""
        client = self.client(first_settings=[(0x99, 7)])
        got = client.wait_for(lambda got: got.kind == h2.SETTINGS and got.flags & h2.ACK)
        self.assertEqual(got.payload, b"")
        self.assert_marker(client)

    def test_h2_13_a_clients_goaway_lets_its_streams_end(self):
        """RFC 9113 §6.8"""
        client = self.client()
        stream = client.request(path="/last")
        client.send(h2.goaway())
        self.assertEqual(client.response(stream).body, b"/last")


class Streams(Http2Case):
    def hold(self):
        """The application answers when the returned function is called."""
        held = []
        self.app.respond = held.append
        return lambda answer: [request.connection.send(answer) for request in held]

    def test_h2_05_frames_on_a_half_closed_stream(self):
        """RFC 9113 §5.1"""
        self.hold()
        opened = h2.headers(1, request_fields())
        self.assert_connection_or_stream(h2.STREAM_CLOSED, opened, h2.data(1, b"x"))
        self.assert_connection_or_stream(h2.STREAM_CLOSED, opened, h2.headers(1, request_fields()))

    def assert_connection_or_stream(self, error, *pieces):
        client = self.client()
        client.send(*pieces)
        got = client.wait_for(lambda got: got.kind in (h2.RST_STREAM, h2.GOAWAY))
        self.assertEqual(got.error, error)
        self.app.respond = lambda request: reply(body=request.target.encode())
        self.assert_marker()

    def test_h2_05_frames_on_a_closed_stream(self):
        """RFC 9113 §5.1"""
        client = self.client()
        client.fetch()
        client.send(h2.window_update(1, 10), h2.rst(1), h2.frame(h2.PRIORITY, 0, 1, b"\0\0\0\0\1"))
        self.assert_marker(client)
        client.send(h2.data(1, b"late"))
        self.assertEqual(client.wait_for_kind(h2.RST_STREAM).error, h2.STREAM_CLOSED)
        self.assert_connection_error(
            h2.STREAM_CLOSED, h2.headers(1, request_fields()), client=client
        )

    def test_h2_05_frames_that_cross_our_reset_are_ignored(self):
        """RFC 9113 §5.1"""
        self.app.respond = lambda request: request.connection.send(reply(413, body=b"no"))
        client = self.client()
        stream = client.new_stream()
        client.send(h2.headers(stream, request_fields("POST"), end=False))
        response = client.response(stream)
        self.assertEqual((response.status, response.body), (413, b"no"))
        client.send(h2.data(stream, b"x" * 1000), h2.data(stream, b"x", end=True))
        client.send(h2.headers(stream, [("a", "b")]))
        self.app.respond = lambda request: reply(body=request.target.encode())
        self.assert_marker(client)
        resets = [got.error for got in client.frames if got.kind == h2.RST_STREAM]
        self.assertEqual(resets, [h2.NO_ERROR])

    def test_h2_06_stream_numbers_are_odd_and_rise(self):
        """RFC 9113 §5.1.1"""
        self.assert_connection_error(h2.PROTOCOL_ERROR, h2.headers(2, request_fields()))
        self.assert_connection_error(
            h2.PROTOCOL_ERROR, h2.headers(5, request_fields()), h2.headers(3, request_fields())
        )

    def test_h2_07_streams_over_the_limit_are_refused(self):
        """RFC 9113 §5.1.2"""
        release = self.hold()
        client = self.client()
        client.wait_for_kind(h2.SETTINGS)
        limit = client.settings[h2.MAX_CONCURRENT_STREAMS]
        self.assertEqual(limit, 100)
        streams = [client.request(path=f"/{n}") for n in range(limit + 1)]
        got = client.wait_for_kind(h2.RST_STREAM)
        self.assertEqual((got.stream, got.error), (streams[-1], h2.REFUSED_STREAM))
        wait_until(lambda: len(self.app.requests) == limit, "the others are served")
        release(reply(body=b"held"))
        for response in client.responses(streams[:-1]):
            self.assertEqual(response.body, b"held")
        self.app.respond = lambda request: reply(body=request.target.encode())
        self.assert_marker(client)

    def test_h2_09_no_reset_answers_a_reset(self):
        """RFC 9113 §5.4.2"""
        self.hold()
        client = self.client()
        client.send(h2.headers(1, request_fields()), h2.rst(1))
        self.assertTrue(client.is_alive())
        self.assertEqual([got for got in client.frames if got.kind == h2.RST_STREAM], [])

    def test_a_reset_ends_the_applications_work(self):
        """RFC 9113 §5.4.2, RFC 9110 §9.2.2"""
        self.hold()
        client = self.client()
        stream = client.request(path="/cancelled")
        wait_until(lambda: self.app.requests, "the application has the request")
        client.send(h2.rst(stream))
        wait_until(self.app.requests[0].connection.closed.is_set, "its connection is closed")
        record = self.proxy.access_log(1, "/cancelled")[0]
        self.assertEqual((record["status"], record["reason"]), (0, "client-gone"))


class FlowControl(Http2Case):
    def test_h2_08_both_windows_are_honoured(self):
        """RFC 9113 §5.2, §6.9"""
        self.app.respond = lambda request: reply(body=b"x" * 200_000)
        client = self.client(first_settings=[(h2.INITIAL_WINDOW_SIZE, 1000)])
        client.gives_windows = False
        client.request()
        taken = 0
        while taken < 1000:
            taken += len(client.wait_for_kind(h2.DATA).payload)
        self.assertEqual(taken, 1000)
        self.assertTrue(client.is_alive())
        client.send(h2.window_update(1, 300_000))
        while taken < 65535:
            taken += len(client.wait_for_kind(h2.DATA).payload)
        self.assertEqual(taken, 65535)
        self.assertTrue(client.is_alive())
        client.send(h2.window_update(0, 300_000))
        while taken < 200_000:
            taken += len(client.wait_for_kind(h2.DATA).payload)
        self.assertEqual(taken, 200_000)

    def test_h2_08_a_window_may_become_negative(self):
        """RFC 9113 §6.9.2"""
        self.app.respond = lambda request: reply(body=b"x" * 30_000)
        client = self.client(first_settings=[(h2.INITIAL_WINDOW_SIZE, 10_000)])
        client.gives_windows = False
        client.request()
        taken = 0
        while taken < 10_000:
            taken += len(client.wait_for_kind(h2.DATA).payload)
        client.send(h2.settings([(h2.INITIAL_WINDOW_SIZE, 0)]), h2.window_update(1, 10_000))
        self.assertTrue(client.is_alive())
        self.assertEqual([got for got in client.frames[-2:] if got.kind == h2.DATA], [])
        client.send(h2.window_update(1, 5))
        self.assertEqual(len(client.wait_for_kind(h2.DATA).payload), 5)
        client.send(h2.settings([(h2.INITIAL_WINDOW_SIZE, 65535)]))
        taken += 5
        while taken < 30_000:
            taken += len(client.wait_for_kind(h2.DATA).payload)

    def test_h2_08_windows_over_2_31_are_errors(self):
        """RFC 9113 §6.9.1"""
        opened = h2.headers(1, request_fields("POST"), end=False)
        self.assert_connection_error(h2.FLOW_CONTROL_ERROR, h2.window_update(0, 0x7FFFFFFF))
        self.assert_stream_error(h2.FLOW_CONTROL_ERROR, opened, h2.window_update(1, 0x7FFFFFFF))
        self.assert_stream_error(h2.PROTOCOL_ERROR, opened, h2.window_update(1, 0))
        self.assert_connection_error(
            h2.FLOW_CONTROL_ERROR,
            opened,
            h2.window_update(1, 1000),
            h2.settings([(h2.INITIAL_WINDOW_SIZE, 0x7FFFFFFF)]),
        )

    def test_h2_08_content_beyond_our_window_is_an_error(self):
        """RFC 9113 §6.9.1"""
        opened = h2.headers(1, request_fields("POST"), end=False)
        self.app.respond = lambda request: None
        client = self.client()
        client.send(opened)
        wait_until(lambda: self.app.requests, "the request is there")
        try:
            for _ in range(4000):  # more than the sockets on the way take
                client.send(h2.data(1, b"x" * 16384))
        except OSError:
            pass
        got = client.wait_for(lambda got: got.kind in (h2.RST_STREAM, h2.GOAWAY))
        self.assertEqual(got.error, h2.FLOW_CONTROL_ERROR)

    def test_windows_are_given_back_as_content_is_consumed(self):
        """RFC 9113 §5.2.2"""
        self.app.respond = lambda request: reply(body=str(len(request.body())).encode())
        client = self.client()
        stream = client.new_stream()
        client.send(h2.headers(stream, request_fields("POST"), end=False))
        window, left = 65535, 3_000_000
        while left:
            while window == 0:
                got = client.read()
                if got.kind == h2.WINDOW_UPDATE and got.stream == stream:
                    window += struct.unpack(">I", got.payload)[0]
            size = min(window, left, 16384)
            window, left = window - size, left - size
            client.send(h2.data(stream, b"y" * size, end=left == 0))
        self.assertEqual(client.response(stream).body, b"3000000")

    def test_padding_counts_for_the_windows(self):
        """RFC 9113 §6.1"""
        self.app.respond = lambda request: reply(body=request.body())
        client = self.client()
        stream = client.new_stream()
        client.send(h2.headers(stream, request_fields("POST"), end=False))
        sent = 0
        padded = b"\xff" + b"abc" + b"\0" * 255
        for _ in range(1000):
            client.send(h2.frame(h2.DATA, h2.PADDED, stream, padded))
            sent += len(padded)
            while sent > 32768:
                got = client.wait_for_kind(h2.WINDOW_UPDATE)
                if got.stream == stream:
                    sent -= struct.unpack(">I", got.payload)[0]
        client.send(h2.data(stream, end=True))
        self.assertEqual(client.response(stream).body, b"abc" * 1000)

    def test_h2_10_padding_of_a_frames_size_is_an_error(self):
        """RFC 9113 §6.1, §6.2"""
        opened = h2.headers(1, request_fields("POST"), end=False)
        self.assert_connection_error(
            h2.PROTOCOL_ERROR, opened, h2.frame(h2.DATA, h2.PADDED, 1, b"\x05abcd")
        )
        self.assert_connection_error(
            h2.PROTOCOL_ERROR, h2.frame(h2.HEADERS, h2.PADDED | h2.END_HEADERS, 1, b"\xff\x82")
        )
