"""The rig itself: it signs and reads as the protocol's golden vectors say, and it is strict."""

import gzip
import json
import socket
import unittest

from rig import Deadline, ProtocolError, pprof
from rig.application import Secret, Ticket
from rig.message import Reader, read_response
from rig.process import ROOT

VECTORS = ROOT / "agent-protocol/vectors"


class Signatures(unittest.TestCase):
    def load(self, name):
        vectors = json.loads((VECTORS / f"{name}.json").read_text())
        return vectors, Secret(bytes.fromhex(vectors["secret_hex"]))

    def test_the_key_id_is_the_vectors(self):
        for case in json.loads((VECTORS / "keys.json").read_text())["good"]:
            self.assertEqual(
                Secret(bytes.fromhex(case["secret_hex"])).kid, case["kid"], case["name"]
            )

    def test_request_signatures_are_the_vectors(self):
        vectors, secret = self.load("request")
        for case in vectors["cases"][:2]:
            ticket = Ticket(case["header"], case["method"], secret, case["service"])
            self.assertEqual(
                [fault for fault in ticket.faults if not fault.startswith("ts ")], [], case["name"]
            )

    def test_upload_signatures_are_the_vectors(self):
        vectors, secret = self.load("upload")
        case = vectors["cases"][0]
        nonce = dict(pair.split("=", 1) for pair in case["auth"].split(";"))["nonce"]
        made = secret.upload_auth(
            case["method"],
            case["path"],
            bytes.fromhex(case["body_hex"]),
            case["meta"],
            case["now_ms"] / 1000,
            nonce,
        )
        self.assertEqual(made, case["auth"])


class Profiles(unittest.TestCase):
    def test_the_encoder_writes_names_once(self):
        data = gzip.decompress(pprof.encode({("main", "f"): 2, ("main", "g"): 3}))
        for name in (b"main", b"main.py", b"samples", b"nanoseconds"):
            self.assertIn(name, data)
        self.assertEqual(data.count(b"\x06main.py"), 0)
        self.assertEqual(data.count(b"\x07main.py"), 1)


class StrictReading(unittest.TestCase):
    def read(self, data, method="GET"):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.sendall(data)
            theirs.shutdown(socket.SHUT_WR)
            return read_response(Reader(ours), method, Deadline(2))

    def test_sound_messages_are_read(self):
        for data, body in (
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", b"ok"),
            (b"HTTP/1.1 200 \r\n\r\nrest", b"rest"),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n",
                b"ok",
            ),
            (b"HTTP/1.1 103 X\r\n\r\nHTTP/1.1 204 X\r\n\r\n", b""),
        ):
            self.assertEqual(self.read(data).body, body)

    def test_anything_doubtful_is_an_error(self):
        for data in (
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok",
            b"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok",
            b"HTTP/1.1 200 OK\nX: y\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n",
            b"HTTP/2 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\nok\r\n0\r\n\r\n",
            b"HTTP/1.1 103 X\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        ):
            with self.assertRaises((ProtocolError, EOFError), msg=data):
                self.read(data)

    def test_what_is_cut_off_is_an_error(self):
        for data in (
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
            b"HTTP/1.1 200 OK\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
        ):
            with self.assertRaises(EOFError, msg=data):
                self.read(data)
