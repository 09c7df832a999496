// The two flame views: in time order beside the request's phases, and merged.

import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { count, percent, valueText } from '../../core/format';
import type { ProfileView } from '../../core/url';
import type { Range } from '../../flame/range';
import { findFrame, frameName, kNone, type Frames } from '../../model/frames';
import { highlight } from '../../model/search';
import type { ProfileMeta, ThreadState } from '../../model/types';
import { Axis, StateStrip } from './axis';
import { FlameCanvas } from './canvas';
import { Detail, spoken, statesText, Trail, type Figures } from './detail';
import type { Merged, Timed } from './load';
import type { Change } from './work';

interface Common {
  meta: ProfileMeta;
  view: ProfileView;
  change: Change;
}

const kMicro = 1e6; // the address counts in millionths of the value's unit: milliseconds

export function TimeOrder({
  meta,
  timed,
  merged,
  view,
  change,
}: Common & { timed: Timed; merged: Merged | null }) {
  const { frames, states, weight } = timed.chart;
  const range = useSignal<Range>({ from: 0, to: frames.span });
  const thread = timed.answer.threads[timed.thread];
  const figures: Figures = {
    whole: weight,
    samples: thread.t_ns.length,
    unit: 'nanoseconds',
    totalName: 'this call',
  };
  return (
    <>
      {!timed.clocksAgree && meta.phases_ms && (
        <p class="note inset-note">
          <span>
            The clocks of proxy and application disagree; the frames begin where the application got
            the request.
          </span>
        </p>
      )}
      <Axis meta={meta} range={range} />
      <StateStrip
        runs={states}
        states={timed.answer.states}
        range={range}
        text={statesText(meta, merged)}
      />
      <Flame
        frames={frames}
        states={timed.answer.states}
        timed
        view={view}
        change={change}
        figures={figures}
        range={range}
        what="Flame chart, time order"
      />
    </>
  );
}

export function LeftHeavy({ merged, view, change }: Common & { merged: Merged }) {
  const { frames, answer, unit } = merged;
  const range = useSignal<Range>({ from: 0, to: frames.span });
  const figures: Figures = {
    whole: frames.span,
    samples: answer.samples,
    unit,
    totalName: 'total',
  };
  const { pruned } = answer;
  return (
    <>
      {pruned && pruned.nodes > 0 && (
        <p class="note w inset-note">
          <span>
            <b>Pruned:</b> {count(pruned.nodes)} of the smallest frames are folded into boxes named
            "pruned", together {percent(pruned.value, frames.span)} of{' '}
            {valueText(frames.span, unit)}. Downloads hold everything.
          </span>
        </p>
      )}
      <Flame
        frames={frames}
        states={[]}
        timed={false}
        view={view}
        change={change}
        figures={figures}
        range={range}
        what="Flame graph, merged, widest first"
      />
    </>
  );
}

interface FlameProps {
  frames: Frames;
  states: ThreadState[];
  timed: boolean;
  view: ProfileView;
  change: Change;
  figures: Figures;
  range: { value: Range };
  what: string;
}

function Flame({ frames, states, timed, view, change, figures, range, what }: FlameProps) {
  const [hovered, setHovered] = useState(kNone);
  const [said, setSaid] = useState('');
  useEffect(() => {
    setHovered(kNone);
    range.value = { from: 0, to: frames.span };
  }, [frames]);
  const mask = useMemo(
    () => highlight(frames.symbols, view.search, view.owner),
    [frames, view.search, view.owner],
  );
  const selected = useMemo(
    () => (view.frame ? findFrame(frames, view.frame) : kNone),
    [frames, view.frame],
  );
  const wanted = view.zoom && { from: view.zoom[0] * kMicro, to: view.zoom[1] * kMicro };

  const zoomTo = (box: number) => {
    if (box === kNone) return change({ zoom: null }, 'push');
    const whole = frames.end[box] - frames.start[box] >= frames.span;
    const zoom: [number, number] = [frames.start[box] / kMicro, frames.end[box] / kMicro];
    change({ frame: frameName(frames, box, timed), zoom: whole ? null : zoom }, 'push');
  };
  const onRange = (at: Range, rests: boolean) => {
    range.value = at;
    if (!rests) return;
    const whole = at.to - at.from >= frames.span * (1 - 1e-6);
    change({ zoom: whole ? null : [at.from / kMicro, at.to / kMicro] });
  };
  const onSelect = (box: number) => {
    change({ frame: frameName(frames, box, timed) });
    setSaid(spoken(frames, box, figures));
  };
  return (
    <>
      <div class={timed ? 'axis frames' : 'axis plain'}>
        {timed && <span>frames</span>}
        <FlameCanvas
          frames={frames}
          states={states}
          mask={mask}
          selected={selected}
          range={wanted}
          events={{ onHover: setHovered, onSelect, onZoom: zoomTo, onRange }}
          label={`${what}. The tabs Top and Call tree hold the same data as tables.`}
        />
      </div>
      <Trail frames={frames} box={selected} zoom={zoomTo} />
      <Detail frames={frames} box={hovered !== kNone ? hovered : selected} figures={figures} />
      <p class="vh" role="status" aria-live="polite">
        {said}
      </p>
    </>
  );
}
