// Draws the visible boxes of a flame view. Knows pixels, colours and columns; nothing of input.

import { firstEndingAfter, kNone, type Frames } from '../model/frames';
import type { ThreadState } from '../model/types';
import { fitLabel } from './label';
import { bucketOf, kBuckets, kNeutralBucket, type Palette } from './palette';

export const kRowHeight = 18;
const kBoxHeight = kRowHeight - 1;
const kStrip = 2; // boxes narrower than this many pixels are drawn together
const kLabelPad = 4;

export interface Scene {
  frames: Frames;
  states: ThreadState[];
  from: number;
  to: number;
  scroll: number;
  width: number;
  height: number;
  ratio: number;
  mask: Uint8Array | null;
  selected: number;
  hovered: number;
}

interface Label {
  text: string;
  x: number;
  y: number;
  dim: boolean;
}

// A hatched stretch on the screen.
interface Hatched {
  left: number;
  right: number;
}

// Rectangles by colour, so that a frame changes the fill style a few dozen times, not thousands. Kept
// by a view from one frame of the screen to the next, for its memory only.
export class Batches {
  private readonly rects: number[][] = Array.from({ length: kBuckets * 2 }, () => []);
  readonly matches: number[] = [];
  readonly labels: Label[] = [];
  // By row of the screen.
  private readonly hatched = new Map<number, Hatched[]>();

  clear(): void {
    for (const list of this.rects) list.length = 0;
    this.matches.length = 0;
    this.labels.length = 0;
    this.hatched.clear();
  }

  noteHatched(y: number, left: number, right: number): void {
    const row = this.hatched.get(y);
    if (row) row.push({ left, right });
    else this.hatched.set(y, [{ left, right }]);
  }

  // Whether a hatched stretch begins or ends under a label.
  isHatched(label: Label, width: number): boolean {
    return (this.hatched.get(label.y) ?? []).some(
      ({ left, right }) => left < label.x + width && right > label.x,
    );
  }

  add(bucket: number, dim: boolean, x: number, y: number, width: number): void {
    this.rects[dim ? bucket + kBuckets : bucket].push(x, y, width);
  }

  fill(context: CanvasRenderingContext2D, palette: Palette): void {
    this.rects.forEach((list, i) => {
      if (list.length === 0) return;
      context.globalAlpha = i >= kBuckets ? palette.dimAlpha : 1;
      context.fillStyle = palette.fills[i % kBuckets];
      for (let at = 0; at < list.length; at += 3) {
        context.fillRect(list[at], list[at + 1], list[at + 2], kBoxHeight);
      }
    });
    context.globalAlpha = 1;
    context.fillStyle = palette.match;
    for (let at = 0; at < this.matches.length; at += 3) {
      context.fillRect(
        this.matches[at],
        this.matches[at + 1] + kRowHeight - 3,
        this.matches[at + 2],
        2,
      );
    }
  }
}

export function paint(
  context: CanvasRenderingContext2D,
  scene: Scene,
  palette: Palette,
  batches: Batches,
): void {
  const { frames, scroll, width, height, ratio } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = palette.well;
  context.fillRect(0, 0, width, height);
  if (frames.count === 0 || width <= 0 || scene.to <= scene.from) return;
  batches.clear();
  const first = Math.max(0, Math.floor(scroll / kRowHeight));
  const last = Math.min(frames.rows.length - 2, Math.floor((scroll + height) / kRowHeight));
  for (let depth = first; depth <= last; depth++) collectRow(batches, scene, palette, depth);
  batches.fill(context, palette);
  paintMarks(context, scene, palette, batches);
  paintLabels(context, palette, batches);
  outline(context, scene, scene.hovered, palette.hover, 1);
  outline(context, scene, scene.selected, palette.pick, 2);
}

function collectRow(batches: Batches, scene: Scene, palette: Palette, depth: number): void {
  const { frames, from, to, mask, ratio } = scene;
  const scale = scene.width / (to - from);
  const snap = (value: number) => Math.round(value * ratio) / ratio;
  const y = depth * kRowHeight - scene.scroll;
  const end = frames.rows[depth + 1];
  const strip = new Strip(batches, y);
  for (let box = firstEndingAfter(frames, depth, from); box < end; box++) {
    const start = frames.start[box];
    if (start >= to) break;
    const left = Math.max((start - from) * scale, -1);
    const right = Math.min((frames.end[box] - from) * scale, scene.width + 1);
    const hit = mask !== null && frames.fn[box] >= 0 && mask[frames.fn[box]] === 1;
    const dim = mask !== null && !hit;
    const bucket = boxBucket(frames, box);
    if (right - left < kStrip) {
      strip.add(left, right, bucket, dim, hit);
      continue;
    }
    strip.flush();
    const x = snap(left);
    const wide = Math.max(snap(right) - x - 1, 1);
    batches.add(bucket, dim, x, y, wide);
    if (hit) batches.matches.push(x, y, wide);
    const shown = Math.max(x, 0) + kLabelPad;
    const room = Math.floor((x + wide - shown - 3) / palette.charWidth);
    const text = fitLabel(frames.symbols.name(frames.fn[box]), room);
    if (text) batches.labels.push({ text, x: shown, y, dim });
  }
  strip.flush();
}

