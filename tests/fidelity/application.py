"""A WSGI application that knows what its profile has to look like.

Every answer is JSON with the truth: nanoseconds of thread CPU time and of wall time that each
function took by its own clock, the interval of the whole call on CLOCK_MONOTONIC, and the process.
"""

import json
import os
import threading
import time
import urllib.parse

MS = 1_000_000


class Truth:
    """What the functions of one request used. Thread: the request's own."""

    def __init__(self):
        self.cpu = {}
        self.wall = {}

    def add(self, name, cpu_ns, wall_ns):
        self.cpu[name] = self.cpu.get(name, 0) + cpu_ns
        self.wall[name] = self.wall.get(name, 0) + wall_ns

    def of(self, function, *arguments):
        cpu, wall = time.thread_time_ns(), time.monotonic_ns()
        function(*arguments)
        self.add(function.__name__, time.thread_time_ns() - cpu, time.monotonic_ns() - wall)


def burn(milliseconds):
    """CPU time of this thread, as its clock tells: a busy machine cannot change the shares."""
    until = time.thread_time_ns() + int(milliseconds * MS)
    while time.thread_time_ns() < until:
        for _ in range(20):
            pass


def until(deadline_ns):
    while time.monotonic_ns() < deadline_ns:
        pass


def a(milliseconds):
    burn(milliseconds)


def b(milliseconds):
    burn(milliseconds)


def nap(milliseconds):
    time.sleep(milliseconds / 1000)


def heavy(milliseconds):
    heavy_inner(milliseconds)


def heavy_inner(milliseconds):
    burn(milliseconds)


def in_step_a(deadline_ns):
    until(deadline_ns)


def in_step_b(deadline_ns):
    until(deadline_ns)


def split(truth, milliseconds):
    """70 % a, 30 % b, in turns of about 10 ms of uneven length."""
    for turn in range(int(milliseconds / 10)):
        scale = 0.7 + 0.2 * (turn % 4)
        truth.of(a, 7 * scale)
        truth.of(b, 3 * scale)


def doze(truth, milliseconds):
    """Of 15 ms, 5 ms sleep."""
    for _ in range(int(milliseconds / 15)):
        truth.of(a, 10)
        truth.of(nap, 5)


def resonate(truth, milliseconds):
    """A loop that takes exactly 1 ms: 0.7 ms a, 0.3 ms b."""
    start = now = time.monotonic_ns()
    while now < start + milliseconds * MS:
        begin = now - (now - start) % MS
        in_step_a(begin + 7 * MS // 10)
        middle = time.monotonic_ns()
        in_step_b(begin + MS)
        truth.add("in_step_a", 0, middle - now)
        now = time.monotonic_ns()
        truth.add("in_step_b", 0, now - middle)


def occupy(truth, milliseconds):
    truth.of(heavy, milliseconds)


def marked(truth, milliseconds, mark):
    """Burns in a function whose name no other request has."""
    space = {"burn": burn}
    exec(
        compile(f"def only_{mark}(milliseconds):\n    burn(milliseconds)", __file__, "exec"), space
    )
    truth.of(space[f"only_{mark}"], milliseconds)


_PATHS = {
    "/split": split,
    "/doze": doze,
    "/resonate": resonate,
    "/occupy": occupy,
    "/marked": marked,
}


def application(environ, start_response):
    began = time.monotonic_ns()
    query = dict(urllib.parse.parse_qsl(environ["QUERY_STRING"]))
    truth = Truth()
    work = _PATHS[environ["PATH_INFO"]]
    work(truth, float(query["ms"]), *([query["mark"]] if "mark" in query else []))
    start_response("200 OK", [("Content-Type", "application/json")])
    return [
        json.dumps(
            {
                "cpu": truth.cpu,
                "wall": truth.wall,
                "began": began,
                "ended": time.monotonic_ns(),
                "pid": os.getpid(),
                "thread": threading.get_ident(),
            }
        ).encode()
    ]
