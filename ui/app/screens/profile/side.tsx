// Beside the flame: who calls the selected function, what the proxy did, what it cost.

import { count, interval, ms, percent, valueText } from '../../core/format';
import { findFrame, frameName, kNone, type Frames } from '../../model/frames';
import { neighboursOf } from '../../model/top';
import { fitLabel } from '../../flame/label';
import type { ProfileMeta } from '../../model/types';
import { Keycap } from '../../parts/bits';
import { PageviewBox, RouteBox } from './context';
import type { Merged } from './load';

const kListed = 6;
const kNameRoom = 30;

interface Props {
  meta: ProfileMeta;
  merged: Merged | null;
  // Function of the merged graph that is selected; none: kNone.
  fn: number;
  choose: (frame: string) => void;
}

export function Side({ meta, merged, fn, choose }: Props) {
  return (
    <aside class="side" aria-label="Selected function and request">
      {merged && fn !== kNone && <Around merged={merged} fn={fn} choose={choose} />}
      {merged && fn === kNone && (
        <section>
          <h2>Callers and callees</h2>
          <p class="dim">
            Choose a frame, with the pointer or with <Keycap>↓</Keycap> once the flame has the
            focus.
          </p>
        </section>
      )}
      <RouteBox meta={meta} />
      <Changes meta={meta} />
      <Overhead meta={meta} />
      <PageviewBox meta={meta} />
    </aside>
  );
}

function Around({
  merged,
  fn,
  choose,
}: {
  merged: Merged;
  fn: number;
  choose: (frame: string) => void;
}) {
  const around = neighboursOf(merged.frames, fn);
  const text = (value: number) => valueText(value, merged.unit);
  const list = (title: string, note: string, rows: { fn: number; value: number }[]) => (
    <section>
      <h2>
        {title} <small>{note}</small>
      </h2>
      {rows.length === 0 && <p class="dim">none</p>}
      <div class="pair">
        {rows.slice(0, kListed).map((row) => (
          <>
            <button
              class="link mono clip quiet"
              type="button"
              title={merged.frames.symbols.name(row.fn)}
              onClick={() => choose(widest(merged.frames, row.fn))}
            >
              {fitLabel(merged.frames.symbols.name(row.fn), kNameRoom)}
            </button>
            <span>{text(row.value)}</span>
          </>
        ))}
        {rows.length > kListed && <span class="dim">{count(rows.length - kListed)} more</span>}
      </div>
    </section>
  );
  return (
    <>
      {list(
        'Callers',
        `${text(around.total)}, ${count(around.places)} ${around.places === 1 ? 'place' : 'places'}`,
        around.callers,
      )}
      {list('Callees', `self ${text(around.self)}`, around.callees)}
    </>
  );
}

// The name of the widest frame of a function.
export function widest(frames: Frames, fn: number): string {
  let best = kNone;
  for (let box = 0; box < frames.count; box++) {
    if (frames.fn[box] !== fn) continue;
    if (
      best === kNone ||
      frames.end[box] - frames.start[box] > frames.end[best] - frames.start[best]
    )
      best = box;
  }
  return best === kNone ? '' : frameName(frames, best, false);
}

export function functionOf(frames: Frames, frame: string): number {
  const box = frame ? findFrame(frames, frame) : kNone;
  return box === kNone ? kNone : frames.fn[box];
}

export function Changes({ meta }: { meta: ProfileMeta }) {
  const changes = meta.changes;
  return (
    <section class="changes">
      <h2>What the proxy changed</h2>
      {changes === undefined && <p class="dim">Not recorded for this profile.</p>}
      {changes?.length === 0 && <p class="dim">Nothing.</p>}
      {changes && changes.length > 0 && (
        <ul>
          {changes.map((change) => (
            <li>{change}</li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Overhead({ meta }: { meta: ProfileMeta }) {
  const { overhead_us: overhead, duration_ms: duration, ticks } = meta;
  const known = overhead !== undefined || ticks?.missed !== undefined;
  return (
    <section>
      <h2>
        Overhead <small>measured</small>
      </h2>
      {!known && <p class="dim">The agent did not say.</p>}
      <div class="pair">
        {overhead !== undefined && (
          <>
            <span class="sec">sampler, this request</span>
            <span>
              {ms(overhead / 1000)}{' '}
              {duration ? <span class="u">{percent(overhead / 1000, duration)}</span> : null}
            </span>
          </>
        )}
        {ticks?.missed !== undefined && (
          <>
            <span class="sec">ticks missed</span>
            <span>
              {count(ticks.missed)}{' '}
              {ticks.expected !== undefined && <span class="u">of {count(ticks.expected)}</span>}
            </span>
          </>
        )}
        {meta.interval_us !== undefined && (
          <>
            <span class="sec">interval</span>
            <span>{interval(meta.interval_us)}</span>
          </>
        )}
      </div>
    </section>
  );
}