function boxBucket(frames: Frames, box: number): number {
  const fn = frames.fn[box];
  if (fn < 0) return kNeutralBucket;
  return bucketOf(frames.symbols.owner(fn), frames.symbols.steps[fn]);
}

// Neighbouring boxes too narrow to tell apart, drawn as one in the colour of the widest.
class Strip {
  private left = 0;
  private right = -Infinity;
  private bucket = 0;
  private widest = -1;
  private dim = true;
  private hit = false;

  constructor(
    private readonly batches: Batches,
    private readonly y: number,
  ) {}

  add(left: number, right: number, bucket: number, dim: boolean, hit: boolean): void {
    if (this.widest >= 0 && left - this.right > 1) this.flush();
    if (this.widest < 0) this.left = left;
    this.right = Math.max(this.right, right);
    if (right - left > this.widest) {
      this.widest = right - left;
      this.bucket = bucket;
    }
    this.dim &&= dim;
    this.hit ||= hit;
    if (this.right - this.left >= 3 * kStrip) this.flush();
  }

  flush(): void {
    if (this.widest >= 0) {
      const width = Math.max(this.right - this.left, 0.5);
      this.batches.add(this.bucket, this.dim, this.left, this.y, width);
      if (this.hit) this.batches.matches.push(this.left, this.y, Math.max(width, 1));
    }
    this.widest = -1;
    this.right = -Infinity;
    this.dim = true;
    this.hit = false;
  }
}

function paintMarks(
  context: CanvasRenderingContext2D,
  scene: Scene,
  palette: Palette,
  batches: Batches,
): void {
  const scale = scene.width / (scene.to - scene.from);
  for (const mark of scene.frames.marks) {
    if (mark.end <= scene.from || mark.start >= scene.to) continue;
    const state = scene.states[mark.state];
    if (!state || state === 'running') continue;
    const y = mark.depth * kRowHeight - scene.scroll;
    if (y <= -kRowHeight || y >= scene.height) continue;
    const x = Math.max((mark.start - scene.from) * scale, 0);
    const width = Math.max(Math.min((mark.end - scene.from) * scale, scene.width) - x - 1, 1);
    context.fillStyle = palette.well;
    context.fillRect(x, y, width, kBoxHeight);
    context.fillStyle = palette.states[state].hatch;
    context.fillRect(x, y, width, kBoxHeight);
    context.fillStyle = palette.states[state].colour;
    context.fillRect(x, y + kBoxHeight - 2, width, 2);
    if (width > kStrip) batches.noteHatched(y, x, x + width);
  }
}

function paintLabels(context: CanvasRenderingContext2D, palette: Palette, batches: Batches): void {
  context.font = palette.font;
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  for (const label of batches.labels) {
    const width = label.text.length * palette.charWidth;
    const patched = batches.isHatched(label, width);
    if (patched) {
      context.fillStyle = palette.well;
      context.fillRect(label.x - 2, label.y + 2, width + 4, kBoxHeight - 5);
    }
    context.fillStyle = label.dim ? palette.dimLabel : patched ? palette.text : palette.label;
    context.fillText(label.text, label.x, label.y + kRowHeight / 2);
  }
}

function outline(
  context: CanvasRenderingContext2D,
  scene: Scene,
  box: number,
  colour: string,
  line: number,
): void {
  const { frames, from, to, width } = scene;
  if (box === kNone || box >= frames.count) return;
  if (frames.end[box] <= from || frames.start[box] >= to) return;
  const scale = width / (to - from);
  const left = Math.max((frames.start[box] - from) * scale, 0);
  const right = Math.min((frames.end[box] - from) * scale, width) - 1;
  const y = frames.depth[box] * kRowHeight - scene.scroll;
  context.strokeStyle = colour;
  context.lineWidth = line;
  context.strokeRect(
    left + line / 2,
    y + line / 2,
    Math.max(right - left - line, 1),
    kBoxHeight - line,
  );
}
