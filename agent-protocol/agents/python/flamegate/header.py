"""The request header that asks for a profile, its checks, and the acknowledgement."""

import hmac
import re
import threading
from typing import NamedTuple, Optional

from .keys import Key, request_signature

HEADER_BYTES_MAX = 512
TTL_MS_MAX = 60_000
CLOCK_SLACK_MS = 5_000
REPLAY_IDS_MAX = 4096

_TEXT = re.compile(r"[!-~]{1,%d}" % HEADER_BYTES_MAX)
_ID = re.compile(r"[0-9a-z]{20}")
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,14}")
_POSITIVE = re.compile(r"[1-9][0-9]{0,14}")
_FIELDS = {
    "ts": _DECIMAL,
    "ttl": _DECIMAL,
    "svc": re.compile(r"[A-Za-z0-9._-]{1,64}"),
    "kid": re.compile(r"[0-9a-f]{8}"),
    "mode": re.compile(r"wall|cpu|both"),
    "us": _POSITIVE,
    "max": _POSITIVE,
    "sig": re.compile(r"[A-Za-z0-9_-]{21}[AQgw]"),  # 16 bytes: the last character has two bits
}


class ProfileRequest(NamedTuple):
    id: str
    key: Optional[Key] = None
    mode: str = "wall"
    period_us: int = 0
    max_ms: int = 0


class Verdict(NamedTuple):
    """state is the acknowledgement's `st`; None: no acknowledgement, and no request either."""

    state: Optional[str]
    request: Optional[ProfileRequest] = None


NO_ANSWER = Verdict(None)


def _parse(text):
    """The header's fields and the keys that come twice; None when it is not a list of pairs."""
    if not _TEXT.fullmatch(text):
        return None
    fields, twice = {}, set()
    for pair in text.split(";"):
        key, equals, value = pair.partition("=")
        if not key or not equals:
            return None
        if key in fields:
            twice.add(key)
        fields[key] = value
    return fields, twice


def _is_valid(fields, twice, key, pattern):
    return key not in twice and key in fields and pattern.fullmatch(fields[key]) is not None


class ReplayRing:
    """Ids of verified headers, until their time window has passed. Any thread."""

    def __init__(self, room=REPLAY_IDS_MAX):
        self._room = room
        self._expiries = {}
        self._lock = threading.Lock()

    def add(self, profile_id: str, now_ms: int, expires_ms: int) -> Optional[str]:
        """None for an id that is new; `replay`; or `busy` when a live id would have to go."""
        with self._lock:
            if profile_id in self._expiries:
                return "replay"
            if len(self._expiries) >= self._room:
                self._expiries = {i: end for i, end in self._expiries.items() if end >= now_ms}
                if len(self._expiries) >= self._room:
                    return "busy"
            self._expiries[profile_id] = expires_ms
            return None

    def after_fork(self):
        self._lock = threading.Lock()


class Gate:
    """Decides whether a header is a valid order, cheapest checks first. Any thread."""

    def __init__(self, service, keyring, replays=None):
        self._service = service
        self._keyring = keyring
        self._replays = replays or ReplayRing()

    def check(self, text: str, method: str, now_ms: int) -> Verdict:
        """`started` when the header is valid: what is left are the agent's own limits."""
        parsed = _parse(text)
        if parsed is None:
            return NO_ANSWER
        fields, twice = parsed
        if not _is_valid(fields, twice, "v", _DECIMAL) or not _is_valid(fields, twice, "id", _ID):
            return NO_ANSWER
        if fields["v"] != "1":
            return Verdict("unsupported", ProfileRequest(fields["id"]))
        if not all(_is_valid(fields, twice, key, pattern) for key, pattern in _FIELDS.items()):
            return NO_ANSWER
        key = self._keyring.find(fields["kid"])
        request = ProfileRequest(
            fields["id"], key, fields["mode"], int(fields["us"]), int(fields["max"])
        )
        return Verdict(self._fault(fields, key, method, now_ms) or "started", request)

    def after_fork(self):
        self._replays.after_fork()

    def _fault(self, fields, key, method, now_ms):
        if self._service and fields["svc"] != self._service or key is None:
            return "bad-sig"
        ts = int(fields["ts"])
        window = min(int(fields["ttl"]), TTL_MS_MAX) + CLOCK_SLACK_MS
        if abs(now_ms - ts) > window:
            return "expired"
        expected = request_signature(
            key,
            fields["kid"],
            fields["id"],
            fields["ts"],
            fields["ttl"],
            fields["svc"],
            method,
            fields["mode"],
            fields["us"],
            fields["max"],
        )
        if not hmac.compare_digest(expected, fields["sig"]):
            return "bad-sig"
        return self._replays.add(fields["id"], now_ms, ts + window)


def acknowledgement(profile_id, state, agent, runtime, caps, now_ms):
    """The value of Flamegate-Ack."""
    return f"v=1;id={profile_id};st={state};agent={agent};rt={runtime};caps={caps};now={now_ms}"
