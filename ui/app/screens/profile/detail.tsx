// Under the flame: the ancestors of the selected frame, and the figures of the frame in question.

import { count, figure, percent, valueText } from '../../core/format';
import { kNone, pathTo, total, type Frames } from '../../model/frames';
import { fitLabel } from '../../flame/label';
import { kRootFunction, shortPlace, type Owner } from '../../model/symbols';
import { sumOwners } from '../../model/top';
import type { ProfileMeta, ThreadState } from '../../model/types';
import type { Merged } from './load';

const kCrumbRoom = 28;
const kCrumbs = 12;

export function Trail({
  frames,
  box,
  zoom,
}: {
  frames: Frames;
  box: number;
  zoom: (box: number) => void;
}) {
  const path =
    box === kNone ? [] : pathTo(frames, box).filter((at) => frames.fn[at] !== kRootFunction);
  const hidden = Math.max(0, path.length - kCrumbs);
  const shown = hidden > 0 ? [...path.slice(0, 4), ...path.slice(4 + hidden)] : path;
  return (
    <nav class="trail" aria-label="Ancestors of the selected frame">
      <button class="link" type="button" onClick={() => zoom(kNone)}>
        all
      </button>
      {shown.map((at, i) => (
        <>
          <span aria-hidden="true">›</span>
          {hidden > 0 && i === 4 && (
            <>
              <span title={`${hidden} frames`}>…</span>
              <span aria-hidden="true">›</span>
            </>
          )}
          <button
            class="link"
            type="button"
            aria-current={at === box ? 'true' : undefined}
            title={frames.symbols.name(frames.fn[at])}
            onClick={() => zoom(at)}
          >
            {fitLabel(frames.symbols.name(frames.fn[at]), kCrumbRoom)}
          </button>
        </>
      ))}
    </nav>
  );
}

const kOwnerNames: Record<Owner, string> = {
  own: 'my code',
  library: 'library',
  runtime: 'runtime',
};
export const kOwnerStyles: Record<Owner, string> = { own: 'own', library: 'lib', runtime: 'run' };

export interface Figures {
  // What all shares are shares of.
  whole: number;
  samples: number;
  unit: string;
  // "this call" in time order, "total" in the merged graph.
  totalName: string;
}

export function Detail({
  frames,
  box,
  figures,
}: {
  frames: Frames;
  box: number;
  figures: Figures;
}) {
  if (box === kNone) {
    return (
      <div class="detail">
        <span class="dim">Point at a frame, or choose one, to see its figures.</span>
      </div>
    );
  }
  const fn = frames.fn[box];
  const place = frames.symbols.place(fn, frames.line[box]);
  const owner = frames.symbols.owner(fn);
  const value = (amount: number) => (
    <>
      <b>{valueText(amount, figures.unit)}</b>{' '}
      <span class="u">{percent(amount, figures.whole)}</span>
    </>
  );
  return (
    <div class="detail">
      <span class="fn">{frames.symbols.name(fn)}</span>
      {place && (
        <span class="u mono" title={place}>
          {shortPlace(place)}
        </span>
      )}
      {fn >= 0 && (
        <span class="tag">
          <span class={`sw ${kOwnerStyles[owner]}`} /> {kOwnerNames[owner]}
        </span>
      )}
      <span class="end">
        <span>
          <span class="u">{figures.totalName}</span> {value(total(frames, box))}
        </span>
        <span>
          <span class="u">self</span> {value(frames.self[box])}
        </span>
        <span class="u">
          {count(frames.samples[box])} of {count(figures.samples)} samples
        </span>
      </span>
    </div>
  );
}

// One sentence for a screen reader, on a choice made with the keyboard.
export function spoken(frames: Frames, box: number, figures: Figures): string {
  if (box === kNone) return '';
  const share = (value: number) =>
    `${valueText(value, figures.unit)}, ${percent(value, figures.whole)}`;
  return `${frames.symbols.name(frames.fn[box])}; ${figures.totalName} ${share(total(frames, box))}; self ${share(frames.self[box])}; depth ${frames.depth[box] + 1}`;
}

const kStateNames: [ThreadState, string, string][] = [
  ['running', 'running', 'st-cpu'],
  ['waiting', 'waiting', 'st-io'],
  ['gil', 'GIL wait', 'st-gil'],
  ['gc', 'GC', 'st-gc'],
];

export function Legend({ meta, merged }: { meta: ProfileMeta; merged: Merged }) {
  const owners = sumOwners(merged.frames);
  const states = statesMs(meta, merged);
  const text = (value: number) =>
    merged.unit === 'nanoseconds' ? figure(value / 1e6) : valueText(value, merged.unit);
  return (
    <div class="key legend">
      <span>
        <i class="own" />
        my code <b>{text(owners.own)}</b>
        {merged.unit === 'nanoseconds' && ' ms self'}
      </span>
      <span>
        <i class="lib" />
        libraries <b>{text(owners.library)}</b>
      </span>
      <span>
        <i class="run" />
        runtime <b>{text(owners.runtime)}</b>
      </span>
      {kStateNames.map(([state, name, style]) =>
        state !== 'running' && states[state] ? (
          <span>
            <i class={`hatch ${style}`} />
            {name} <b>{figure(states[state])}</b>
          </span>
        ) : null,
      )}
      <span class="u">sum {valueText(merged.frames.span, merged.unit)}</span>
    </div>
  );
}

export function statesMs(
  meta: ProfileMeta,
  merged: Merged | null,
): Partial<Record<ThreadState, number>> {
  if (meta.states_ms) return meta.states_ms;
  const states = merged?.answer.states ?? {};
  return Object.fromEntries(Object.entries(states).map(([name, ns]) => [name, ns / 1e6]));
}

export function statesText(meta: ProfileMeta, merged: Merged | null): string {
  const states = statesMs(meta, merged);
  const parts = kStateNames
    .filter(([state]) => states[state])
    .map(([state, name]) => `${name} ${figure(states[state]!)} ms`);
  return `Thread state over time${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`;
}
