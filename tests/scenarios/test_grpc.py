"""gRPC by its own client and server, through the proxy: unary, streaming each way, errors and
deadlines. Nothing is compiled from .proto files: messages are bytes."""

import concurrent.futures
import threading
import unittest

import grpc

from rig import Proxy

SERVICE = "test.Echo"


def _unary(request, context):
    if request == b"fail":
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "as asked")
    context.set_trailing_metadata((("x-trailer", "yes"),))
    return request


def _upload(requests, context):
    return b"%d" % sum(len(request) for request in requests)


def _download(request, context):
    for n in range(int(request)):
        yield b"%d" % n * 1000


def _chat(requests, context):
    for request in requests:
        yield request.upper()


def _serve():
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
    handlers = {
        "Unary": grpc.unary_unary_rpc_method_handler(_unary),
        "Upload": grpc.stream_unary_rpc_method_handler(_upload),
        "Download": grpc.unary_stream_rpc_method_handler(_download),
        "Chat": grpc.stream_stream_rpc_method_handler(_chat),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


class Grpc(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        server, port = _serve()
        cls.addClassCleanup(server.stop, None)
        cluster = {"name": "app", "endpoints": [f"127.0.0.1:{port}"], "protocol": "h2"}
        cls.proxy = Proxy(None, {"clusters": [cluster]})
        cls.proxy.start()
        cls.addClassCleanup(cls.proxy.stop)

    def setUp(self):
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.proxy.port}")
        self.addCleanup(self.channel.close)

    def test_unary_calls(self):
        call = self.channel.unary_unary(f"/{SERVICE}/Unary")
        answer, details = call.with_call(b"hello", timeout=10)
        self.assertEqual(answer, b"hello")
        self.assertIn(("x-trailer", "yes"), details.trailing_metadata())
        large = b"x" * 3_000_000
        self.assertEqual(call(large, timeout=20), large)

    def test_errors(self):
        with self.assertRaises(grpc.RpcError) as raised:
            self.channel.unary_unary(f"/{SERVICE}/Unary")(b"fail", timeout=10)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.FAILED_PRECONDITION)
        with self.assertRaises(grpc.RpcError) as raised:
            self.channel.unary_unary(f"/{SERVICE}/Missing")(b"", timeout=10)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.UNIMPLEMENTED)

    def test_streams_of_requests(self):
        call = self.channel.stream_unary(f"/{SERVICE}/Upload")
        self.assertEqual(call(iter([b"x" * 1000] * 500), timeout=20), b"500000")

    def test_streams_of_responses(self):
        call = self.channel.unary_stream(f"/{SERVICE}/Download")
        answers = list(call(b"200", timeout=20))
        self.assertEqual(answers, [b"%d" % n * 1000 for n in range(200)])

    def test_both_ways_at_a_time(self):
        call = self.channel.stream_stream(f"/{SERVICE}/Chat")
        texts = [b"text %d" % n for n in range(300)]
        self.assertEqual(list(call(iter(texts), timeout=20)), [text.upper() for text in texts])

    def test_a_deadline_cancels(self):
        call = self.channel.stream_stream(f"/{SERVICE}/Chat")
        over = threading.Event()
        self.addCleanup(over.set)

        def never():
            yield b"one"
            over.wait()

        with self.assertRaises(grpc.RpcError) as raised:
            list(call(never(), timeout=1))
        self.assertEqual(raised.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
