import { describe, expect, it } from 'vitest';
import {
  bytes,
  count,
  duration,
  figure,
  interval,
  percent,
  tickText,
  ticks,
  valueText,
} from '../app/core/format';
import { fitLabel } from '../app/flame/label';
import { clampRange, pan, whole, zoomAround } from '../app/flame/range';
import { phaseSpans } from '../app/model/phases';

describe('figures', () => {
  it.each([
    [figure(1284), '1,284.0'],
    [figure(0), '0.0'],
    [figure(0.0423), '0.042'],
    [figure(-7), '\u22127.0'],
    [count(48210), '48,210'],
    [percent(1, 3), '33.3 %'],
    [percent(1, 1e6), '< 0.1 %'],
    [percent(1, 0), 'none'],
    [bytes(512), '512 B'],
    [bytes(21504), '21 KiB'],
    [bytes(1536), '1.5 KiB'],
    [interval(1000), '1 ms'],
    [interval(100), '100 µs'],
    [duration(59.6), '1 min 0 s'],
    [duration(702), '11 min 42 s'],
    [duration(85860), '23 h 51 min'],
    [valueText(5e6, 'nanoseconds'), '5.0 ms'],
    [valueText(7, 'count'), '7 samples'],
  ])('%s', (text, expected) => expect(text).toBe(expected));
});

describe('ticks', () => {
  it('stand at round steps inside the range', () => {
    expect(ticks(0, 412.6, 8)).toEqual([0, 100, 200, 300, 400]);
    expect(ticks(12.3, 13.1, 4)).toEqual(
      [12.4, 12.600000000000001, 12.8, 13].map((value) => expect.closeTo(value)),
    );
    expect(ticks(5, 5, 4)).toEqual([]);
  });
  it('never say minus zero', () => expect(Object.is(ticks(0, 10, 4)[0], 0)).toBe(true));
  it('have the digits of their step', () => {
    expect(tickText(12.4, 0.2)).toBe('12.4');
    expect(tickText(1500, 500)).toBe('1,500');
  });
});

describe('labels', () => {
  it.each([
    ['dulwich.objects.Tree._deserialize', 40, 'dulwich.objects.Tree._deserialize'],
    ['dulwich.objects.Tree._deserialize', 20, 'Tree._deserialize'],
    ['dulwich.objects.Tree._deserialize', 12, '_deserialize'],
    ['dulwich.objects.Tree._deserialize', 8, '_deseri…'],
    ['dulwich.objects.Tree._deserialize', 2, ''],
    ['std::vector<a::b>::push_back(c::d)', 24, 'vector<a::b>::push_back…'],
    ['net/http.(*conn).serve', 18, 'http.(*conn).serve'],
    ['.hidden', 5, '.hid…'],
  ])('%s in %d characters: %s', (name, room, expected) =>
    expect(fitLabel(name, room)).toBe(expected),
  );
});

describe('the visible range', () => {
  it('stays inside the axis and keeps its width', () => {
    expect(clampRange({ from: -5, to: 5 }, 100, 1)).toEqual({ from: 0, to: 10 });
    expect(clampRange({ from: 95, to: 105 }, 100, 1)).toEqual({ from: 90, to: 100 });
    expect(clampRange({ from: -50, to: 500 }, 100, 1)).toEqual({ from: 0, to: 100 });
    expect(clampRange({ from: 50, to: 50 }, 100, 1)).toEqual({ from: 50, to: 51 });
  });
  it('keeps the anchor in place while zooming', () => {
    expect(zoomAround({ from: 0, to: 100 }, 25, 0.5)).toEqual({ from: 12.5, to: 62.5 });
    expect(pan({ from: 0, to: 10 }, 5)).toEqual({ from: 5, to: 15 });
    expect(whole(0)).toEqual({ from: 0, to: 1 });
  });
});

describe('phases', () => {
  it('follow each other; what is left is the client', () => {
    const spans = phaseSpans({
      id: 'x',
      state: 'stored',
      duration_ms: 10,
      phases_ms: { queue: 1, first_byte: 6, body: 2 },
    });
    expect(spans.map(({ name, start, ms }) => [name, start, ms])).toEqual([
      ['queue', 0, 1],
      ['application, until first byte', 1, 6],
      ['body', 7, 2],
      ['client', 9, 1],
    ]);
  });
});
