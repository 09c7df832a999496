#!/usr/bin/env python3
"""Writes the golden vectors beside this file from SPEC.md's formulas, with the standard library alone.

The C++ code has to reproduce every value (tests/agent-protocol/vectors_test.cc), so the files hold what two
independent implementations agree on. Run with --check to compare instead of writing.
"""
import base64
import hashlib
import hmac
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
NOW = 1760000000000
SECRET = b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
PREVIOUS = b"an older secret of the same application, in plain words"
STRANGER = b"a secret that this application has never been given at all"


def mac(key, text):
    return hmac.new(key, text, hashlib.sha256).digest()


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def request_key(secret):
    return mac(secret, b"flamegate request v1")


def upload_key(secret):
    return mac(secret, b"flamegate upload v1")


def kid(secret):
    return hashlib.sha256(request_key(secret)).hexdigest()[:8]


def sha_hex(data):
    return hashlib.sha256(data).hexdigest()


# keys.json ---------------------------------------------------------------------------------------
def key_cases():
    files = [
        ("made by flamegate: 64 hex digits and a line feed", SECRET + b"\n"),
        ("the same without a final newline", SECRET),
        ("the same with CR LF", SECRET + b"\r\n"),
        ("only one final newline is cut", SECRET + b"\n\n"),
        ("a final CR alone belongs to the secret", SECRET + b"\r"),
        ("words", PREVIOUS + b"\n"),
        ("blanks at both ends belong to the secret", b"  thirty-two bytes and then some  \n"),
        ("bytes that are not UTF-8", bytes(range(0xe0, 0x100)) + b"\n"),
        ("exactly 32 bytes", b"x" * 32 + b"\n"),
        ("hexadecimal digits are text, not bytes", b"00" * 16 + b"\n"),
    ]
    good = []
    for name, content in files:
        secret = content[:-2] if content.endswith(b"\r\n") else content[:-1] if content.endswith(b"\n") else content
        good.append({
            "name": name, "file_hex": content.hex(), "secret_hex": secret.hex(),
            "request_key_hex": request_key(secret).hex(), "upload_key_hex": upload_key(secret).hex(),
            "kid": kid(secret),
        })
    bad = [
        {"name": "an empty file", "file_hex": ""},
        {"name": "31 bytes", "file_hex": (b"x" * 31).hex()},
        {"name": "31 bytes and a newline", "file_hex": (b"x" * 31 + b"\n").hex()},
        {"name": "31 bytes and CR LF", "file_hex": (b"x" * 31 + b"\r\n").hex()},
    ]
    return {"about": "R2-R4: secret files and the keys derived from them", "good": good, "bad": bad}


# request.json ------------------------------------------------------------------------------------
FIELDS = ["v", "id", "ts", "ttl", "svc", "kid", "mode", "us", "max", "sig"]
BASE = {"v": "1", "id": "mgj6k3cw0abcdefghij4", "ts": str(NOW), "ttl": "10000", "svc": "shop", "mode": "wall",
        "us": "1000", "max": "30000"}


def sign(fields, method, secret):
    text = "FG1-REQ\n" + "\n".join([fields["kid"], fields["id"], fields["ts"], fields["ttl"], fields["svc"], method,
                                    fields["mode"], fields["us"], fields["max"]])
    return b64url(mac(request_key(secret), text.encode())[:16])


def header(method="GET", secret=SECRET, order=FIELDS, unsigned=None, **changed):
    """A signed header; `unsigned` changes fields after signing."""
    fields = {**BASE, "kid": kid(secret), **changed}
    fields["sig"] = sign(fields, method, secret)
    fields.update(unsigned or {})
    return ";".join(f"{name}={fields[name]}" for name in order if fields.get(name) is not None)


