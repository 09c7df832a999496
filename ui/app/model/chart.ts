// The chart in time order: consecutive samples that share a caller share its box.

import { arrange, type Frames, type StateMark } from './frames';
import { kRootFunction, Symbols } from './symbols';
import type { TimelineAnswer, TimelineThread } from './types';

export interface Chart {
  frames: Frames;
  // What the thread did over time, without gaps being filled in.
  states: StateRun[];
  // Sum of the samples' weights.
  weight: number;
}

export interface StateRun {
  start: number;
  end: number;
  state: number;
}

const kRunning = 0;

// A pause between samples longer than this share of the sample's own weight closes every box: the
// sampler saw nothing there, so neither does the reader.
const kGapShare = 0.5;

// Where the samples stand on the axis: the first moment of the answer, and the axis' whole length.
export interface Placement {
  offset: number;
  span: number;
}

export function layOutTimeline(
  answer: TimelineAnswer,
  thread: TimelineThread,
  symbols: Symbols,
  placement: Placement,
): Chart {
  const builder = new ChartBuilder(answer, thread, placement.offset);
  for (let i = 0; i < thread.t_ns.length; i++) builder.add(i);
  builder.closeFrom(0);
  return {
    frames: builder.finish(symbols, placement.span),
    states: builder.states,
    weight: builder.weight,
  };
}

class ChartBuilder {
  readonly states: StateRun[] = [];
  weight = 0;

  private readonly start: number[] = [];
  private readonly end: number[] = [];
  private readonly self: number[] = [];
  private readonly samples: number[] = [];
  private readonly parent: number[] = [];
  private readonly fn: number[] = [];
  private readonly line: number[] = [];
  private readonly depth: number[] = [];
  private readonly marks: StateMark[] = [];

  // Boxes of the stack that is open, outermost first, and the time up to which it was seen.
  private readonly open: number[] = [];
  private seen = 0;
  private lastStack = -1;
  private readonly path: number[] = [];

  constructor(
    private readonly answer: TimelineAnswer,
    private readonly thread: TimelineThread,
    private readonly offset: number,
  ) {}

  add(i: number): void {
    const time = this.thread.t_ns[i] + this.offset;
    const begin = Math.max(time, this.seen);
    const weight = this.thread.weight_ns[i];
    const end = Math.max(time + weight, begin);
    const stack = this.thread.stack[i];
    const adjoins = begin - this.seen <= weight * kGapShare;
    if (!adjoins) this.closeFrom(0);
    if (!adjoins || stack !== this.lastStack) this.switchTo(stack, begin);
    this.seen = end;
    this.lastStack = stack;
    this.weight += weight;
    const leaf = this.open[this.open.length - 1];
    if (leaf !== undefined) this.self[leaf] += weight;
    for (const box of this.open) this.samples[box]++;
    this.noteState(this.thread.state[i] ?? kRunning, adjoins, begin, end);
  }

  closeFrom(level: number, at = this.seen): void {
    while (this.open.length > level) this.end[this.open.pop()!] = at;
    if (level === 0) this.lastStack = -1;
  }

  finish(symbols: Symbols, axis: number): Frames {
    const { start, end, self, samples, parent, fn, line, depth, marks } = this;
    const span = Math.max(axis, this.seen);
    return arrange({ symbols, start, end, self, samples, parent, fn, line, depth, marks, span });
  }

  private switchTo(stack: number, begin: number): void {
    const { parent, function: fn, line } = this.answer.stacks;
    const path = this.path;
    path.length = 0;
    for (let node = stack; node >= 0 && fn[node] !== kRootFunction; node = parent[node])
      path.push(node);
    path.reverse();
    let same = 0;
    while (
      same < path.length &&
      same < this.open.length &&
      fn[path[same]] === this.fn[this.open[same]]
    ) {
      same++;
    }
    this.closeFrom(same, begin);
    for (let level = same; level < path.length; level++) {
      const box = this.start.length;
      this.start.push(begin);
      this.end.push(begin);
      this.self.push(0);
      this.samples.push(0);
      this.parent.push(level > 0 ? this.open[level - 1] : -1);
      this.fn.push(fn[path[level]]);
      this.line.push(line[path[level]] ?? 0);
      this.depth.push(level);
      this.open.push(box);
    }
  }

  private noteState(state: number, adjoins: boolean, begin: number, end: number): void {
    const last = this.states[this.states.length - 1];
    if (last && adjoins && last.state === state) {
      last.end = end;
    } else {
      if (last && adjoins) last.end = begin;
      this.states.push({ start: begin, end, state });
    }
    if (state === kRunning || this.open.length === 0) return;
    const depth = this.open.length - 1;
    const mark = this.marks[this.marks.length - 1];
    if (mark && mark.state === state && mark.depth === depth && mark.end >= begin) mark.end = end;
    else this.marks.push({ start: begin, end, depth, state });
  }
}

// The thread to show first: the one with most time in it.
export function busiestThread(answer: TimelineAnswer): number {
  let best = 0;
  let most = -1;
  answer.threads.forEach((thread, i) => {
    const weight = thread.weight_ns.reduce((sum, value) => sum + value, 0);
    if (weight > most) {
      most = weight;
      best = i;
    }
  });
  return best;
}
