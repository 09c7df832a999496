"""What the signatures of agents and tokens are made of."""

import base64
import hashlib
import hmac


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def mac(key, text):
    return hmac.new(key, text, hashlib.sha256).digest()
