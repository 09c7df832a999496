// The request's own axis: ticks and the proxy's phases above the frames, on the same scale.

import { signal, type Signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { figure, ms, ticks, tickText } from '../../core/format';
import { paintedTheme } from '../../core/theme';
import type { Range } from '../../flame/range';
import { readPalette } from '../../flame/palette';
import type { StateRun } from '../../model/chart';
import { phaseSpans, phaseText } from '../../model/phases';
import type { ProfileMeta, ThreadState } from '../../model/types';

// The strip alone, when there is nothing to draw below it.
export function PhaseStrip({ meta }: { meta: ProfileMeta }) {
  const span = (meta.duration_ms ?? 0) * 1e6;
  if (!(span > 0) || phaseSpans(meta).length === 0) return null;
  return (
    <div class="strip">
      <Axis meta={meta} range={signal({ from: 0, to: span })} />
    </div>
  );
}

const kTickWidth = 90; // pixels wanted between ticks

export function Axis({ meta, range }: { meta: ProfileMeta; range: Signal<Range> }) {
  const { from, to } = range.value;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const at = (value: number) => `${((value - from) / (to - from)) * 100}%`;
  const marks = ticks(from / 1e6, to / 1e6, width / kTickWidth);
  const step = marks.length > 1 ? marks[1] - marks[0] : 1;
  // The last label must not run into the end's own.
  const room = ((to - from) / 1e6) * (1 - 110 / Math.max(width, 220));
  const shown = marks.filter((mark) => mark - from / 1e6 <= room);
  return (
    <>
      <div class="axis">
        <span />
        <div class="ticks" ref={box} aria-hidden="true">
          {shown.map((mark) => (
            <i style={{ left: at(mark * 1e6) }}>{tickText(mark, step)}</i>
          ))}
          <i class="last">{ms(to / 1e6)}</i>
        </div>
      </div>
      <div class="axis">
        <span>proxy</span>
        <div class="ph" role="img" aria-label={phaseText(meta)}>
          {phaseSpans(meta).map((span) => {
            const left = Math.max(span.start * 1e6, from);
            const right = Math.min((span.start + span.ms) * 1e6, to);
            if (right <= left) return null;
            const share = ((right - left) / (to - from)) * width;
            return (
              <i
                class={span.style}
                style={{ left: at(left), width: `${((right - left) / (to - from)) * 100}%` }}
                title={`${span.name} ${ms(span.ms)}`}
              >
                {span.labelled && phaseLabel(span.name, span.short, span.ms, share)}
              </i>
            );
          })}
        </div>
      </div>
    </>
  );
}

const kLetter = 6.2; // pixels, of the small font

function phaseLabel(name: string, short: string, value: number, room: number): string {
  const fits = [`${name} ${ms(value)}`, `${short} ${figure(value)}`, short].find(
    (text) => text.length * kLetter + 8 <= room,
  );
  return fits ?? '';
}

export function useWidth(element: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(800);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.round(entry.contentRect.width)));
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return width;
}

// What the thread did, over time: a line while it ran, hatched where it did not.
export function StateStrip({
  runs,
  states,
  range,
  text,
}: {
  runs: StateRun[];
  states: ThreadState[];
  range: Signal<Range>;
  text: string;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const { from, to } = range.value;
  const painted = paintedTheme.value;
  useEffect(() => {
    if (canvas.current) paintStates(canvas.current, width, runs, states, { from, to });
  }, [width, runs, states, from, to, painted]);
  return (
    <div class="axis">
      <span>thread</span>
      <div ref={box}>
        <canvas class="states" ref={canvas} role="img" aria-label={text} />
      </div>
    </div>
  );
}

const kStripHeight = 12;

function paintStates(
  canvas: HTMLCanvasElement,
  width: number,
  runs: StateRun[],
  states: ThreadState[],
  { from, to }: Range,
): void {
  const context = canvas.getContext('2d')!;
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = kStripHeight * ratio;
  context.scale(ratio, ratio);
  const palette = readPalette(canvas.parentElement!, context);
  const scale = width / (to - from);
  for (const run of runs) {
    if (run.end <= from || run.start >= to) continue;
    const x = Math.max((run.start - from) * scale, 0);
    const wide = Math.max(Math.min((run.end - from) * scale, width) - x, 1);
    const state = states[run.state];
    if (!state || state === 'running') {
      context.fillStyle = palette.running;
      context.fillRect(x, 4, wide, 4);
      continue;
    }
    context.fillStyle = palette.states[state].hatch;
    context.fillRect(x, 1, wide, 10);
    context.fillStyle = palette.states[state].colour;
    context.fillRect(x, 10, wide, 2);
  }
}
