// A FlameView as a component.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { paintedTheme } from '../../core/theme';
import { kRowHeight } from '../../flame/paint';
import { FlameView, type FlameEvents } from '../../flame/view';
import type { Range } from '../../flame/range';
import type { Frames } from '../../model/frames';
import type { ThreadState } from '../../model/types';

interface Props {
  frames: Frames;
  states: ThreadState[];
  mask: Uint8Array | null;
  selected: number;
  // What the address asks for; null: everything.
  range: Range | null;
  events: FlameEvents;
  label: string;
  // One of two on the screen: takes half the room.
  half?: boolean;
}

export function FlameCanvas({
  frames,
  states,
  mask,
  selected,
  range,
  events,
  label,
  half = false,
}: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<FlameView | null>(null);
  const latest = useRef(events);
  latest.current = events;
  const height = useRoom(canvas, frames.rows.length - 1, half);
  useEffect(() => {
    const made = new FlameView(canvas.current!, {
      onHover: (box) => latest.current.onHover(box),
      onSelect: (box) => latest.current.onSelect(box),
      onZoom: (box) => latest.current.onZoom(box),
      onRange: (at, rests) => latest.current.onRange(at, rests),
    });
    view.current = made;
    return () => made.destroy();
  }, []);
  useEffect(() => view.current!.setFrames(frames, states), [frames, states]);
  useEffect(() => view.current!.setMask(mask), [mask, frames]);
  useEffect(() => view.current!.setRange(range), [range?.from, range?.to, frames]);
  useEffect(() => view.current!.setSelected(selected), [selected, frames]);
  const painted = paintedTheme.value;
  useEffect(() => view.current!.repaint(), [painted]);
  return (
    <canvas
      class="flame"
      ref={canvas}
      tabIndex={0}
      role="application"
      aria-roledescription="flame view"
      aria-label={label}
      style={{ height: `${height}px` }}
    />
  );
}

const kLeast = 162;
const kBelow = 132; // what stands under the canvas and should stay above the fold
const kAroundHalves = 420; // everything on the screen but two halves
const kNarrow = 860;

// As high as its rows, unless the window is lower: the canvas never exceeds its viewport.
function useRoom(canvas: { current: HTMLCanvasElement | null }, rows: number, half: boolean) {
  const [height, setHeight] = useState(270);
  useLayoutEffect(() => {
    const measure = () => {
      const top = canvas.current!.getBoundingClientRect().top + scrollY;
      let room = innerHeight - top - kBelow;
      if (innerWidth <= kNarrow) room = innerHeight * 0.45;
      else if (half) room = (innerHeight - kAroundHalves) / 2;
      const least = half ? kLeast / 2 : kLeast;
      setHeight(Math.round(Math.max(least, Math.min((rows + 1) * kRowHeight, room))));
    };
    measure();
    addEventListener('resize', measure);
    return () => removeEventListener('resize', measure);
  }, [rows, half]);
  return height;
}
