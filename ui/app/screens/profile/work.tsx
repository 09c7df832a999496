// The views of a stored profile. What is selected, searched and zoomed stands in the address.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { count, percent, valueText } from '../../core/format';
import { useKeys } from '../../core/keys';
import type { Resource } from '../../core/resource';
import { query, setQuery } from '../../core/router';
import { formatProfileView, parseProfileView, type ProfileView, type View } from '../../core/url';
import { findFrame, kNone } from '../../model/frames';
import { findFrames, matchFunctions } from '../../model/search';
import type { ProfileMeta } from '../../model/types';
import { Failure, Keycap, Loading, Unreachable } from '../../parts/bits';
import { CallTree } from './calltree';
import { Legend } from './detail';
import { LeftHeavy, Threads, TimeOrder } from './flames';
import { useTimeline, useTree, type Merged, type Timed } from './load';
import { functionOf, Side } from './side';
import { Speedscope } from './speedscope';
import { Top } from './top';

const kTabs: { view: View; title: string; key: string }[] = [
  { view: 'time', title: 'Time order', key: '1' },
  { view: 'left', title: 'Left heavy', key: '2' },
  { view: 'top', title: 'Top', key: '4' },
  { view: 'tree', title: 'Call tree', key: '5' },
  { view: 'speedscope', title: 'Speedscope', key: '6' },
];
const kRetryS = 15;

export type Change = (part: Partial<ProfileView>, how?: 'push' | 'replace') => void;

export function Work({ meta }: { meta: ProfileMeta }) {
  const view = parseProfileView(query.value);
  const change: Change = (part, how = 'replace') =>
    setQuery(formatProfileView({ ...parseProfileView(query.peek()), ...part }), how);
  const timeline = useTimeline(meta, view.thread, view.view === 'time');
  const tree = useTree(meta.id, true);
  const { merged } = tree;
  const choose = (frame: string) => change({ frame });
  useStepBack(view, change);
  const show = (next: View) => change({ view: next, zoom: null, sort: '' }, 'push');
  useKeys(
    kTabs.map(({ view: name, title, key }) => ({
      key,
      says: title.toLowerCase(),
      run: () => show(name),
    })),
  );
  const fn = merged ? functionOf(merged.frames, view.frame) : kNone;
  const flame = view.view === 'time' || view.view === 'left';
  return (
    <div class="work">
      <div class="left">
        <Tabs at={view.view} show={show} />
        {view.view !== 'speedscope' && (
          <Tools
            view={view}
            merged={merged}
            timed={view.view === 'time' ? timeline.timed : null}
            change={change}
          />
        )}
        <div role="tabpanel" id="view" aria-labelledby={`tab-${view.view}`}>
          {view.view === 'speedscope' ? (
            <Speedscope meta={meta} threads={timeline.data?.threads.length} />
          ) : (
            <OwnView {...{ meta, view, timeline, tree, fn, change, choose }} />
          )}
        </div>
        {merged && flame && (
          <>
            <Legend meta={meta} merged={merged} />
            <FlameKeys />
          </>
        )}
      </div>
      <Side meta={meta} merged={merged} fn={fn} choose={choose} />
    </div>
  );
}

interface OwnViewProps {
  meta: ProfileMeta;
  view: ProfileView;
  timeline: ReturnType<typeof useTimeline>;
  tree: ReturnType<typeof useTree>;
  fn: number;
  change: Change;
  choose: (frame: string) => void;
}

// The chosen view, or what there is to say instead of it.
function OwnView({ meta, view, timeline, tree, fn, change, choose }: OwnViewProps) {
  const { merged } = tree;
  const { timed } = timeline;
  const needed = view.view === 'time' ? timeline : tree;
  if (needed.error) return <NotLoaded needed={needed} />;
  if (view.view === 'time') {
    if (!timed)
      return (
        <div class="inset">
          <Loading what="the samples" />
        </div>
      );
    return <TimeOrder {...{ meta, timed, merged, view, change }} />;
  }
  if (!merged)
    return (
      <div class="inset">
        <Loading what="the call tree" />
      </div>
    );
  if (view.view === 'left') return <LeftHeavy {...{ meta, merged, view, change }} />;
  return <TableViews {...{ view, merged, fn, change, choose }} />;
}

