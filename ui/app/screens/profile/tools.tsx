// Above every view: which view, of what, and what is looked for in it.

import { useMemo } from 'preact/hooks';
import { count, percent, valueText } from '../../core/format';
import { kOwners, type ProfileView, type View } from '../../core/url';
import { findFrames, highlight } from '../../model/search';
import { Keycap } from '../../parts/bits';
import { SearchField } from '../../parts/search';
import type { Merged, Timed } from './load';
import type { Change } from './work';

export const kTabs: { view: View; title: string; key: string }[] = [
  { view: 'time', title: 'Time order', key: '1' },
  { view: 'left', title: 'Left heavy', key: '2' },
  { view: 'sandwich', title: 'Sandwich', key: '3' },
  { view: 'top', title: 'Top', key: '4' },
  { view: 'tree', title: 'Call tree', key: '5' },
  { view: 'speedscope', title: 'Speedscope', key: '6' },
];

interface BarProps {
  view: ProfileView;
  merged: Merged | null;
  timed: Timed | null;
  show: (view: View) => void;
  change: Change;
}

export function ViewBar({ view, merged, timed, show, change }: BarProps) {
  const types = merged?.answer.types ?? [];
  const valued = view.view !== 'time' && view.view !== 'speedscope' && types.length > 1;
  return (
    <div class="viewbar">
      <Tabs at={view.view} show={show} />
      <div class="end">
        {view.zoom && (
          <button class="btn" type="button" onClick={() => change({ zoom: null }, 'push')}>
            Reset zoom <Keycap>0</Keycap>
          </button>
        )}
        {timed && <Threads timed={timed} change={change} />}
        {valued && (
          <label class="row">
            <span class="sec">Value</span>
            <select
              class="in"
              value={merged!.answer.value}
              onChange={(event) => change({ value: event.currentTarget.value, zoom: null }, 'push')}
            >
              {types.map((type) => (
                <option value={type}>{type}</option>
              ))}
            </select>
          </label>
        )}
      </div>
    </div>
  );
}

function Tabs({ at, show }: { at: View; show: (view: View) => void }) {
  const move = (event: KeyboardEvent, i: number) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const next = kTabs[(i + step + kTabs.length) % kTabs.length];
    show(next.view);
    document.getElementById(`tab-${next.view}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="View">
      {kTabs.map(({ view, title, key }, i) => (
        <button
          type="button"
          role="tab"
          id={`tab-${view}`}
          aria-controls="view"
          aria-selected={view === at}
          tabIndex={view === at ? 0 : -1}
          onClick={() => show(view)}
          onKeyDown={(event) => move(event, i)}
        >
          {title} <Keycap>{key}</Keycap>
        </button>
      ))}
    </div>
  );
}

// Which thread the chart shows; nothing when there is one only.
function Threads({ timed, change }: { timed: Timed; change: Change }) {
  if (timed.answer.threads.length < 2) return null;
  const choose = (text: string) => change({ thread: Number(text), zoom: null, frame: '' }, 'push');
  return (
    <label class="row">
      <span class="sec">Thread</span>
      <select
        class="in"
        value={String(timed.thread)}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        {timed.answer.threads.map((thread, i) => (
          <option value={String(i)}>
            {thread.name || `thread ${i + 1}`}, {count(thread.t_ns.length)}
          </option>
        ))}
      </select>
    </label>
  );
}

const kTypingMs = 120;

interface ToolsProps {
  view: ProfileView;
  merged: Merged | null;
  change: Change;
}

export function Tools({ view, merged, change }: ToolsProps) {
  return (
    <div class="tools">
      <SearchField
        label="Search frames"
        hint="Function or file"
        value={view.search}
        pauseMs={kTypingMs}
        set={(search) => change({ search })}
      />
      <span class="sec found" role="status">
        {merged && (view.search || view.owner) && <FoundText merged={merged} view={view} />}
      </span>
      <Owners view={view} change={change} />
    </div>
  );
}

const kOwnerTitles = { own: 'My code', library: 'Libraries', runtime: 'Runtime' };

function Owners({ view, change }: { view: ProfileView; change: Change }) {
  const choice = (owner: ProfileView['owner'], title: string) => (
    <button type="button" aria-pressed={view.owner === owner} onClick={() => change({ owner })}>
      {title}
    </button>
  );
  return (
    <span class="seg end wide" role="group" aria-label="Owner of the code">
      {choice('', 'All')}
      {kOwners.map((owner) => choice(owner, kOwnerTitles[owner]))}
    </span>
  );
}

function FoundText({ merged, view }: { merged: Merged; view: ProfileView }) {
  const found = useMemo(
    () => findFrames(merged.frames, highlight(merged.frames.symbols, view.search, view.owner)!),
    [merged, view.search, view.owner],
  );
  if (found.boxes === 0) return <>no frame matches</>;
  const text = (value: number) => valueText(value, merged.unit);
  return (
    <>
      {count(found.boxes)} {found.boxes === 1 ? 'frame' : 'frames'}: <b>{text(found.total)}</b>{' '}
      total{' '}
      <span class="u">
        ({percent(found.total, merged.frames.span)} of {text(merged.frames.span)})
      </span>
      , <b>{text(found.self)}</b> self
    </>
  );
}
