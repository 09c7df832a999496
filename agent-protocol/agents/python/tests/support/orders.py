"""Signs request headers as the proxy does."""

import random
import time

from flamegate.keys import derive, request_signature

SECRET = b"0123456789abcdef" * 4
KEY = derive(SECRET)
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def new_id(now_ms=None):
    now_ms = int(time.time() * 1000) if now_ms is None else now_ms
    digits = ""
    for _ in range(8):
        now_ms, digit = divmod(now_ms, 36)
        digits = _DIGITS[digit] + digits
    return digits + "".join(random.choice(_DIGITS) for _ in range(12))


def header(profile_id, method="GET", key=KEY, **fields):
    """The value of Flamegate-Profile; `fields` replace ts, ttl, svc, mode, us, max before, and sig
    after signing.
    """
    values = {
        "v": "1",
        "id": profile_id,
        "ts": str(int(time.time() * 1000)),
        "ttl": "10000",
        "svc": "shop",
        "kid": key.kid,
        "mode": "wall",
        "us": "1000",
        "max": "30000",
    }
    values.update({name: str(value) for name, value in fields.items()})
    values.setdefault(
        "sig",
        request_signature(
            key,
            values["kid"],
            values["id"],
            values["ts"],
            values["ttl"],
            values["svc"],
            method,
            values["mode"],
            values["us"],
            values["max"],
        ),
    )
    return ";".join(f"{name}={value}" for name, value in values.items())


def fields_of(ack):
    return dict(pair.split("=", 1) for pair in ack.split(";"))