function NotLoaded({ needed }: { needed: Resource<unknown> }) {
  const { error, at, reload } = needed;
  return (
    <div class="inset">
      {error!.unreachable ? (
        <Unreachable error={error!} at={at} retry={reload} every={kRetryS} />
      ) : (
        <Failure error={error!} retry={reload} />
      )}
    </div>
  );
}

function TableViews({
  view,
  merged,
  fn,
  change,
  choose,
}: {
  view: ProfileView;
  merged: Merged;
  fn: number;
  change: Change;
  choose: (frame: string) => void;
}) {
  const mask = useMemo(
    () => (view.search ? matchFunctions(merged.frames.symbols, view.search) : null),
    [merged, view.search],
  );
  const selected = useMemo(
    () => (view.frame ? findFrame(merged.frames, view.frame) : kNone),
    [merged, view.frame],
  );
  if (view.view === 'top') {
    return (
      <Top
        merged={merged}
        mask={mask}
        fn={fn}
        sort={view.sort}
        setSort={(sort) => change({ sort })}
        choose={choose}
      />
    );
  }
  if (view.view === 'tree')
    return <CallTree merged={merged} mask={mask} selected={selected} choose={choose} />;
  return null;
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

const kTypingMs = 120;

function Tools({
  view,
  merged,
  timed,
  change,
}: {
  view: ProfileView;
  merged: Merged | null;
  timed: Timed | null;
  change: Change;
}) {
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  const [text, setText] = useState(view.search);
  useEffect(() => setText(view.search), [view.search]);
  useKeys([
    { key: '/', says: 'search', run: () => (input.current?.focus(), input.current?.select()) },
  ]);
  const type = (next: string) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => change({ search: next.trim() }), kTypingMs);
  };
  return (
    <div class="tools">
      <label class="find">
        <span class="vh">Search frames</span>
        <input
          ref={input}
          class="in"
          type="search"
          value={text}
          placeholder="Function or file"
          spellcheck={false}
          onInput={(event) => type(event.currentTarget.value)}
        />
        <Keycap>/</Keycap>
      </label>
      <span class="sec found" role="status">
        {merged && view.search && <FoundText merged={merged} search={view.search} />}
      </span>
      {timed && <Threads timed={timed} change={change} />}
      {view.zoom && (
        <button class="btn end" type="button" onClick={() => change({ zoom: null }, 'push')}>
          Reset zoom <Keycap>0</Keycap>
        </button>
      )}
    </div>
  );
}

function FoundText({ merged, search }: { merged: Merged; search: string }) {
  const found = useMemo(
    () => findFrames(merged.frames, matchFunctions(merged.frames.symbols, search)),
    [merged, search],
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

// Esc undoes one step: search, then zoom, then selection.
function useStepBack(view: ProfileView, change: Change): void {
  useKeys([
    {
      key: 'Escape',
      says: 'back one step',
      when: () => !!(view.search || view.zoom || view.frame),
      run: () => {
        if (view.search) change({ search: '' });
        else if (view.zoom) change({ zoom: null }, 'push');
        else change({ frame: '' });
      },
    },
  ]);
}

const kHints: [string[], string][] = [
  [['←', '→'], 'sibling'],
  [['↑', '↓'], 'caller, callee'],
  [['Enter'], 'zoom'],
  [['0'], 'reset'],
  [['w', 's', 'a', 'd'], 'zoom, pan'],
  [['Ctrl'], '+ wheel: zoom'],
  [['Esc'], 'back one step'],
  [['?'], 'all keys'],
];

function FlameKeys() {
  return (
    <div class="keys wide" aria-hidden="true">
      {kHints.map(([keys, says]) => (
        <span>
          {keys.map((key) => (
            <>
              <kbd>{key}</kbd>{' '}
            </>
          ))}
          {says}
        </span>
      ))}
    </div>
  );
}
