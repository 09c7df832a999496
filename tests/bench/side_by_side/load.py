"""The scenarios, and the load generators of the distribution that play them: wrk and h2load."""

import collections
import re
import subprocess

Scenario = collections.namedtuple(
    "Scenario", "description target connections streams browser close tls http2"
)


def _scenario(description, target="/small", connections=64, streams=0, **flags):
    wanted = {name: flags.get(name, False) for name in ("browser", "close", "tls", "http2")}
    return Scenario(description, target, connections, streams, **wanted)


SCENARIOS = {
    "small": _scenario("128 bytes, kept connections"),
    "browser": _scenario(
        "the same with the head that a browser sends",
        "/small?utm_source=newsletter&page=2",
        browser=True,
    ),
    "connect": _scenario("a new connection for each request", close=True),
    "large": _scenario("1 MiB", "/large", 16),
    "tls": _scenario("128 bytes over kept TLS connections", tls=True),
    "handshake": _scenario(
        "a new TLS connection for each request", connections=32, tls=True, close=True
    ),
    "h2": _scenario(
        "128 bytes over HTTP/2, 8 connections of 16 streams",
        connections=8,
        streams=16,
        tls=True,
        http2=True,
    ),
    "h2-large": _scenario(
        "1 MiB over HTTP/2, 4 connections of 4 streams",
        "/large",
        4,
        4,
        tls=True,
        http2=True,
    ),
}

BROWSER_FIELDS = {
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "Accept-Encoding": "gzip, deflate, br",
    "Accept-Language": "en-GB,en;q=0.8,fr;q=0.5",
    "Cookie": "session=c2FtcGxlLXNlc3Npb24tdmFsdWU; consent=all; theme=dark; cart=8f14e45fceea167a5a36dedd4bea2543",
    "DNT": "1",
    "Priority": "u=0, i",
    "Referer": "https://shop.example.com/catalogue/shoes?page=1",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Site": "same-origin",
    "Sec-Fetch-User": "?1",
    "TE": "trailers",
    "Upgrade-Insecure-Requests": "1",
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
}

Outcome = collections.namedtuple("Outcome", "requests errors seconds")


def play(scenario, port, core, seconds):
    """Runs the scenario against a port for about so long, with the generator on the given core."""
    scheme = "https" if scenario.tls else "http"
    url = f"{scheme}://127.0.0.1:{port}{scenario.target}"
    if scenario.http2:
        return _play_h2load(scenario, url, core, seconds)
    command = ["wrk", "-t1", f"-c{scenario.connections}", f"-d{seconds}s", url]
    if scenario.close:
        command += ["-H", "Connection: close"]
    if scenario.browser:
        for name, value in BROWSER_FIELDS.items():
            command += ["-H", f"{name}: {value}"]
    text = _run(command, core)
    total = re.search(r"(\d+) requests in ([\d.]+)(s|m)", text)
    if total is None:
        return Outcome(0, 1, seconds)
    errors = sum(int(count) for count in re.findall(r"Non-2xx or 3xx responses: (\d+)", text))
    for line in re.findall(r"Socket errors: (.*)", text):
        errors += sum(int(count) for count in re.findall(r"\d+", line))
    took = float(total[2]) * (60 if total[3] == "m" else 1)
    return Outcome(int(total[1]), errors, took)


# h2load counts only what it ends within its time; a number of requests is counted whole, so one is chosen
# that takes about as long.
def _play_h2load(scenario, url, core, seconds):
    common = ["h2load", f"-c{scenario.connections}", f"-m{scenario.streams}"]
    probe = _h2load_outcome(_run([*common, "-n400", url], core))
    if probe.requests == 0:
        return probe
    count = max(400, int(probe.requests / max(probe.seconds, 1e-3) * seconds))
    played = _h2load_outcome(_run([*common, f"-n{count}", url], core))
    return Outcome(
        played.requests + probe.requests,
        played.errors + probe.errors,
        played.seconds + probe.seconds,
    )


def _h2load_outcome(text):
    counts = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", text)
    took = re.search(r"finished in ([\d.]+)(us|ms|s|m)", text)
    if counts is None or took is None or "Application protocol: h2" not in text:
        return Outcome(0, 1, 0.0)
    unit = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}[took[2]]
    return Outcome(int(counts[1]), sum(map(int, counts.groups()[1:])), float(took[1]) * unit)


def _run(command, core):
    result = subprocess.run(
        ["taskset", "-c", str(core), *command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return result.stdout + result.stderr
