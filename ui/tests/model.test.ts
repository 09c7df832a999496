import { describe, expect, it } from 'vitest';
import { placeOnAxis } from '../app/model/axis';
import { layOutTimeline } from '../app/model/chart';
import {
  boxAt,
  findFrame,
  frameName,
  kNone,
  neighbour,
  pathTo,
  total,
  widestChild,
  type Frames,
} from '../app/model/frames';
import { layOutTree } from '../app/model/merged';
import { sandwich } from '../app/model/sandwich';
import { findFrames, highlight, matchFunctions } from '../app/model/search';
import { ownerOf, packageOf, Symbols } from '../app/model/symbols';
import { neighboursOf, sumFunctions, sumOwners } from '../app/model/top';
import type { TimelineAnswer, TreeAnswer } from '../app/model/types';

// Functions by name, all in /srv/app/main.py unless a file is given.
function functionColumns(names: string[], files: string[] = []) {
  const strings = [...names, '/srv/app/main.py', ...files];
  const file = names.map((_, i) => (files[i] ? names.length + 1 + i : names.length));
  return { strings, functions: { name: names.map((_, i) => i), file, line: names.map(() => 1) } };
}

// Nodes as [parent, function, self, total].
function treeAnswer(
  names: string[],
  nodes: [number, number, number, number][],
  files: string[] = [],
): TreeAnswer {
  const column = (i: number) => nodes.map((node) => node[i]);
  return {
    types: ['wall'],
    units: ['nanoseconds'],
    value: 'wall',
    total: nodes[0]?.[3] ?? 0,
    samples: 10,
    ...functionColumns(names, files),
    nodes: {
      parent: column(0),
      function: column(1),
      line: nodes.map(() => 0),
      self: column(2),
      total: column(3),
      samples: column(3),
    },
  };
}

function layOut(answer: TreeAnswer): Frames {
  return layOutTree(answer, new Symbols(answer.strings, answer.functions));
}

// all(100) > main(100) > a(30) > b(10), and main > b(60) > main(20): recursion.
const kTree = treeAnswer(
  ['main', 'a', 'b'],
  [
    [-1, -1, 0, 100],
    [0, 0, 10, 100],
    [1, 1, 20, 30],
    [1, 2, 40, 60],
    [2, 2, 10, 10],
    [3, 0, 20, 20],
  ],
);

function boxesOf(frames: Frames) {
  return Array.from({ length: frames.count }, (_, i) => [
    frames.symbols.name(frames.fn[i]),
    frames.depth[i],
    frames.start[i],
    frames.end[i],
  ]);
}

describe('the merged graph', () => {
  it('stands widest first, children within their parent, row by row', () => {
    expect(boxesOf(layOut(kTree))).toEqual([
      ['all', 0, 0, 100],
      ['main', 1, 0, 100],
      ['b', 2, 0, 60],
      ['a', 2, 60, 90],
      ['main', 3, 0, 20],
      ['b', 3, 60, 70],
    ]);
  });

  it('keeps children inside a parent whose total is too small', () => {
    const frames = layOut(
      treeAnswer(
        ['p', 'c'],
        [
          [-1, -1, 0, 10],
          [0, 0, 0, 10],
          [1, 1, 8, 8],
          [1, 1, 8, 8],
        ],
      ),
    );
    expect(boxesOf(frames).slice(2)).toEqual([
      ['c', 2, 0, 8],
      ['c', 2, 8, 10],
    ]);
  });

  it('leaves out nodes whose parent does not stand before them', () => {
    expect(
      layOut(
        treeAnswer(
          ['p'],
          [
            [-1, -1, 0, 5],
            [2, 0, 1, 1],
            [1, 0, 1, 1],
            [9, 0, 1, 1],
          ],
        ),
      ).count,
    ).toBe(1);
  });

  it('lays out a stack of 100,000 without recursion', () => {
    const nodes = Array.from({ length: 100_000 }, (_, i): [number, number, number, number] => [
      i - 1,
      i ? 0 : -1,
      0,
      1,
    ]);
    const frames = layOut(treeAnswer(['deep'], nodes));
    expect(frames.rows.length - 1).toBe(100_000);
    expect(sumFunctions(frames)[0].total).toBe(1);
  });

  it('is empty for an empty answer', () => {
    expect(layOut(treeAnswer([], [])).count).toBe(0);
  });
});

describe('boxes', () => {
  const frames = layOut(kTree);

  it('are found by row and position, edges belonging to the right', () => {
    expect(boxAt(frames, 2, 59.9)).toBe(2);
    expect(boxAt(frames, 2, 60)).toBe(3);
    expect(boxAt(frames, 2, 95)).toBe(kNone);
    expect(boxAt(frames, 9, 1)).toBe(kNone);
  });

  it('know their relatives', () => {
    expect(widestChild(frames, 1)).toBe(2);
    expect(widestChild(frames, 5)).toBe(kNone);
    expect(neighbour(frames, 2, 1)).toBe(3);
    expect(neighbour(frames, 2, -1)).toBe(kNone);
    expect(pathTo(frames, 5)).toEqual([0, 1, 3, 5]);
  });

  it('have names that find them again', () => {
    for (let box = 1; box < frames.count; box++)
      expect(findFrame(frames, frameName(frames, box, false))).toBe(box);
    expect(findFrame(frames, 'nonsense')).toBe(kNone);
  });
});

