// Mouse, pen and fingers on a canvas, told apart: hover, click, drag, pinch.

export interface PointerEvents {
  onHover(x: number, y: number): void;
  onLeave(): void;
  onClick(x: number, y: number): void;
  // Distance since the last call. Fingers report no vertical distance: the page scrolls by them.
  onDrag(dx: number, dy: number): void;
  // `factor` above 1: fingers came closer.
  onPinch(x: number, factor: number): void;
}

const kDragBegins = 4; // pixels

interface Finger {
  x: number;
  y: number;
}

export class Pointers {
  private readonly down = new Map<number, Finger>();
  private dragging = false;
  private origin: Finger = { x: 0, y: 0 };

  constructor(
    private readonly canvas: HTMLCanvasElement,
    signal: AbortSignal,
    private readonly events: PointerEvents,
  ) {
    canvas.addEventListener('pointerdown', (event) => this.onDown(event), { signal });
    canvas.addEventListener('pointermove', (event) => this.onMove(event), { signal });
    canvas.addEventListener('pointerup', (event) => this.onUp(event), { signal });
    canvas.addEventListener('pointercancel', (event) => this.forget(event), { signal });
    canvas.addEventListener('pointerleave', () => events.onLeave(), { signal });
  }

  private onDown(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.down.set(event.pointerId, at(event));
    this.canvas.setPointerCapture(event.pointerId);
    this.dragging = this.down.size > 1;
    this.origin = at(event);
  }

  private onMove(event: PointerEvent): void {
    const last = this.down.get(event.pointerId);
    if (!last) {
      this.events.onHover(event.offsetX, event.offsetY);
      return;
    }
    const now = at(event);
    if (this.down.size === 2) this.pinch(event.pointerId, last, now);
    else this.dragTo(event, last, now);
  }

  private pinch(id: number, last: Finger, now: Finger): void {
    const other = [...this.down].find(([key]) => key !== id)![1];
    const before = Math.abs(last.x - other.x);
    const after = Math.abs(now.x - other.x);
    this.down.set(id, now);
    if (before > 8 && after > 8) this.events.onPinch((now.x + other.x) / 2, before / after);
  }

  private dragTo(event: PointerEvent, last: Finger, now: Finger): void {
    if (!this.dragging && distance(this.origin, now) < kDragBegins) return;
    const from = this.dragging ? last : this.origin;
    this.dragging = true;
    this.down.set(event.pointerId, now);
    this.events.onDrag(now.x - from.x, event.pointerType === 'touch' ? 0 : now.y - from.y);
  }

  private onUp(event: PointerEvent): void {
    const known = this.down.has(event.pointerId);
    this.forget(event);
    if (known && !this.dragging) this.events.onClick(event.offsetX, event.offsetY);
  }

  private forget(event: PointerEvent): void {
    this.down.delete(event.pointerId);
  }
}

function at(event: PointerEvent): Finger {
  return { x: event.offsetX, y: event.offsetY };
}

function distance(a: Finger, b: Finger): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