def request_cases():
    cases = []

    def case(name, value, state, method="GET", now=NOW, service="shop", **more):
        cases.append({"name": name, "method": method, "header": value, "now_ms": now, "service": service,
                      "state": state, **more})

    good = {"mode": "wall", "us": 1000, "max": 30000}
    case("plain", header(), "started", options=good)
    case("POST is signed as POST", header("POST"), "started", "POST", options=good)
    case("an extension method", header("PURGE"), "started", "PURGE", options=good)
    case("fields in another order", header(order=FIELDS[::-1]), "started", options=good)
    case("the previous secret", header(secret=PREVIOUS), "started", options=good)
    case("other options", header(mode="both", us="100", max="5000"), "started",
         options={"mode": "both", "us": 100, "max": 5000})
    case("cpu", header(mode="cpu", us="10000"), "started", options={"mode": "cpu", "us": 10000, "max": 30000})
    case("unknown keys are ignored", "x-new=a=b;" + header() + ";y=;y=2", "started", options=good)
    case("an agent without a service name takes any", header(), "started", service=None, options=good)
    case("the longest service name", header(svc="S" * 64), "started", service="S" * 64, options=good)
    case("512 bytes", header() + ";x=" + "p" * (512 - len(header()) - 3), "started", options=good)
    case("the last moment of the window", header(), "started", now=NOW + 15000, options=good)
    case("the first moment of the window", header(), "started", now=NOW - 15000, options=good)
    case("a ttl of 0 leaves the 5 s", header(ttl="0"), "started", now=NOW + 5000, options=good)
    case("a long ttl counts as 60 s", header(ttl="600000"), "started", now=NOW + 65000, options=good)

    case("one ms too late", header(), "expired", now=NOW + 15001)
    case("one ms too early", header(), "expired", now=NOW - 15001)
    case("a long ttl, one ms too late", header(ttl="600000"), "expired", now=NOW + 65001)
    case("time is looked at before the signature", header(unsigned={"sig": "A" * 22}), "expired", now=NOW + 15001)
    case("a zeroed signature", header(unsigned={"sig": "A" * 22}), "bad-sig")
    case("another method", header("GET"), "bad-sig", "POST")
    case("method letters matter", header("GET"), "bad-sig", "get")
    for name, value in [("id", "mgj6k3cw0abcdefghij5"), ("ts", str(NOW + 1)), ("ttl", "9999"), ("mode", "cpu"),
                        ("us", "1001"), ("max", "30001")]:
        case(f"{name} changed after signing", header(unsigned={name: value}), "bad-sig")
    case("svc changed after signing", header(unsigned={"svc": "shop2"}), "bad-sig", service=None)
    case("a key that is not known", header(secret=STRANGER), "bad-sig")
    case("the kid of the previous secret, signed by the current", header(unsigned={"kid": kid(PREVIOUS)}), "bad-sig")
    case("another service", header(svc="billing"), "bad-sig")
    case("service names are compared with case", header(svc="Shop"), "bad-sig")
    case("service is looked at before time", header(svc="billing"), "bad-sig", now=NOW + 99999)
    case("seen before", header(), "replay", seen=[BASE["id"]])
    case("a wrong signature does not reveal that the id was seen", header(unsigned={"sig": "A" * 22}), "bad-sig",
         seen=[BASE["id"]])
    case("another id was seen", header(), "started", seen=["mgj6k3cw0abcdefghij5"], options=good)
    case("a later version", header(v="2"), "unsupported")
    case("a later version with other fields", f"v=2;id={BASE['id']};alg=ed25519", "unsupported")
    case("version is looked at before service and key", f"v=7;id={BASE['id']};svc=billing;kid=zz", "unsupported")

    def malformed(name, value):
        case(name, value, None)

    malformed("empty", "")
    malformed("513 bytes", header() + ";x=" + "p" * (513 - len(header()) - 3))
    for name in FIELDS:
        malformed(f"{name} is missing", header(order=[field for field in FIELDS if field != name]))
    for name in FIELDS:
        malformed(f"{name} comes twice", header(order=FIELDS + [name]))
        malformed(f"{name} is empty", header(unsigned={name: ""}))
    malformed("a later version without an id", "v=2;alg=ed25519")
    malformed("version 01", header(unsigned={"v": "01"}))
    malformed("a trailing semicolon", header() + ";")
    malformed("an empty pair", header().replace(";", ";;", 1))
    malformed("a pair without =", header() + ";flag")
    malformed("a pair without a name", header() + ";=1")
    malformed("a blank after a semicolon", header().replace(";", "; "))
    malformed("two lines joined by a framework", header() + ", " + header())
    malformed("keys in upper case", header().replace("id=", "ID="))
    malformed("a tab", header() + ";x=\t")
    malformed("a letter outside ASCII", header() + ";x=\u00e9")
    malformed("id of 19", header(id=BASE["id"][:19]))
    malformed("id of 21", header(id=BASE["id"] + "0"))
    malformed("id in upper case", header(id=BASE["id"].upper()))
    malformed("kid of 7", header(unsigned={"kid": "0123456"}))
    malformed("kid in upper case", header(unsigned={"kid": "ABCDEF01"}))
    malformed("an unknown mode", header(mode="heap"))
    malformed("mode in upper case", header(mode="WALL"))
    malformed("svc of 65", header(svc="s" * 65))
    malformed("svc with a slash", header(svc="a/b"))
    for name in ["ts", "ttl", "us", "max"]:
        for what, value in [("with a sign", "+1000"), ("negative", "-1"), ("with a leading zero", "01000"),
                            ("in hexadecimal", "0x10"), ("with a fraction", "1.5"),
                            ("of 16 digits", "1" * 16)]:
            malformed(f"{name} {what}", header(**{name: value}))
    malformed("us of 0", header(us="0"))
    malformed("max of 0", header(max="0"))
    malformed("sig of 21", header(unsigned={"sig": "A" * 21}))
    malformed("sig of 23", header(unsigned={"sig": "A" * 23}))
    malformed("sig with padding", header(unsigned={"sig": "A" * 22 + "=="}))
    malformed("sig in standard base64", header(unsigned={"sig": "+/" + "A" * 20}))
    malformed("sig with stray bits in its last character", header(unsigned={"sig": "A" * 21 + "B"}))
    return {
        "about": "R5-R12: what an agent makes of a request header. state: the ack's `st`, null for no ack at all",
        "secret_hex": SECRET.hex(), "previous_secret_hex": PREVIOUS.hex(), "cases": cases,
        "formatted": {"about": "the header exactly as the proxy writes it", "method": "GET", "header": header(),
                      "fields": {**BASE, "kid": kid(SECRET)}},
    }


