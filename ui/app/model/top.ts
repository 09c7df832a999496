// Sums by function over the merged graph: the top table, and who calls whom.

import { kNone, total, type Frames } from './frames';
import { kPrunedFunction, type Owner } from './symbols';

export interface FunctionSum {
  fn: number;
  self: number;
  // Time with the function anywhere on the stack; recursion counts once.
  total: number;
  samples: number;
}

export function sumFunctions(frames: Frames): FunctionSum[] {
  const sums = new Map<number, FunctionSum>();
  const outermost = outermostMask(frames);
  for (let box = 0; box < frames.count; box++) {
    const fn = frames.fn[box];
    if (fn < 0 && fn !== kPrunedFunction) continue;
    let sum = sums.get(fn);
    if (!sum) sums.set(fn, (sum = { fn, self: 0, total: 0, samples: 0 }));
    sum.self += frames.self[box];
    if (!outermost[box]) continue;
    sum.total += total(frames, box);
    sum.samples += frames.samples[box];
  }
  return [...sums.values()];
}

// 1 where no ancestor is the same function. One pass along an explicit stack of the current path.
function outermostMask(frames: Frames): Uint8Array {
  const mask = new Uint8Array(frames.count);
  const children = childOffsets(frames);
  const active = new Map<number, number>();
  const stack: number[] = [];
  for (let box = frames.rows.length > 1 ? frames.rows[1] - 1 : -1; box >= 0; box--) stack.push(box);
  while (stack.length > 0) {
    const at = stack.pop()!;
    if (at < 0) {
      const fn = frames.fn[~at];
      active.set(fn, active.get(fn)! - 1);
      continue;
    }
    const fn = frames.fn[at];
    const above = active.get(fn) ?? 0;
    if (above === 0) mask[at] = 1;
    active.set(fn, above + 1);
    stack.push(~at);
    for (let child = children.first[at]; child < children.first[at] + children.count[at]; child++) {
      stack.push(child);
    }
  }
  return mask;
}

// Boxes stand by depth and start, so a box's children are neighbours.
export function childOffsets(frames: Frames): { first: Int32Array; count: Uint32Array } {
  const first = new Int32Array(frames.count).fill(kNone);
  const count = new Uint32Array(frames.count);
  for (let box = 0; box < frames.count; box++) {
    const parent = frames.parent[box];
    if (parent === kNone) continue;
    if (count[parent]++ === 0) first[parent] = box;
  }
  return { first, count };
}

export interface Neighbours {
  self: number;
  total: number;
  places: number;
  callers: { fn: number; value: number }[];
  callees: { fn: number; value: number }[];
}

// Callers and callees of every box of a function, largest first.
export function neighboursOf(frames: Frames, fn: number): Neighbours {
  const callers = new Map<number, number>();
  const callees = new Map<number, number>();
  const result: Neighbours = { self: 0, total: 0, places: 0, callers: [], callees: [] };
  const inside = new Uint8Array(frames.count);
  for (let box = 0; box < frames.count; box++) {
    const parent = frames.parent[box];
    if (parent !== kNone && frames.fn[parent] === fn)
      add(callees, frames.fn[box], total(frames, box));
    if (parent !== kNone && inside[parent]) inside[box] = 1;
    if (frames.fn[box] !== fn) continue;
    result.places++;
    result.self += frames.self[box];
    if (!inside[box]) {
      result.total += total(frames, box);
      if (parent !== kNone) add(callers, frames.fn[parent], total(frames, box));
    }
    inside[box] = 1;
  }
  result.callers = ranked(callers);
  result.callees = ranked(callees);
  return result;
}

function add(sums: Map<number, number>, fn: number, value: number): void {
  sums.set(fn, (sums.get(fn) ?? 0) + value);
}

function ranked(sums: Map<number, number>): { fn: number; value: number }[] {
  return [...sums].map(([fn, value]) => ({ fn, value })).sort((a, b) => b.value - a.value);
}

// Self time by owner of the code.
export function sumOwners(frames: Frames): Record<Owner, number> {
  const sums: Record<Owner, number> = { own: 0, library: 0, runtime: 0 };
  for (let box = 0; box < frames.count; box++) {
    if (frames.fn[box] >= 0) sums[frames.symbols.owner(frames.fn[box])] += frames.self[box];
  }
  return sums;
}
