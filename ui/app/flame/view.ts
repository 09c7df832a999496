// A flame view: one canvas of the size of its viewport, and all that the visitor can do with it.
// Draws on demand, at most once a frame of the screen.

import { boxAt, kNone, neighbour, widestChild, type Frames } from '../model/frames';
import type { ThreadState } from '../model/types';
import { Batches, kRowHeight, paint } from './paint';
import { readPalette, type Palette } from './palette';
import { clampRange, pan, sameRange, whole, zoomAround, type Range } from './range';
import { Pointers } from './pointers';

export interface FlameEvents {
  // Another box is under the pointer, or none. Comes often.
  onHover(box: number): void;
  // Somebody chose a box with the keyboard.
  onSelect(box: number): void;
  // Somebody asks to see one box at full width; kNone: everything.
  onZoom(box: number): void;
  // The visible range changes: while it moves, and once more when it rests.
  onRange(range: Range, rests: boolean): void;
}

const kLeastShare = 1e-6; // of the whole axis
const kRestMs = 250;
const kKeyZoom = 0.7;
const kKeyPan = 0.15;

export class FlameView {
  private readonly context: CanvasRenderingContext2D;
  private readonly resizes: ResizeObserver;
  private readonly abort = new AbortController();
  private readonly batches = new Batches();
  private palette: Palette | null = null;
  private frames: Frames | null = null;
  private states: ThreadState[] = [];
  private range: Range = { from: 0, to: 1 };
  private scroll = 0;
  private width = 0;
  private height = 0;
  private mask: Uint8Array | null = null;
  private selected = kNone;
  private hovered = kNone;
  private frameRequest = 0;
  private restTimer = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly events: FlameEvents,
  ) {
    this.context = canvas.getContext('2d', { alpha: false })!;
    this.resizes = new ResizeObserver(() => this.measure());
    this.resizes.observe(canvas);
    const { signal } = this.abort;
    canvas.addEventListener('wheel', (event) => this.onWheel(event), { passive: false, signal });
    canvas.addEventListener('keydown', (event) => this.onKey(event), { signal });
    new Pointers(canvas, signal, {
      onHover: (x, y) => this.hover(this.hit(x, y)),
      onLeave: () => this.hover(kNone),
      onClick: (x, y) => this.click(x, y),
      onDrag: (dx, dy) => this.drag(dx, dy),
      onPinch: (x, factor) => this.move(zoomAround(this.range, this.valueAt(x), factor)),
    });
  }

  destroy(): void {
    this.abort.abort();
    this.resizes.disconnect();
    cancelAnimationFrame(this.frameRequest);
    clearTimeout(this.restTimer);
  }

  setFrames(frames: Frames, states: ThreadState[]): void {
    this.frames = frames;
    this.states = states;
    this.range = whole(frames.span);
    this.scroll = 0;
    this.selected = this.hovered = kNone;
    this.mask = null;
    this.redraw();
  }

  setMask(mask: Uint8Array | null): void {
    this.mask = mask;
    this.redraw();
  }

  // Selects a box and brings its row into view.
  setSelected(box: number): void {
    if (box === this.selected) return;
    this.selected = box;
    if (box !== kNone) this.revealRow(box);
    this.redraw();
  }

  setRange(range: Range | null): void {
    if (!this.frames) return;
    const next = this.clamp(range ?? whole(this.frames.span));
    if (sameRange(next, this.range)) return;
    clearTimeout(this.restTimer);
    this.range = next;
    this.events.onRange(next, false);
    this.redraw();
  }

  // Colours may have changed.
  repaint(): void {
    this.palette = null;
    this.redraw();
  }

  private measure(): void {
    const { clientWidth, clientHeight } = this.canvas;
    this.width = clientWidth;
    this.height = clientHeight;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(clientHeight * ratio));
    this.scroll = this.clampScroll(this.scroll);
    // A resized canvas is blank until it is drawn.
    cancelAnimationFrame(this.frameRequest);
    this.draw();
  }

  private redraw(): void {
    if (this.frameRequest !== 0) return;
    this.frameRequest = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    this.frameRequest = 0;
    if (!this.frames || this.width === 0) return;
    this.palette ??= readPalette(this.canvas.parentElement!, this.context);
    const { frames, states, range, scroll, width, height, mask, selected, hovered } = this;
    const ratio = this.canvas.width / width;
    paint(
      this.context,
      {
        frames,
        states,
        from: range.from,
        to: range.to,
        scroll,
        width,
        height,
        ratio,
        mask,
        selected,
        hovered,
      },
      this.palette,
      this.batches,
    );
  }

  private valueAt(x: number): number {
    return this.range.from + (x / this.width) * (this.range.to - this.range.from);
  }

  private hit(x: number, y: number): number {
    if (!this.frames || y < 0 || y >= this.height) return kNone;
    return boxAt(this.frames, Math.floor((y + this.scroll) / kRowHeight), this.valueAt(x));
  }

  private hover(box: number): void {
    if (box === this.hovered) return;
    this.hovered = box;
    this.events.onHover(box);
    this.redraw();
  }

  private click(x: number, y: number): void {
    const box = this.hit(x, y);
    if (box !== kNone) this.events.onZoom(box);
  }

  private drag(dx: number, dy: number): void {
    if (dy !== 0) this.scrollTo(this.scroll - dy);
    if (dx !== 0)
      this.move(pan(this.range, (-dx / this.width) * (this.range.to - this.range.from)));
  }

  // With Ctrl (or a pinch on a touch pad) the wheel zooms; sideways it pans; otherwise it scrolls
  // the rows, and the page once there are no more rows in that direction.
  private onWheel(event: WheelEvent): void {
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? kRowHeight : 1;
    const dx = (event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX) * unit;
    const dy = event.shiftKey ? 0 : event.deltaY * unit;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.move(zoomAround(this.range, this.valueAt(event.offsetX), Math.exp(dy * 0.004)));
    } else if (Math.abs(dx) > Math.abs(dy)) {
      event.preventDefault();
      this.move(pan(this.range, (dx / this.width) * (this.range.to - this.range.from)));
    } else if (this.scrollTo(this.scroll + dy)) {
      event.preventDefault();
    }
  }

  private onKey(event: KeyboardEvent): void {
    if (!this.frames || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!this.runKey(event.key, this.frames)) return;
    event.preventDefault();
  }

  private runKey(key: string, frames: Frames): boolean {
    const span = this.range.to - this.range.from;
    const middle = (this.range.from + this.range.to) / 2;
    switch (key) {
      case 'ArrowUp':
        return this.selectFrom(frames, (box) => frames.parent[box]);
      case 'ArrowDown':
        return this.selectFrom(frames, (box) => widestChild(frames, box));
      case 'ArrowLeft':
        return this.selectFrom(frames, (box) => neighbour(frames, box, -1));
      case 'ArrowRight':
        return this.selectFrom(frames, (box) => neighbour(frames, box, 1));
      case 'Enter':
        if (this.selected !== kNone) this.events.onZoom(this.selected);
        return this.selected !== kNone;
      case '0':
        this.events.onZoom(kNone);
        return true;
      case '+':
      case '=':
      case 'w':
        return this.move(zoomAround(this.range, middle, kKeyZoom));
      case '-':
      case 's':
        return this.move(zoomAround(this.range, middle, 1 / kKeyZoom));
      case 'a':
        return this.move(pan(this.range, -span * kKeyPan));
      case 'd':
        return this.move(pan(this.range, span * kKeyPan));
      case 'PageUp':
        return this.scrollTo(this.scroll - this.height);
      case 'PageDown':
        return this.scrollTo(this.scroll + this.height);
      default:
        return false;
    }
  }

  // Without a selection every direction begins at the first box that is in view.
  private selectFrom(frames: Frames, next: (box: number) => number): boolean {
    const box =
      this.selected === kNone ? boxAt(frames, 0, this.firstVisible(frames)) : next(this.selected);
    if (box !== kNone) {
      this.setSelected(box);
      this.revealRange(frames, box);
      this.events.onSelect(box);
    }
    return true;
  }

  private firstVisible(frames: Frames): number {
    return Math.max(this.range.from, frames.count > 0 ? frames.start[0] : 0);
  }

  private move(range: Range): boolean {
    const next = this.clamp(range);
    if (sameRange(next, this.range)) return true;
    this.range = next;
    this.events.onRange(next, false);
    clearTimeout(this.restTimer);
    this.restTimer = window.setTimeout(() => this.events.onRange(this.range, true), kRestMs);
    this.redraw();
    return true;
  }

  private clamp(range: Range): Range {
    const span = this.frames?.span ?? 1;
    return clampRange(range, span, span * kLeastShare);
  }

  private clampScroll(scroll: number): number {
    const rows = this.frames ? this.frames.rows.length - 1 : 0;
    return Math.min(Math.max(0, scroll), Math.max(0, rows * kRowHeight - this.height));
  }

  // Whether anything moved.
  private scrollTo(scroll: number): boolean {
    const next = this.clampScroll(scroll);
    if (next === this.scroll) return false;
    this.scroll = next;
    this.redraw();
    return true;
  }

  private revealRow(box: number): void {
    const top = this.frames!.depth[box] * kRowHeight;
    if (top < this.scroll) this.scrollTo(top);
    else if (top + kRowHeight > this.scroll + this.height)
      this.scrollTo(top + kRowHeight - this.height);
  }

  private revealRange(frames: Frames, box: number): void {
    const { from, to } = this.range;
    if (frames.end[box] > from && frames.start[box] < to) return;
    const middle = (frames.start[box] + frames.end[box]) / 2;
    this.move(pan(this.range, middle - (from + to) / 2));
  }
}
