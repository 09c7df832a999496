"""A name server whose answers a test changes as it likes (RFC 1035)."""

import socket
import struct
import threading

_A, _AAAA, _IN = 1, 28, 1
_RESPONSE, _TRUNCATED = 0x8180, 0x0200
_UDP_BYTES = 512

SERVFAIL, NXDOMAIN, SILENT, GARBAGE, CUT_SHORT = "servfail", "nxdomain", "silent", "garbage", "cut"
_CODES = {SERVFAIL: 2, NXDOMAIN: 3}


def _kind_of(address):
    return _AAAA if ":" in address else _A


class NameServer:
    """Listens on a free loopback port, by UDP and TCP. `answers` maps a name to its addresses, or to
    one of the words above; a name that is not there does not exist. Answers over 512 bytes are
    truncated by UDP. `questions` logs (name, type, transport).
    """

    def __init__(self, answers=None, ttl=1):
        self.answers = answers or {}
        self.ttl = ttl
        self.questions = []
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self.port = self._tcp.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", self.port))
        for serve in (self._serve_udp, self._serve_tcp):
            threading.Thread(target=serve, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        for sock in (self._tcp, self._udp):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    def _serve_udp(self):
        while True:
            try:
                query, peer = self._udp.recvfrom(4096)
                if not query:
                    return  # shut down
                answer = self._answer(query, "udp")
                if answer is not None:
                    self._udp.sendto(answer, peer)
            except OSError:
                return

    def _serve_tcp(self):
        while True:
            try:
                sock, _ = self._tcp.accept()
            except OSError:
                return
            threading.Thread(target=self._serve_connection, args=(sock,), daemon=True).start()

    def _serve_connection(self, sock):
        with sock:
            sock.settimeout(10)
            stream = sock.makefile("rb")
            while len(size := stream.read(2)) == 2:
                answer = self._answer(stream.read(struct.unpack("!H", size)[0]), "tcp")
                if answer is None:
                    return
                # Byte by byte at the start: a reader must not rely on whole messages.
                message = struct.pack("!H", len(answer)) + answer
                for part in (message[:1], message[1:3], message[3:]):
                    sock.sendall(part)

    def _answer(self, query, transport):
        end = query.index(b"\0", 12)
        labels, at = [], 12
        while at < end:
            labels.append(query[at + 1 : at + 1 + query[at]].decode())
            at += 1 + query[at]
        kind = struct.unpack("!H", query[end + 1 : end + 3])[0]
        name = ".".join(labels).lower()
        self.questions.append((name, kind, transport))
        answer = self.answers.get(name, NXDOMAIN)
        return self._build(query[:2], query[12 : end + 5], answer, kind, transport)

    def _build(self, number, question, answer, kind, transport):
        if answer == SILENT:
            return None
        if answer == GARBAGE:
            return number + struct.pack("!5H", _RESPONSE, 1, 7, 0, 0) + question + b"\xc0\xff\xff"
        code = _CODES[answer] if isinstance(answer, str) and answer in _CODES else 0
        addresses = [] if isinstance(answer, str) else answer
        records = [self._record(address) for address in addresses if _kind_of(address) == kind]
        head = struct.pack("!5H", _RESPONSE | code, 1, len(records), 0, 0)
        message = number + head + question + b"".join(records)
        if answer == CUT_SHORT:
            return message[:-3]
        if transport == "udp" and len(message) > _UDP_BYTES:
            return number + struct.pack("!5H", _RESPONSE | _TRUNCATED, 1, 0, 0, 0) + question
        return message

    def _record(self, address):
        kind = _kind_of(address)
        family = socket.AF_INET6 if kind == _AAAA else socket.AF_INET
        data = socket.inet_pton(family, address)
        return b"\xc0\x0c" + struct.pack("!HHIH", kind, _IN, self.ttl, len(data)) + data
