// The views of a stored profile. What is selected, searched and zoomed stands in the address.

import { useMemo } from 'preact/hooks';
import { useKeys } from '../../core/keys';
import type { Resource } from '../../core/resource';
import { query, setQuery } from '../../core/router';
import { formatProfileView, parseProfileView, type ProfileView, type View } from '../../core/url';
import { findFrame, kNone } from '../../model/frames';
import { highlight } from '../../model/search';
import type { ProfileMeta } from '../../model/types';
import { Failure, Loading, Unreachable } from '../../parts/bits';
import { CallTree } from './calltree';
import { Legend } from './detail';
import { LeftHeavy, TimeOrder } from './flames';
import { useTimeline, useTree, type Merged } from './load';
import { functionOf, Side } from './side';
import { SandwichView } from './sandwich';
import { Speedscope } from './speedscope';
import { kTabs, Tools, ViewBar } from './tools';
import { Top } from './top';

const kRetryS = 15;

export type Change = (part: Partial<ProfileView>, how?: 'push' | 'replace') => void;

export function Work({ meta }: { meta: ProfileMeta }) {
  const view = parseProfileView(query.value);
  const change: Change = (part, how = 'replace') =>
    setQuery(formatProfileView({ ...parseProfileView(query.peek()), ...part }), how);
  const timeline = useTimeline(meta, view.thread, view.view === 'time');
  const tree = useTree(meta, view.value);
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
  const timed = view.view === 'time' ? timeline.timed : null;
  return (
    <div class="work">
      <div class="left">
        <ViewBar view={view} merged={merged} timed={timed} show={show} change={change} />
        {view.view !== 'speedscope' && <Tools view={view} merged={merged} change={change} />}
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
    if (!timed) return <Loading what="the samples" />;
    return <TimeOrder {...{ meta, timed, merged, view, change }} />;
  }
  if (!merged) return <Loading what="the call tree" />;
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
    () => highlight(merged.frames.symbols, view.search, view.owner),
    [merged, view.search, view.owner],
  );
  const selected = useMemo(
    () => (view.frame ? findFrame(merged.frames, view.frame) : kNone),
    [merged, view.frame],
  );
  if (view.view === 'sandwich' && fn >= 0) {
    return <SandwichView merged={merged} fn={fn} mask={mask} choose={choose} />;
  }
  if (view.view === 'top' || view.view === 'sandwich') {
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
  return <CallTree merged={merged} mask={mask} selected={selected} choose={choose} />;
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
