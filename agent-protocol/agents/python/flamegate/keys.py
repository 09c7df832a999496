"""The secrets that the proxy, control and the agent share, and what is signed with them."""

import _thread
import base64
import hashlib
import hmac
import logging
import secrets
import time
from typing import NamedTuple, Optional

SECRET_BYTES_MIN = 32
LOOK_AGAIN_S = 1.0
LOOK_WAIT_S = 0.02

_log = logging.getLogger("flamegate")


class Key(NamedTuple):
    kid: str
    request: bytes
    upload: bytes


def b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def secret_in(content: bytes) -> Optional[bytes]:
    """The secret in a file's content: without one final line end; None when it is too short to be
    one.
    """
    if content.endswith(b"\n"):
        content = content[:-2] if content.endswith(b"\r\n") else content[:-1]
    return content if len(content) >= SECRET_BYTES_MIN else None


def derive(secret: bytes) -> Key:
    request = hmac.digest(secret, b"flamegate request v1", "sha256")
    upload = hmac.digest(secret, b"flamegate upload v1", "sha256")
    return Key(hashlib.sha256(request).hexdigest()[:8], request, upload)


def request_signature(key: Key, *values: str) -> str:
    """Of kid, id, ts, ttl, svc, METHOD, mode, us, max as they stand in the header."""
    text = "FG1-REQ\n" + "\n".join(values)
    return b64url(hmac.digest(key.request, text.encode("latin-1"), "sha256")[:16])


def upload_auth(
    key: Key,
    method: str,
    path: str,
    body: bytes,
    meta: str,
    now_ms: Optional[int] = None,
    nonce: Optional[str] = None,
) -> str:
    """The value of Flamegate-Auth."""
    ts = str(int(time.time() * 1000) if now_ms is None else now_ms)
    nonce = nonce or secrets.token_urlsafe(18)
    body_hash = hashlib.sha256(body).hexdigest()
    meta_hash = hashlib.sha256(meta.encode("ascii")).hexdigest()
    text = "FG1-UP\n" + "\n".join((key.kid, ts, nonce, method, path, body_hash, meta_hash))
    signature = b64url(hmac.digest(key.upload, text.encode("ascii"), "sha256"))
    return f"kid={key.kid};ts={ts};nonce={nonce};sig={signature}"


class Keyring:
    """The keys in the current and the previous secret file.

    Files are read when the ring is made, and again in a thread of their own when a header names a
    key that is not known: flamegate makes the file on its first run, which may be after the
    application's start, and operators rotate it.
    """

    def __init__(self, paths):
        self._paths = [path for path in paths if path]
        self._keys = {}
        self._looked_at = 0.0
        self._load()
        if not self._keys:
            _log.warning(
                "flamegate: no usable secret in %s: requests are not profiled until there is one",
                " or ".join(self._paths) or "FLAMEGATE_SECRET_FILE",
            )

    def __bool__(self):
        return bool(self._keys)

    def find(self, kid: str) -> Optional[Key]:
        key = self._keys.get(kid)
        if key is None and self._may_look():
            # A disk that hangs must not hold the request.
            looked = _thread.allocate_lock()
            looked.acquire()
            _thread.start_new_thread(self._load_and_tell, (looked,))
            looked.acquire(timeout=LOOK_WAIT_S)
            key = self._keys.get(kid)
        return key

    def _may_look(self):
        now = time.monotonic()
        if not self._paths or now - self._looked_at < LOOK_AGAIN_S:
            return False
        self._looked_at = now
        return True

    def _load_and_tell(self, looked):
        try:
            self._load()
        finally:
            looked.release()

    def _load(self):
        keys = {}
        for path in self._paths:
            try:
                with open(path, "rb") as file:
                    secret = secret_in(file.read(64 * 1024))
            except OSError:
                continue
            if secret is not None:
                key = derive(secret)
                keys[key.kid] = key
        self._keys = keys
        self._looked_at = time.monotonic()
