"""Signed client tokens, made from their description alone."""

import hashlib
import json
import os
import time

from .signing import base64url, mac


class TokenMint:
    """Makes tokens with the session secret of a proxy's directory."""

    def __init__(self, secret_path):
        self._key = mac(secret_path.read_bytes().rstrip(b"\r\n"), b"flamegate token v1")
        self.kid = hashlib.sha256(self._key).hexdigest()[:8]

    def make(self, allow=("view", "trigger"), ttl=600, age=0, **claims):
        now = int(time.time()) - age
        payload = {
            "kid": self.kid,
            "iat": now,
            "exp": now + ttl,
            "allow": list(allow),
            "for": "rig",
            "jti": os.urandom(12).hex(),
            **claims,
        }
        text = base64url(json.dumps(payload).encode())
        signed = b"FG1-TOK\n" + text.encode()
        return f"fg1.{text}.{base64url(mac(self._key, signed))}"
