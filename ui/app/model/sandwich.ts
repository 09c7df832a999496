// One function in the middle: everything that calls it, and everything that it calls, each merged.

import { arrange, kNone, total, type Frames } from './frames';
import { childOffsets } from './top';

export interface Sandwich {
  // Row 0 is the function, row 1 its callers, row 2 theirs.
  callers: Frames;
  // Row 0 is the function, row 1 what it calls.
  callees: Frames;
}

export function sandwich(frames: Frames, fn: number): Sandwich {
  const outermost = outermostBoxes(frames, fn);
  const callers = new Trie(frames, fn);
  const callees = new Trie(frames, fn);
  const children = childOffsets(frames);
  for (const box of outermost) {
    addCallers(callers, frames, box);
    addCallees(callees, frames, children, box);
  }
  return { callers: callers.finish(), callees: callees.finish() };
}

function outermostBoxes(frames: Frames, fn: number): number[] {
  const inside = new Uint8Array(frames.count);
  const boxes: number[] = [];
  for (let box = 0; box < frames.count; box++) {
    const parent = frames.parent[box];
    const covered = parent !== kNone && inside[parent] === 1;
    if (frames.fn[box] === fn && !covered) boxes.push(box);
    if (frames.fn[box] === fn || covered) inside[box] = 1;
  }
  return boxes;
}

function addCallers(trie: Trie, frames: Frames, box: number): void {
  const value = total(frames, box);
  const samples = frames.samples[box];
  trie.add(kRootNode, value, 0, samples);
  let node = kRootNode;
  for (let at = frames.parent[box]; at !== kNone && frames.fn[at] >= 0; at = frames.parent[at]) {
    node = trie.child(node, frames.fn[at], frames.line[at]);
    trie.add(node, value, 0, samples);
  }
}

function addCallees(
  trie: Trie,
  frames: Frames,
  children: ReturnType<typeof childOffsets>,
  box: number,
): void {
  const stack: [number, number][] = [[box, kRootNode]];
  while (stack.length > 0) {
    const [at, node] = stack.pop()!;
    trie.add(node, total(frames, at), frames.self[at], frames.samples[at]);
    for (let i = 0; i < children.count[at]; i++) {
      const child = children.first[at] + i;
      stack.push([child, trie.child(node, frames.fn[child], frames.line[child])]);
    }
  }
}

const kRootNode = 0;

// A call tree that grows by paths; parents stand before their children.
class Trie {
  private readonly parent = [kNone];
  private readonly fn: number[];
  private readonly line = [0];
  private readonly value = [0];
  private readonly self = [0];
  private readonly samples = [0];
  private readonly index = new Map<number, number>();

  constructor(
    private readonly frames: Frames,
    fn: number,
  ) {
    this.fn = [fn];
  }

  child(node: number, fn: number, line: number): number {
    // Functions count from -2.
    const key = node * (this.frames.symbols.count + 2) + fn + 2;
    let child = this.index.get(key);
    if (child === undefined) {
      child = this.parent.push(node) - 1;
      this.index.set(key, child);
      this.fn.push(fn);
      this.line.push(line);
      this.value.push(0);
      this.self.push(0);
      this.samples.push(0);
    }
    return child;
  }

  add(node: number, value: number, self: number, samples: number): void {
    this.value[node] += value;
    this.self[node] += self;
    this.samples[node] += samples;
  }

  // Widest first, from the left.
  finish(): Frames {
    const count = this.parent.length;
    const children: number[][] = Array.from({ length: count }, () => []);
    for (let node = 1; node < count; node++) children[this.parent[node]].push(node);
    const order = [kRootNode];
    const start = new Float64Array(count);
    const depth = new Uint32Array(count);
    for (let at = 0; at < order.length; at++) {
      const node = order[at];
      let x = start[node];
      for (const child of children[node].sort((a, b) => this.value[b] - this.value[a])) {
        start[child] = x;
        depth[child] = depth[node] + 1;
        x += this.value[child];
        order.push(child);
      }
    }
    const rank = new Int32Array(count);
    order.forEach((node, i) => (rank[node] = i));
    const pick = (column: ArrayLike<number>) => order.map((node) => column[node]);
    return arrange({
      symbols: this.frames.symbols,
      start: pick(start),
      end: order.map((node) => start[node] + this.value[node]),
      self: pick(this.self),
      samples: pick(this.samples),
      parent: order.map((node) => (node === kRootNode ? kNone : rank[this.parent[node]])),
      fn: pick(this.fn),
      line: pick(this.line),
      depth: pick(depth),
      span: this.value[kRootNode],
    });
  }
}
