"""Reads pprof profiles, independently of the agent's writer."""

import collections
import gzip
from typing import NamedTuple

Frame = collections.namedtuple("Frame", "function file first_line line")


class Sample(NamedTuple):
    stack: tuple  # of Frame, innermost first
    values: tuple
    labels: dict  # text or number


class Profile(NamedTuple):
    sample_types: list  # ("wall", "nanoseconds")
    samples: list
    period: int
    period_type: tuple
    time_nanos: int
    duration_nanos: int
    comments: list
    default_sample_type: str

    def index(self, name):
        return [kind for kind, _ in self.sample_types].index(name)

    def total(self, name, where=lambda sample: True):
        index = self.index(name)
        return sum(sample.values[index] for sample in self.samples if where(sample))

    def functions(self):
        return {frame.function for sample in self.samples for frame in sample.stack}

    def by_function(self, name):
        """What each function and what it calls has of a value."""
        index, totals = self.index(name), collections.Counter()
        for sample in self.samples:
            for function in {frame.function for frame in sample.stack}:
                totals[function] += sample.values[index]
        return totals

    def by_state(self, name):
        index, totals = self.index(name), collections.Counter()
        for sample in self.samples:
            totals[sample.labels["state"]] += sample.values[index]
        return totals


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data):
    """Field number to the list of its values."""
    fields, at = collections.defaultdict(list), 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag & 7 == 0:
            value, at = _varint(data, at)
        elif tag & 7 == 2:
            size, at = _varint(data, at)
            value, at = data[at : at + size], at + size
            if len(value) != size:
                raise ValueError("a field ends beyond its message")
        else:
            raise ValueError(f"wire type {tag & 7}")
        fields[tag >> 3].append(value)
    return fields


def _packed(chunks):
    values = []
    for chunk in chunks:
        at = 0
        while at < len(chunk):
            value, at = _varint(chunk, at)
            values.append(value)
    return values


def _numbers(values):
    """Of a repeated field, which may be packed or not."""
    packed = [value for value in values if isinstance(value, bytes)]
    return _packed(packed) if packed else values


def _one(fields, number, default=0):
    return fields[number][0] if fields[number] else default


def read(data) -> Profile:
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    fields = _fields(data)
    strings = [text.decode("utf-8") for text in fields[6]]
    if strings[0] != "":
        raise ValueError("the first string is not empty")
    frames = _locations(fields, strings)
    samples = []
    for raw in fields[2]:
        sample = _fields(raw)
        labels = {}
        for label in map(_fields, sample[3]):
            labels[strings[_one(label, 1)]] = strings[_one(label, 2)] or _one(label, 3)
        stack = tuple(frame for location in _numbers(sample[1]) for frame in frames[location])
        samples.append(Sample(stack, tuple(_numbers(sample[2])), labels))

    def value_type(raw):
        pair = _fields(raw)
        return strings[_one(pair, 1)], strings[_one(pair, 2)]

    return Profile(
        [value_type(raw) for raw in fields[1]],
        samples,
        _one(fields, 12),
        value_type(_one(fields, 11, b"")),
        _one(fields, 9),
        _one(fields, 10),
        [strings[i] for i in _numbers(fields[13])],
        strings[_one(fields, 14)],
    )


def _locations(fields, strings):
    functions = {}
    for function in map(_fields, fields[5]):
        functions[_one(function, 1)] = (
            strings[_one(function, 2)],
            strings[_one(function, 4)],
            _one(function, 5),
        )
    frames = {}
    for location in map(_fields, fields[4]):
        lines = [_fields(line) for line in location[4]]
        frames[_one(location, 1)] = [
            Frame(*functions[_one(line, 1)], _one(line, 2)) for line in lines
        ]
    return frames
