// The list of profiles: filters in the address, newest first, live rows in place.

import { useState } from 'preact/hooks';
import { count, duration } from '../../core/format';
import { query, setQuery } from '../../core/router';
import {
  formatListView,
  kDefaultSort,
  parseListView,
  type Filters,
  type ListView,
} from '../../core/url';
import { Empty, Failure, Loading, Unreachable } from '../../parts/bits';
import { FirstProfile } from '../../parts/first';
import { SearchField } from '../../parts/search';
import { activeCount, FilterPanel, NearestFilters } from './filters';
import { useProfileList, type ProfileList } from './list';
import { ProfileTable } from './table';

const kTypingMs = 250;
const kRetryS = 15;

export function Profiles() {
  const view = parseListView(query.value);
  const [paused, setPaused] = useState(false);
  const [filtersOpen, setFiltersOpen] = useState(false);
  const list = useProfileList(view, paused);
  const show = (next: ListView, how: 'push' | 'replace' = 'push') =>
    setQuery(formatListView(next), how);
  const change = (filters: Filters) => show({ ...view, filters });
  return (
    <div class="grid list-screen">
      <h1 class="vh">Profiles</h1>
      <FilterPanel filters={view.filters} rows={list.rows} open={filtersOpen} change={change} />
      <section class="list" aria-label="Profiles">
        <div class="tools">
          <SearchField
            label="Search profiles"
            hint="Route, path or id"
            pauseMs={kTypingMs}
            value={view.filters.q ?? ''}
            set={(q) =>
              show({ ...view, filters: { ...view.filters, q: q || undefined } }, 'replace')
            }
          />
          <button
            class="btn only"
            type="button"
            aria-expanded={filtersOpen}
            aria-controls="filters"
            onClick={() => setFiltersOpen(!filtersOpen)}
          >
            Filters: {activeCount(view.filters)}
          </button>
          <Since filters={view.filters} change={change} />
          {list.fresh.length > 0 && (
            <button class="btn pill-btn" type="button" onClick={list.showFresh}>
              {count(list.fresh.length)} new
            </button>
          )}
          <button
            class="btn plain wide"
            type="button"
            aria-pressed={paused}
            onClick={() => setPaused(!paused)}
          >
            {paused ? 'Resume' : 'Pause'}
          </button>
        </div>
        <Rows list={list} view={view} show={show} change={change} />
      </section>
    </div>
  );
}

function Rows({
  list,
  view,
  show,
  change,
}: {
  list: ProfileList;
  view: ListView;
  show: (view: ListView) => void;
  change: (filters: Filters) => void;
}) {
  const { first, rows } = list;
  if (first.error && !first.data && !first.error.unreachable)
    return (
      <div class="inset">
        <Failure error={first.error} retry={first.reload} />
      </div>
    );
  return (
    <>
      {first.error && (
        <div class="inset">
          <Unreachable error={first.error} at={first.at} retry={first.reload} every={kRetryS} />
        </div>
      )}
      {!first.data && !first.error && (
        <div class="inset">
          <Loading what="profiles" />
        </div>
      )}
      {first.data && rows.length === 0 && list.fresh.length === 0 && (
        <div class="inset">
          <NothingListed view={view} change={change} />
        </div>
      )}
      {rows.length > 0 && (
        <div class={first.error ? 'stale' : ''}>
          <p class="note-row">
            <Shown list={list} sort={view.sort} />
          </p>
          <ProfileTable rows={rows} sort={view.sort} setSort={(sort) => show({ ...view, sort })} />
          <div class="foot">
            {list.next && (
              <button class="btn" type="button" disabled={list.loadingMore} onClick={list.loadMore}>
                {view.sort === kDefaultSort ? 'Older' : 'More'}{' '}
                {Math.min(50, Math.max(0, list.total - rows.length)) || ''}
              </button>
            )}
            <PhaseKey />
          </div>
        </div>
      )}
    </>
  );
}

function Shown({ list, sort }: { list: ProfileList; sort: string }) {
  const newest = sort === kDefaultSort;
  const last = list.rows[list.rows.length - 1];
  const oldest =
    newest && !list.next && last?.started_at
      ? (Date.now() - Date.parse(last.started_at)) / 1000
      : 0;
  return (
    <>
      <span>
        showing {newest ? 'newest ' : ''}
        <b>{count(list.rows.length)}</b> of <b>{count(list.total)}</b>
      </span>
      {oldest > 0 && <span>oldest: {duration(oldest)} ago</span>}
    </>
  );
}

function PhaseKey() {
  return (
    <div class="key wide">
      <span>
        <i class="a" />
        until first byte
      </span>
      <span>
        <i class="b" />
        body
      </span>
      <span>
        <i class="q" />
        queue and connect
      </span>
    </div>
  );
}

function NothingListed({ view, change }: { view: ListView; change: (filters: Filters) => void }) {
  const active = activeCount(view.filters);
  if (active === 0) return <FirstProfile />;
  return (
    <Empty
      title={
        active === 1 ? 'No profile matches the filter' : `No profile matches all ${active} filters`
      }
      actions={<NearestFilters view={view} change={change} />}
    >
      <p>The number beside a button is how many would match without that filter.</p>
    </Empty>
  );
}

const kSpans = [
  { title: '1 h', ms: 3600e3 },
  { title: '24 h', ms: 24 * 3600e3 },
];

// Absolute in the address, so that a link shows the same tomorrow.
function Since({ filters, change }: { filters: Filters; change: (filters: Filters) => void }) {
  const from = filters.from ? Number(filters.from) || Date.parse(filters.from) : NaN;
  const age = Date.now() - from;
  const pressed = kSpans.find(({ ms }) => Math.abs(age - ms) < ms * 0.05);
  return (
    <span class="seg" role="group" aria-label="Started within">
      {kSpans.map((span) => (
        <button
          type="button"
          aria-pressed={span === pressed}
          onClick={() => change({ ...filters, from: String(Date.now() - span.ms), to: undefined })}
        >
          {span.title}
        </button>
      ))}
      <button
        type="button"
        aria-pressed={!filters.from && !filters.to}
        onClick={() => change({ ...filters, from: undefined, to: undefined })}
      >
        All
      </button>
    </span>
  );
}
