// Boxes that a flame view draws: columns sorted by depth, then by start. One form for the merged
// graph and for the chart in time order.

import { Symbols } from './symbols';

export interface Frames {
  readonly symbols: Symbols;
  readonly count: number;
  // Extent on the horizontal axis, in the unit of the value (nanoseconds, mostly).
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly self: Float64Array;
  readonly samples: Uint32Array;
  readonly parent: Int32Array;
  readonly fn: Int32Array;
  readonly line: Int32Array;
  readonly depth: Uint32Array;
  // Boxes of depth d are rows[d] to rows[d + 1], exclusive.
  readonly rows: Uint32Array;
  // Hash of the path of names from the root: stable across views and profiles.
  readonly key: Float64Array;
  readonly span: number;
  readonly marks: readonly StateMark[];
}

// A stretch of time in which the leaf at `depth` did not run.
export interface StateMark {
  start: number;
  end: number;
  depth: number;
  state: number;
}

export const kNone = -1;

// Columns in any order in which parents stand before children and a row's boxes stand by start.
export interface LooseFrames {
  symbols: Symbols;
  start: ArrayLike<number>;
  end: ArrayLike<number>;
  self: ArrayLike<number>;
  samples: ArrayLike<number>;
  parent: ArrayLike<number>;
  fn: ArrayLike<number>;
  line: ArrayLike<number>;
  depth: ArrayLike<number>;
  span: number;
  marks?: StateMark[];
}

// Sorts by depth, keeping the order within a row, and derives rows and keys.
export function arrange(loose: LooseFrames): Frames {
  const count = loose.depth.length;
  let depths = 0;
  for (let i = 0; i < count; i++) depths = Math.max(depths, loose.depth[i] + 1);
  const rows = new Uint32Array(depths + 1);
  for (let i = 0; i < count; i++) rows[loose.depth[i] + 1]++;
  for (let d = 0; d < depths; d++) rows[d + 1] += rows[d];

  const place = new Int32Array(count);
  const next = rows.slice();
  for (let i = 0; i < count; i++) place[i] = next[loose.depth[i]]++;

  const frames = {
    symbols: loose.symbols,
    count,
    start: new Float64Array(count),
    end: new Float64Array(count),
    self: new Float64Array(count),
    samples: new Uint32Array(count),
    parent: new Int32Array(count).fill(kNone),
    fn: new Int32Array(count),
    line: new Int32Array(count),
    depth: new Uint32Array(count),
    rows,
    key: new Float64Array(count),
    span: loose.span,
    marks: loose.marks ?? [],
  };
  for (let i = 0; i < count; i++) {
    const to = place[i];
    frames.start[to] = loose.start[i];
    frames.end[to] = loose.end[i];
    frames.self[to] = loose.self[i];
    frames.samples[to] = loose.samples[i];
    frames.parent[to] = loose.parent[i] < 0 ? kNone : place[loose.parent[i]];
    frames.fn[to] = loose.fn[i];
    frames.line[to] = loose.line[i];
    frames.depth[to] = loose.depth[i];
  }
  fillKeys(frames);
  return frames;
}

function fillKeys(frames: Frames): void {
  const low = new Uint32Array(frames.count);
  const high = new Uint32Array(frames.count);
  for (let i = 0; i < frames.count; i++) {
    const fn = frames.fn[i];
    const name = fn >= 0 ? frames.symbols.hashes[fn] : fn >>> 0;
    const parent = frames.parent[i];
    // The root of the merged graph stands for "no parent", so that both views agree on keys.
    const inherits = parent !== kNone && frames.fn[parent] !== -1;
    low[i] = Math.imul((inherits ? low[parent] : 0x811c9dc5) ^ name, 0x01000193);
    high[i] =
      Math.imul((inherits ? high[parent] : 0x9e3779b9) + name, 0x85ebca6b) ^ (low[i] >>> 15);
    frames.key[i] = (high[i] >>> 11) * 0x1_0000_0000 + low[i];
  }
}

export function total(frames: Frames, box: number): number {
  return frames.end[box] - frames.start[box];
}

// The first box of a row that ends after `value`; the row's end when there is none.
export function firstEndingAfter(frames: Frames, depth: number, value: number): number {
  let low = frames.rows[depth];
  let high = frames.rows[depth + 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (frames.end[middle] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function boxAt(frames: Frames, depth: number, value: number): number {
  if (depth < 0 || depth >= frames.rows.length - 1) return kNone;
  const box = firstEndingAfter(frames, depth, value);
  return box < frames.rows[depth + 1] && frames.start[box] <= value ? box : kNone;
}

// From the outermost ancestor to the box itself.
export function pathTo(frames: Frames, box: number): number[] {
  const path: number[] = [];
  for (let at = box; at !== kNone; at = frames.parent[at]) path.push(at);
  return path.reverse();
}

// The widest child; none for a leaf.
export function widestChild(frames: Frames, box: number): number {
  const depth = frames.depth[box] + 1;
  if (depth >= frames.rows.length - 1) return kNone;
  let best = kNone;
  const end = frames.rows[depth + 1];
  for (let at = firstEndingAfter(frames, depth, frames.start[box]); at < end; at++) {
    if (frames.start[at] >= frames.end[box]) break;
    if (frames.parent[at] !== box) continue;
    if (best === kNone || total(frames, at) > total(frames, best)) best = at;
  }
  return best;
}

// The neighbour in the same row.
export function neighbour(frames: Frames, box: number, step: 1 | -1): number {
  const depth = frames.depth[box];
  const at = box + step;
  return at >= frames.rows[depth] && at < frames.rows[depth + 1] ? at : kNone;
}

// What a URL says about a selected frame: the path's key, and for a chart where it begins.
export function frameName(frames: Frames, box: number, timed: boolean): string {
  const key = frames.key[box].toString(36);
  return timed ? `${key}@${(frames.start[box] / 1e6).toFixed(3)}` : key;
}

// The box that a URL means: the nearest to the given start, else the widest.
export function findFrame(frames: Frames, name: string): number {
  const [text, at] = name.split('@');
  const key = parseInt(text, 36);
  const start = at === undefined ? NaN : Number(at) * 1e6;
  let best = kNone;
  let score = Infinity;
  for (let i = 0; i < frames.count; i++) {
    if (frames.key[i] !== key) continue;
    const badness = Number.isNaN(start) ? -total(frames, i) : Math.abs(frames.start[i] - start);
    if (badness < score) {
      best = i;
      score = badness;
    }
  }
  return best;
}