# ack.json ----------------------------------------------------------------------------------------
def ack_cases():
    me = BASE["id"]
    full = f"v=1;id={me};st=started;agent=python/1.0;rt=cpython/3.11;caps=wall,cpu,lines;now={NOW}"
    good = [{"name": "all fields", "header": full,
             "ack": {"id": me, "state": "started", "agent": "python/1.0", "runtime": "cpython/3.11",
                     "caps": ["wall", "cpu", "lines"], "now_ms": NOW}}]
    for state in ["busy", "off", "bad-sig", "expired", "replay", "unsupported", "error"]:
        good.append({"name": state, "header": full.replace("started", state),
                     "ack": {**good[0]["ack"], "state": state}})
    good.append({"name": "the three that are required", "header": f"st=busy;id={me};v=1",
                 "ack": {"id": me, "state": "busy", "agent": "", "runtime": "", "caps": [], "now_ms": None}})
    good.append({"name": "unknown keys are ignored", "header": full + ";max=1;q=", "ack": good[0]["ack"]})
    bad = [{"name": name, "header": value} for name, value in [
        ("empty", ""), ("no version", f"id={me};st=started"), ("another version", f"v=2;id={me};st=started"),
        ("no id", "v=1;st=started"), ("no state", f"v=1;id={me}"), ("an unknown state", f"v=1;id={me};st=ok"),
        ("state in upper case", f"v=1;id={me};st=STARTED"), ("two states", f"v=1;id={me};st=started;st=busy"),
        ("two ids", f"v=1;id={me};id={me};st=started"), ("a short id", f"v=1;id={me[:19]};st=started"),
        ("blanks", full.replace(";", "; ")), ("two acks joined by a framework", full + ", " + full),
        ("a trailing semicolon", full + ";"), ("agent without a version", f"v=1;id={me};st=started;agent=python"),
        ("agent with a blank", f"v=1;id={me};st=started;agent=my agent/1"),
        ("an empty capability", f"v=1;id={me};st=started;caps=wall,,cpu"),
        ("a clock with a sign", f"v=1;id={me};st=started;now=-1"), ("513 bytes", full + ";x=" + "p" * (510 - len(full))),
    ]]
    return {"about": "R13-R15: acknowledgements as agents write them", "good": good, "bad": bad}


