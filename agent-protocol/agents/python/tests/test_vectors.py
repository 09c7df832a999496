"""The golden vectors of the agent protocol."""

import json
import os
import re
import tempfile
import unittest

from flamegate import keys
from flamegate.header import Gate, ReplayRing, acknowledgement
from flamegate.recording import AGENT, CAPS, RUNTIME

VECTORS = os.path.join(os.path.dirname(__file__), "..", "..", "..", "vectors")


def load(name):
    with open(os.path.join(VECTORS, name), encoding="utf-8") as file:
        return json.load(file)


def secrets_of(vectors):
    return [bytes.fromhex(vectors[name]) for name in ("secret_hex", "previous_secret_hex")]


class FixedKeys:
    def __init__(self, secrets):
        self._keys = {key.kid: key for key in map(keys.derive, secrets)}

    def find(self, kid):
        return self._keys.get(kid)


class Vectors(unittest.TestCase):
    def test_keys_of_secret_files(self):
        vectors = load("keys.json")
        for case in vectors["good"]:
            with self.subTest(case["name"]):
                secret = keys.secret_in(bytes.fromhex(case["file_hex"]))
                self.assertEqual(secret.hex(), case["secret_hex"])
                self.assertEqual(
                    keys.derive(secret),
                    (
                        case["kid"],
                        bytes.fromhex(case["request_key_hex"]),
                        bytes.fromhex(case["upload_key_hex"]),
                    ),
                )
        for case in vectors["bad"]:
            with self.subTest(case["name"]):
                self.assertIsNone(keys.secret_in(bytes.fromhex(case["file_hex"])))

    def test_keyring_reads_the_files(self):
        vectors = load("keys.json")
        for case in vectors["good"] + vectors["bad"]:
            with self.subTest(case["name"]), tempfile.NamedTemporaryFile() as file:
                file.write(bytes.fromhex(case["file_hex"]))
                file.flush()
                if "kid" not in case:
                    with self.assertLogs("flamegate", "WARNING"):
                        self.assertFalse(keys.Keyring([file.name]))
                    continue
                self.assertEqual(
                    keys.Keyring([None, file.name]).find(case["kid"]).request.hex(),
                    case["request_key_hex"],
                )

    def test_request_headers(self):
        vectors = load("request.json")
        keyring = FixedKeys(secrets_of(vectors))
        for case in vectors["cases"]:
            with self.subTest(case["name"]):
                replays = ReplayRing()
                for seen in case.get("seen", ()):
                    replays.add(seen, case["now_ms"], case["now_ms"] + 1)
                verdict = Gate(case["service"], keyring, replays).check(
                    case["header"], case["method"], case["now_ms"]
                )
                self.assertEqual(verdict.state, case["state"])
                if "options" in case:
                    options = {
                        "mode": verdict.request.mode,
                        "us": verdict.request.period_us,
                        "max": verdict.request.max_ms,
                    }
                    self.assertEqual(options, case["options"])
        print(f"\nvectors: {len(vectors['cases'])} request headers")

    def test_upload_signatures(self):
        vectors = load("upload.json")
        ring = FixedKeys(secrets_of(vectors))
        checked = 0
        for case in vectors["cases"]:
            fields = dict(re.findall(r"([a-z]+)=([^;]*)", case["auth"]))
            key = ring.find(fields.get("kid", ""))
            if not case["valid"] or key is None:
                continue
            with self.subTest(case["name"]):
                made = keys.upload_auth(
                    key,
                    case["method"],
                    case["path"],
                    bytes.fromhex(case["body_hex"]),
                    case["meta"],
                    int(fields["ts"]),
                    fields["nonce"],
                )
                self.assertEqual(dict(re.findall(r"([a-z]+)=([^;]*)", made))["sig"], fields["sig"])
                checked += 1
        print(f"\nvectors: {checked} upload signatures")
        self.assertGreater(checked, 5)

    def test_meta_encoding(self):
        meta = load("upload.json")["meta"]
        self.assertEqual(keys.b64url(meta["json"].encode()), meta["header"])

    def test_acknowledgements_have_the_accepted_form(self):
        good = [case["header"] for case in load("ack.json")["good"]]
        self.assertIn(
            acknowledgement(
                "mgj6k3cw0abcdefghij4",
                "started",
                "python/1.0",
                "cpython/3.11",
                "wall,cpu,lines",
                1760000000000,
            ),
            good,
        )
        ours = acknowledgement(
            "mgj6k3cw0abcdefghij4", "started", AGENT, RUNTIME, CAPS, 1760000000000
        )
        self.assertRegex(
            ours,
            r"v=1;id=[0-9a-z]{20};st=[a-z-]+;agent=[A-Za-z0-9._+-]{1,32}/[A-Za-z0-9._+-]{1,32};"
            r"rt=[A-Za-z0-9._+-]{1,32}/[A-Za-z0-9._+-]{1,32};caps=([a-z0-9-]{1,16},?)+;now=\d+",
        )
        self.assertLessEqual(len(ours), 512)


class Replays(unittest.TestCase):
    def test_a_full_ring_of_live_ids_is_busy_until_they_expire(self):
        ring = ReplayRing(room=2)
        self.assertIsNone(ring.add("a", 0, 10))
        self.assertIsNone(ring.add("b", 0, 20))
        self.assertEqual(ring.add("a", 5, 15), "replay")
        self.assertEqual(ring.add("c", 10, 30), "busy")
        self.assertIsNone(ring.add("c", 11, 31))
        self.assertEqual(ring.add("b", 11, 20), "replay")


if __name__ == "__main__":
    unittest.main()
