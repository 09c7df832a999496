// The rows of the list: pages as they are asked for, live rows kept up to date, new ones counted
// until somebody wants to see them.

import { useCallback, useEffect, useState } from 'preact/hooks';
import { getJson } from '../../core/api';
import { useResource, useTicker, type Resource } from '../../core/resource';
import { formatListView, kDefaultSort, type ListView } from '../../core/url';
import type { ProfileMeta, ProfilePage } from '../../model/types';

export const kPageSize = 50;
const kRefreshMs = 3000;
const kLiveLookUps = 5; // a round

export interface ProfileList {
  first: Resource<ProfilePage>;
  rows: ProfileMeta[];
  // Came since the list was shown; newest first.
  fresh: ProfileMeta[];
  total: number;
  next: string | undefined;
  loadingMore: boolean;
  showFresh: () => void;
  loadMore: () => void;
}

interface Loaded {
  rows: ProfileMeta[];
  fresh: ProfileMeta[];
  total: number;
  next?: string;
}

const kNothing: Loaded = { rows: [], fresh: [], total: 0 };

// Ids of the list that was on the screen last, for "previous" and "next" on a profile.
export let lastListed: string[] = [];

function pagePath(view: ListView, cursor?: string): string {
  const query = formatListView(view);
  query.set('limit', String(kPageSize));
  if (cursor) query.set('cursor', cursor);
  return `profiles?${query}`;
}

export function useProfileList(view: ListView, paused: boolean): ProfileList {
  const path = pagePath(view);
  const first = useResource(path, (abort) => getJson<ProfilePage>(path, abort));
  const [loaded, setLoaded] = useState<Loaded>(kNothing);
  const [loadingMore, setLoadingMore] = useState(false);
  useEffect(() => {
    if (first.data)
      setLoaded({
        rows: first.data.profiles,
        fresh: [],
        total: first.data.total,
        next: first.data.next,
      });
  }, [first.data]);
  useEffect(() => {
    lastListed = loaded.rows.map((row) => row.id);
  }, [loaded.rows]);

  const refresh = useCallback(
    async (abort: AbortSignal) => {
      const page = await getJson<ProfilePage>(path, abort);
      setLoaded((old) => mergePage(old, page, view.sort === kDefaultSort));
      const listed = new Set(page.profiles.map((row) => row.id));
      const live = loaded.rows
        .filter((row) => isLive(row) && !listed.has(row.id))
        .slice(0, kLiveLookUps);
      for (const row of live) {
        const meta = await getJson<ProfileMeta>(`profiles/${row.id}`, abort);
        setLoaded((old) => ({
          ...old,
          rows: old.rows.map((at) => (at.id === meta.id ? meta : at)),
        }));
      }
    },
    [path, loaded.rows],
  );
  useTicker(first.data && !paused ? kRefreshMs : null, refresh);

  const loadMore = async () => {
    setLoadingMore(true);
    try {
      const page = await getJson<ProfilePage>(pagePath(view, loaded.next));
      setLoaded((old) => ({
        ...old,
        rows: appendNew(old.rows, page.profiles),
        total: page.total,
        next: page.next,
      }));
    } finally {
      setLoadingMore(false);
    }
  };
  const showFresh = () =>
    setLoaded((old) => ({ ...old, rows: [...old.fresh, ...old.rows], fresh: [] }));
  return {
    first,
    ...loaded,
    next: loaded.next,
    loadingMore,
    showFresh,
    loadMore: () => void loadMore(),
  };
}

export function isLive(meta: ProfileMeta): boolean {
  return meta.state === 'running' || meta.state === 'waiting';
}

// Known rows take their newest values; unknown ones wait in `fresh`, so that nothing jumps.
export function mergePage(old: Loaded, page: ProfilePage, newestFirst: boolean): Loaded {
  const known = new Map(page.profiles.map((row) => [row.id, row]));
  const shown = new Set(old.rows.map((row) => row.id));
  const rows = old.rows.map((row) => known.get(row.id) ?? row);
  const newest = old.rows[0]?.started_at ?? '';
  const fresh = newestFirst
    ? page.profiles.filter((row) => !shown.has(row.id) && (row.started_at ?? '') >= newest)
    : [];
  return { ...old, rows, fresh, total: page.total };
}

function appendNew(rows: ProfileMeta[], more: ProfileMeta[]): ProfileMeta[] {
  const shown = new Set(rows.map((row) => row.id));
  return [...rows, ...more.filter((row) => !shown.has(row.id))];
}
