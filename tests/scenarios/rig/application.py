"""An application with an agent: it checks the proxy's profile request, acknowledges it, and uploads
a profile that the test chose. Written from the protocol alone, so that it checks both sides."""

import hashlib
import itertools
import json
import os
import re
import threading
import time

from . import pprof
from .client import Client
from .signing import base64url, mac
from .upstream import Upstream, reply

_KEYS = {"v", "id", "ts", "ttl", "svc", "kid", "mode", "us", "max", "sig"}


class Secret:
    """The keys that a secret file gives."""

    def __init__(self, text):
        self._request_key = mac(text, b"flamegate request v1")
        self._upload_key = mac(text, b"flamegate upload v1")
        self.kid = hashlib.sha256(self._request_key).hexdigest()[:8]

    def request_signature(self, parts):
        return base64url(mac(self._request_key, "\n".join(["FG1-REQ", *parts]).encode())[:16])

    def upload_auth(self, method, path, body, meta, now=None, nonce=None):
        ts, nonce = str(int((now or time.time()) * 1000)), nonce or os.urandom(12).hex()
        digest = [hashlib.sha256(data).hexdigest() for data in (body, meta.encode())]
        text = "\n".join(["FG1-UP", self.kid, ts, nonce, method, path, *digest])
        return f"kid={self.kid};ts={ts};nonce={nonce};sig={base64url(mac(self._upload_key, text.encode()))}"


class Ticket:
    """A `Flamegate-Profile` value, taken apart and checked."""

    def __init__(self, value, method, secret, service):
        pairs = [pair.split("=", 1) for pair in value.split(";")]
        self.values = dict(pairs)
        self.faults = []
        self._expect(len(value) <= 512, "longer than 512 bytes")
        self._expect(" " not in value, "a blank")
        self._expect(len(pairs) == len(self.values), "a key twice")
        self._expect(_KEYS <= set(self.values), f"keys {sorted(self.values)}")
        if self.faults:
            return
        v = self.values
        self._expect(v["v"] == "1", f"v {v['v']}")
        self._expect(re.fullmatch("[0-9a-z]{20}", v["id"]), f"id {v['id']}")
        for key in ("ts", "ttl", "us", "max"):
            self._expect(re.fullmatch("0|[1-9][0-9]*", v[key]), f"{key} {v[key]}")
        self._expect(v["svc"] == service, f"svc {v['svc']}")
        self._expect(v["mode"] in ("wall", "cpu", "both"), f"mode {v['mode']}")
        self._expect(v["kid"] == secret.kid, f"kid {v['kid']}")
        self._expect(abs(time.time() * 1000 - int(v["ts"])) < 10000, f"ts {v['ts']}")
        signed = (
            [v[k] for k in ("kid", "id", "ts", "ttl", "svc")]
            + [method]
            + [v[k] for k in ("mode", "us", "max")]
        )
        self._expect(v["sig"] == secret.request_signature(signed), "sig")
        self._expect(int(v["id"][:8], 36) <= time.time() * 1000 + 1000, "id in the future")

    def _expect(self, condition, fault):
        if not condition:
            self.faults.append(fault)

    @property
    def id(self):
        return self.values["id"]


class Application(Upstream):
    """`respond(request)` as in Upstream, without a thought of profiling: acknowledgement and upload
    are added to answers that are returned. `ack_state` "" sends none, `stacks` None uploads nothing.
    Call `attach(proxy)` once the proxy has started.
    """

    def __init__(self, respond=None, service="shop"):
        self._answer = respond or (lambda request: reply())
        self.service = service
        self.ack_state = "started"
        self.ack_id = None  # instead of the request's own
        self.stacks = pprof.SAMPLE
        self.tickets = []
        self.uploads = []
        self._proxy = None
        self._secret = None
        super().__init__(self._profiled)

    def attach(self, proxy):
        self._proxy = proxy
        path = proxy.directory / proxy.config.get("profiling", {}).get(
            "secret_file", "flamegate.key"
        )
        self._secret = Secret(path.read_bytes().rstrip(b"\r\n"))
        return self

    def answer(self, respond):
        self._answer = respond

    def reset_agent(self, respond):
        """As at the beginning: `respond`, acknowledging and uploading; nothing logged."""
        self._answer = respond
        self.ack_state, self.ack_id, self.stacks = "started", None, pprof.SAMPLE
        self.tickets.clear()
        self.uploads.clear()

    def ticket_ids(self):
        return [ticket.id for ticket in self.tickets]

    def _profiled(self, request):
        value = request.get("Flamegate-Profile")
        if value is None or self._secret is None:
            return self._answer(request)
        ticket = Ticket(value, request.method, self._secret, self.service)
        self.tickets.append(ticket)  # first, as the answer may end everything
        if ticket.faults:
            raise AssertionError(f"bad profile request {value!r}: {ticket.faults}")
        answer = self._answer(request)
        if self.ack_state == "started" and self.stacks is not None:
            threading.Thread(target=self._upload_later, args=(ticket.id,), daemon=True).start()
        return self.acknowledge(answer, ticket) if answer is not None else None

    def acknowledge(self, answer, ticket):
        """The answer with the agent's line in its head, which is its first part."""
        if not self.ack_state:
            return answer
        if not isinstance(answer, bytes):
            parts = iter(answer)
            return itertools.chain([self.acknowledge(next(parts), ticket)], parts)
        line = (
            f"Flamegate-Ack: v=1;id={self.ack_id or ticket.id};st={self.ack_state};agent=stub/1.0;"
            f"rt=none/1.0;caps=wall;now={int(time.time() * 1000)}\r\n"
        ).encode()
        first_line, _, rest = answer.partition(b"\r\n")
        return first_line + b"\r\n" + line + rest

    def _upload_later(self, profile_id):
        try:
            self.upload(profile_id)
        except (OSError, EOFError):
            pass  # control is away; a real agent would try again

    def upload(self, profile_id, part="1-1", body=None):
        """Sends a profile as an agent does; the response is kept in `uploads`, too."""
        body = pprof.encode(self.stacks or {}) if body is None else body
        path = f"/agent/v1/profiles/{profile_id}/{part}"
        total = sum(self.stacks.values()) if self.stacks else 0
        meta = base64url(
            json.dumps(
                {
                    "agent": "stub/1.0",
                    "runtime": "none/1.0",
                    "host": "box",
                    "pid": 1,
                    "period_us": 1000,
                    "start_unix_ns": time.time_ns() - 10_000_000,
                    "end_unix_ns": time.time_ns(),
                    "ticks": {"expected": total, "taken": total, "missed": 0},
                    "attribution": "thread",
                }
            ).encode()
        )
        headers = [
            ("Content-Type", "application/x-pprof"),
            ("Flamegate-Meta", meta),
            ("Flamegate-Auth", self._secret.upload_auth("POST", path, body, meta)),
        ]
        with Client(self._proxy.agents_port) as client:
            client.request("POST", path, headers, body)
            response = client.response("POST", 40)
        self.uploads.append(response)
        return response