# upload.json -------------------------------------------------------------------------------------
def upload_sig(secret, key, ts, nonce, method, path, body, meta):
    text = "FG1-UP\n" + "\n".join([key, ts, nonce, method, path, sha_hex(body), sha_hex(meta.encode())])
    return b64url(mac(upload_key(secret), text.encode()))


def auth(secret=SECRET, ts=NOW, nonce="n0123456789abcdef", method="POST", path=f"/agent/v1/profiles/{BASE['id']}/4711-0",
         body=b"", meta="", **changed):
    key = changed.pop("kid", kid(secret))
    fields = {"kid": key, "ts": str(ts), "nonce": nonce,
              "sig": upload_sig(secret, key, str(ts), nonce, method, path, body, meta)}
    fields.update(changed)
    return ";".join(f"{name}={value}" for name, value in fields.items() if value is not None)


def upload_cases():
    path = f"/agent/v1/profiles/{BASE['id']}/4711-0"
    body = b"main;handler;query 12\nmain;handler;render 7\n"
    meta_json = ('{"agent":"python/1.0","runtime":"cpython/3.11","host":"web-1","pid":4711,'
                 '"start_unix_ns":1760000000000000000,"end_unix_ns":1760000000150000000,"period_us":1000,'
                 '"measured_period_us":1003,"ticks":{"expected":150,"taken":149,"missed":1},"truncated":false,'
                 '"attribution":"thread","route":"/orders/{id}","overhead_ns":2100000}')
    meta = b64url(meta_json.encode())
    cases = []

    def case(name, value, valid, now=NOW, method="POST", at=path, content=body, described=meta):
        cases.append({"name": name, "auth": value, "now_ms": now, "method": method, "path": at,
                      "body_hex": content.hex(), "meta": described, "valid": valid})

    good = auth(body=body, meta=meta)
    case("plain", good, True)
    case("no meta signs the hash of nothing", auth(body=body), True, described="")
    case("an empty body", auth(meta=meta), True, content=b"")
    case("the previous secret", auth(PREVIOUS, body=body, meta=meta), True)
    case("a second part", auth(body=body, meta=meta, path=path[:-1] + "1"), True, at=path[:-1] + "1")
    case("hello", auth(path="/agent/v1/hello/web-1.4711", body=b'{"agent":"python/1.0"}'), True,
         at="/agent/v1/hello/web-1.4711", content=b'{"agent":"python/1.0"}', described="")
    case("the shortest nonce", auth(nonce="0" * 16, body=body, meta=meta), True)
    case("the longest nonce", auth(nonce="_-" * 32, body=body, meta=meta), True)
    case("unknown keys are ignored", good + ";alg=hs256", True)
    case("300 s late", good, True, now=NOW + 300000)
    case("300 s early", good, True, now=NOW - 300000)
    case("300.001 s late", good, False, now=NOW + 300001)
    case("300.001 s early", good, False, now=NOW - 300001)
    case("another body", good, False, content=body + b"\n")
    case("another path", good, False, at=path[:-1] + "1")
    case("another method", good, False, method="PUT")
    case("another meta", good, False, described=meta[:-1] + ("A" if meta[-1] != "A" else "Q"))
    case("meta left away", good, False, described="")
    case("an unknown key", auth(STRANGER, body=body, meta=meta), False)
    case("the request key instead of the upload key", auth(body=body, meta=meta, sig=b64url(mac(
        request_key(SECRET), b"FG1-UP\n"))), False)
    for name in ["kid", "ts", "nonce", "sig"]:
        case(f"{name} is missing", ";".join(p for p in good.split(";") if not p.startswith(name + "=")), False)
        case(f"{name} comes twice", good + ";" + next(p for p in good.split(";") if p.startswith(name + "=")), False)
    case("a nonce of 15", auth(nonce="0" * 15, body=body, meta=meta), False)
    case("a nonce of 65", auth(nonce="0" * 65, body=body, meta=meta), False)
    case("a nonce with a dot", auth(nonce="0123456789abcde.", body=body, meta=meta), False)
    case("a signature cut to 16 bytes", auth(body=body, meta=meta, sig=b64url(b"\0" * 16)), False)
    case("blanks", good.replace(";", "; "), False)
    case("empty", "", False)

    nonce = "n0123456789abcdef"
    answer_body = b'{"generation":3,"continuous":{"on":false},"backoff_ms":1000}'

    def answer(secret, content, asked):
        key = kid(secret)
        text = "FG1-ANS\n" + "\n".join([key, asked, sha_hex(content)])
        return f"kid={key};sig={b64url(mac(upload_key(secret), text.encode()))}"

    answers = [
        {"name": "plain", "auth": answer(SECRET, answer_body, nonce), "nonce": nonce, "body_hex": answer_body.hex(),
         "valid": True},
        {"name": "the previous secret", "auth": answer(PREVIOUS, answer_body, nonce), "nonce": nonce,
         "body_hex": answer_body.hex(), "valid": True},
        {"name": "unknown keys are ignored", "auth": answer(SECRET, answer_body, nonce) + ";ts=1", "nonce": nonce,
         "body_hex": answer_body.hex(), "valid": True},
        {"name": "an answer to another question", "auth": answer(SECRET, answer_body, nonce + "0"), "nonce": nonce,
         "body_hex": answer_body.hex(), "valid": False},
        {"name": "another body", "auth": answer(SECRET, answer_body, nonce), "nonce": nonce,
         "body_hex": (answer_body + b" ").hex(), "valid": False},
        {"name": "an unknown key", "auth": answer(STRANGER, answer_body, nonce), "nonce": nonce,
         "body_hex": answer_body.hex(), "valid": False},
        {"name": "no signature", "auth": f"kid={kid(SECRET)}", "nonce": nonce, "body_hex": answer_body.hex(),
         "valid": False},
        {"name": "empty", "auth": "", "nonce": nonce, "body_hex": answer_body.hex(), "valid": False},
    ]
    return {
        "about": "R16-R26: Flamegate-Auth of uploads and hellos (cases), and of answers to a hello (answers)",
        "secret_hex": SECRET.hex(), "previous_secret_hex": PREVIOUS.hex(), "cases": cases, "answers": answers,
        "meta": {"header": meta, "json": meta_json},
    }