describe('sums', () => {
  const frames = layOut(kTree);

  it('count recursion once', () => {
    const sums = Object.fromEntries(
      sumFunctions(frames).map((sum) => [frames.symbols.name(sum.fn), [sum.self, sum.total]]),
    );
    expect(sums).toEqual({ main: [30, 100], a: [20, 30], b: [50, 70] });
  });

  it('list callers and callees, largest first', () => {
    const around = neighboursOf(frames, 2);
    expect(around).toMatchObject({ self: 50, total: 70, places: 2 });
    expect(around.callers).toEqual([
      { fn: 0, value: 60 },
      { fn: 1, value: 10 },
    ]);
    expect(around.callees).toEqual([{ fn: 0, value: 20 }]);
  });

  it('divide self time among owners', () => {
    const owned = layOut(
      treeAnswer(
        ['x', 'y'],
        [
          [-1, -1, 0, 9],
          [0, 0, 4, 9],
          [1, 1, 5, 5],
        ],
        ['/usr/lib/python3.11/re.py'],
      ),
    );
    expect(sumOwners(owned)).toEqual({ own: 5, library: 0, runtime: 4 });
  });
});

describe('search', () => {
  const frames = layOut(kTree);

  it('counts time under nested matches once', () => {
    const found = findFrames(frames, matchFunctions(frames.symbols, 'MAIN'));
    expect(found).toMatchObject({ boxes: 6 - 1, total: 100 });
    const b = findFrames(frames, Uint8Array.of(0, 0, 1));
    expect(b).toMatchObject({ boxes: 2, functions: 1, total: 70, self: 50 });
  });

  it('narrows to an owner', () => {
    expect(highlight(frames.symbols, '', '')).toBeNull();
    expect([...highlight(frames.symbols, 'a', 'own')!]).toEqual([1, 1, 1]);
    expect([...highlight(frames.symbols, '', 'library')!]).toEqual([0, 0, 0]);
  });

  it('wants every word, in the name or the file', () => {
    expect([...matchFunctions(frames.symbols, 'b main.py')]).toEqual([0, 0, 1]);
    expect([...matchFunctions(frames.symbols, '   ')]).toEqual([0, 0, 0]);
  });
});

describe('a sandwich', () => {
  const both = sandwich(layOut(kTree), 2);

  it('merges all callers, outermost calls only', () => {
    expect(boxesOf(both.callers)).toEqual([
      ['b', 0, 0, 70],
      ['main', 1, 0, 60],
      ['a', 1, 60, 70],
      ['main', 2, 60, 70],
    ]);
  });

  it('merges all callees', () => {
    expect(boxesOf(both.callees)).toEqual([
      ['b', 0, 0, 70],
      ['main', 1, 0, 20],
    ]);
    expect(both.callees.self[0]).toBe(50);
  });
});

describe('owners', () => {
  it.each([
    ['/srv/app/views.py', 'own'],
    ['app/views.py', 'own'],
    ['/srv/venv/lib/python3.11/site-packages/flask/app.py', 'library'],
    ['/usr/lib/python3/dist-packages/klaus/views.py', 'library'],
    ['/srv/app/node_modules/@scope/pkg/index.js', 'library'],
    ['/usr/lib/python3.11/re.py', 'runtime'],
    ['node:internal/timers', 'runtime'],
    ['<frozen importlib._bootstrap>', 'runtime'],
    ['', 'runtime'],
    ['/usr/lib/x86_64-linux-gnu/libc.so.6', 'runtime'],
    ['<template>', 'own'],
  ])('of %s: %s', (file, owner) => expect(ownerOf(file)).toBe(owner));

  it('take the package that the service is named after for own code', () => {
    expect(ownerOf('/usr/lib/python3/dist-packages/my_shop/views.py', 'My-Shop')).toBe('own');
    expect(ownerOf('/usr/lib/python3/dist-packages/flask/app.py', 'My-Shop')).toBe('library');
  });

  it('know the package', () => {
    expect(packageOf('/x/node_modules/@scope/pkg/index.js', 'f')).toBe('@scope/pkg');
    expect(packageOf('/srv/app/views.py', 'f')).toBe('/srv/app');
    expect(packageOf('', 'zlib.decompress')).toBe('zlib');
  });
});

