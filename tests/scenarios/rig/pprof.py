"""The smallest pprof files that carry samples (profile.proto of google/pprof)."""

import gzip


def _varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field, value):
    return _varint(field << 3) + _varint(value)


def _bytes(field, value):
    return _varint(field << 3 | 2) + _varint(len(value)) + value


class _Strings:
    def __init__(self):
        self.texts = {"": 0}

    def index(self, text):
        return self.texts.setdefault(text, len(self.texts))


def encode(stacks, period_ns=1_000_000):
    """A gzipped profile. `stacks`: {("root", "callee", "leaf"): count}."""
    strings, functions = _Strings(), {}
    body = b""
    for kind, unit in (("samples", "count"), ("wall", "nanoseconds")):
        body += _bytes(1, _number(1, strings.index(kind)) + _number(2, strings.index(unit)))
    for frames, count in stacks.items():
        for name in frames:
            functions.setdefault(name, len(functions) + 1)
        locations = b"".join(_varint(functions[name]) for name in reversed(frames))
        values = _varint(count) + _varint(count * period_ns)
        body += _bytes(2, _bytes(1, locations) + _bytes(2, values))
    for name, number in functions.items():
        body += _bytes(4, _number(1, number) + _bytes(4, _number(1, number)))
        names = _number(2, strings.index(name)) + _number(3, strings.index(name))
        body += _bytes(5, _number(1, number) + names + _number(4, strings.index(f"{name}.py")))
    period_type = _number(1, strings.index("wall")) + _number(2, strings.index("nanoseconds"))
    for text in strings.texts:
        body += _bytes(6, text.encode())
    body += _bytes(11, period_type) + _number(12, period_ns)
    return gzip.compress(body, mtime=0)


SAMPLE = {("main", "handle", "query"): 7, ("main", "handle", "render"): 3}