# grammar.json ------------------------------------------------------------------------------------
def grammar_cases():
    return {
        "about": "R1 and R17: ids and parts",
        "ids": [
            {"id": "mgj6k3cw0abcdefghij4", "ms": NOW},
            {"id": "00000000000000000000", "ms": 0},
            {"id": "zzzzzzzzzzzzzzzzzzzz", "ms": 36 ** 8 - 1},
        ],
        "bad_ids": ["", "mgj6k3cw0abcdefghij", "mgj6k3cw0abcdefghij44", "MGJ6K3CW0ABCDEFGHIJ4", "mgj6k3cw0abcdefghij-",
                    " gj6k3cw0abcdefghij4", "mgj6k3cw0abcdefghi%30"],
        "parts": ["0-0", "4711-0", "4294967295-999999", "0000000001-000001"],
        "bad_parts": ["", "-", "1", "1-", "-1", "1-1-1", "12345678901-0", "1-1234567", "a-1", "1-a", " 1-1", "1-1\n",
                      "+1-1", "1_1"],
    }


FILES = {"keys.json": key_cases, "request.json": request_cases, "ack.json": ack_cases, "upload.json": upload_cases,
         "grammar.json": grammar_cases}


def main():
    stale = []
    for name, build in FILES.items():
        text = json.dumps(build(), indent=1, ensure_ascii=True) + "\n"
        path = HERE / name
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(name)
    if stale:
        sys.exit("not what generate.py yields: " + ", ".join(stale))


if __name__ == "__main__":
    main()