// Stacks: 1 = main, 2 = main > a, 3 = main > b. Samples as [time, weight, stack, state].
function timeline(samples: [number, number, number, number][]): TimelineAnswer {
  const column = (i: number) => samples.map((sample) => sample[i]);
  return {
    start_unix_ns: '0',
    duration_ns: 100,
    ...functionColumns(['main', 'a', 'b']),
    stacks: { parent: [-1, 0, 1, 1], function: [-1, 0, 1, 2], line: [0, 1, 2, 3] },
    states: ['running', 'waiting', 'gil', 'gc'],
    threads: [
      { name: 'main', t_ns: column(0), weight_ns: column(1), stack: column(2), state: column(3) },
    ],
  };
}

function chartOf(samples: [number, number, number, number][], offset = 0) {
  const answer = timeline(samples);
  return layOutTimeline(answer, answer.threads[0], new Symbols(answer.strings, answer.functions), {
    offset,
    span: 200,
  });
}

describe('the chart in time order', () => {
  it('joins what consecutive samples share', () => {
    const { frames } = chartOf(
      [
        [0, 10, 2, 0],
        [10, 10, 2, 0],
        [20, 10, 3, 0],
      ],
      5,
    );
    expect(boxesOf(frames)).toEqual([
      ['main', 0, 5, 35],
      ['a', 1, 5, 25],
      ['b', 1, 25, 35],
    ]);
    expect([...frames.self]).toEqual([0, 20, 10]);
    expect([...frames.samples]).toEqual([3, 2, 1]);
    expect(frames.span).toBe(200);
  });

  it('leaves a gap where nothing was seen', () => {
    const { frames, states } = chartOf([
      [0, 10, 1, 0],
      [40, 10, 1, 0],
    ]);
    expect(boxesOf(frames)).toEqual([
      ['main', 0, 0, 10],
      ['main', 0, 40, 50],
    ]);
    expect(states.map(({ start, end }) => [start, end])).toEqual([
      [0, 10],
      [40, 50],
    ]);
  });

  it('bridges jitter smaller than half a sample', () => {
    expect(
      boxesOf(
        chartOf([
          [0, 10, 1, 0],
          [13, 10, 1, 0],
        ]).frames,
      ),
    ).toEqual([['main', 0, 0, 23]]);
  });

  it('never draws two boxes of a row over each other', () => {
    const { frames } = chartOf([
      [0, 10, 2, 0],
      [8, 10, 3, 0],
      [9, 10, 2, 0],
    ]);
    for (let box = 1; box < frames.count; box++) {
      if (frames.depth[box] === frames.depth[box - 1])
        expect(frames.start[box]).toBeGreaterThanOrEqual(frames.end[box - 1]);
    }
  });

  it('marks where the leaf did not run', () => {
    const { frames, states } = chartOf([
      [0, 10, 2, 0],
      [10, 10, 2, 1],
      [20, 10, 2, 1],
      [30, 10, 2, 3],
    ]);
    expect(frames.marks).toEqual([
      { start: 10, end: 30, depth: 1, state: 1 },
      { start: 30, end: 40, depth: 1, state: 3 },
    ]);
    expect(states.map(({ state }) => state)).toEqual([0, 1, 3]);
  });

  it('finds a call by its name and start, and the same path in the merged graph', () => {
    const { frames } = chartOf([
      [0, 1e6, 2, 0],
      [2e6, 1e6, 3, 0],
      [4e6, 1e6, 2, 0],
    ]);
    const second = [...Array(frames.count).keys()].filter(
      (box) => frames.symbols.name(frames.fn[box]) === 'a',
    )[1];
    expect(findFrame(frames, frameName(frames, second, true))).toBe(second);
    const merged = layOut(kTree);
    const found = findFrame(merged, frameName(frames, second, true));
    expect(merged.symbols.name(merged.fn[found])).toBe('a');
    expect(total(merged, found)).toBe(30);
  });
});

describe('the place of samples on the axis', () => {
  const at = (startMs: number, sampledMs: number, started = 1000, durationMs = 100) => {
    const answer = {
      ...timeline([]),
      start_unix_ns: `${startMs}000000`,
      duration_ns: sampledMs * 1e6,
    };
    const meta = {
      id: 'x',
      state: 'stored' as const,
      started_at: new Date(started).toISOString(),
      duration_ms: durationMs,
      phases_ms: { queue: 3, connect: 2 },
    };
    const place = placeOnAxis(meta, answer);
    return [place.offset / 1e6, place.span / 1e6, place.clocksAgree];
  };
  it('is where their clock says', () => expect(at(1004, 90)).toEqual([4, 100, true]));
  it('is inside the request when it is off by little', () => {
    expect(at(999, 90)).toEqual([0, 100, true]);
    expect(at(1011, 90)).toEqual([10, 100, true]);
  });
  it('may go on after the response', () => expect(at(1050, 90)).toEqual([50, 140, true]));
  it('is where the application got the request when the clocks disagree', () => {
    expect(at(99_000, 90)).toEqual([5, 100, false]);
    expect(at(1, 99)).toEqual([5, 104, false]);
  });
});
