// What the address says: the path names a thing, the query a view of it. Pure.

import type { Owner } from '../model/symbols';

export type Place =
  | { screen: 'overview' }
  | { screen: 'profiles' }
  | { screen: 'profile'; id: string }
  | { screen: 'groups'; by: GroupKey }
  // The profiles of one route or host.
  | { screen: 'group'; by: GroupKey; name: string }
  | { screen: 'status' }
  | { screen: 'later'; title: string }
  | { screen: 'unknown'; path: string };

export type GroupKey = 'route' | 'host';

const kLater: [RegExp, string][] = [
  [/^campaigns(?:\/.+)?$/, 'Campaigns'],
  [/^compare$/, 'Compare'],
  [/^live$/, 'Live'],
];

// `path` is below the prefix, without its slash. A viewer's address carries the id in the query.
export function parsePlace(path: string, query: URLSearchParams): Place {
  const clean = path.replace(/\/+$/, '');
  if (clean === '') return { screen: 'overview' };
  if (clean === 'profiles') return { screen: 'profiles' };
  if (clean === 'flamegraph') return { screen: 'profile', id: query.get('id') ?? '' };
  const profile = /^p\/([^/]+)$/.exec(clean);
  if (profile) return { screen: 'profile', id: decode(profile[1]) };
  if (clean === 'status') return { screen: 'status' };
  const groups = /^(route|host)s(?:\/(.+))?$/.exec(clean);
  if (groups) {
    const by = groups[1] as GroupKey;
    return groups[2] ? { screen: 'group', by, name: decode(groups[2]) } : { screen: 'groups', by };
  }
  const later = kLater.find(([form]) => form.test(clean));
  if (later) return { screen: 'later', title: later[1] };
  return { screen: 'unknown', path: clean };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const kViews = ['time', 'left', 'sandwich', 'top', 'tree', 'speedscope'] as const;
export type View = (typeof kViews)[number];

export interface ProfileView {
  view: View;
  search: string;
  // Selected frame: see frameName().
  frame: string;
  // Visible stretch of the axis, in milliseconds (or thousandths of the value's unit).
  zoom: [number, number] | null;
  // Index of the thread; the busiest when absent.
  thread: number | null;
  sort: string;
  // Type of the values that the merged views show; the server's choice when empty.
  value: string;
  // Whose frames stand out; everybody's when empty.
  owner: Owner | '';
}

export const kOwners: readonly Owner[] = ['own', 'library', 'runtime'];

export function parseProfileView(query: URLSearchParams): ProfileView {
  const view = query.get('v') as View;
  const thread = Number(query.get('th') ?? NaN);
  return {
    view: kViews.includes(view) ? view : 'time',
    search: query.get('q') ?? '',
    frame: query.get('n') ?? '',
    zoom: parseRange(query.get('z')),
    thread: Number.isInteger(thread) && thread >= 0 ? thread : null,
    sort: query.get('sort') ?? '',
    value: query.get('unit') ?? '',
    owner: kOwners.find((owner) => owner === query.get('own')) ?? '',
  };
}

export function formatProfileView(view: ProfileView): URLSearchParams {
  const query = new URLSearchParams();
  if (view.view !== 'time') query.set('v', view.view);
  if (view.search) query.set('q', view.search);
  if (view.frame) query.set('n', view.frame);
  if (view.zoom) query.set('z', view.zoom.map(shortNumber).join('-'));
  if (view.thread !== null) query.set('th', String(view.thread));
  if (view.sort) query.set('sort', view.sort);
  if (view.value) query.set('unit', view.value);
  if (view.owner) query.set('own', view.owner);
  return query;
}

function parseRange(text: string | null): [number, number] | null {
  const match = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text ?? '');
  if (!match) return null;
  const [from, to] = [Number(match[1]), Number(match[2])];
  return to > from ? [from, to] : null;
}

function shortNumber(value: number): string {
  return String(Math.round(value * 1e4) / 1e4);
}

export const kFilterKeys = [
  'route',
  'host',
  'service',
  'status',
  'state',
  'trigger',
  'campaign',
  'min_ms',
  'from',
  'to',
  'q',
] as const;
export type FilterKey = (typeof kFilterKeys)[number];
export type Filters = Partial<Record<FilterKey, string>>;

export interface ListView {
  filters: Filters;
  sort: string;
}

export const kDefaultSort = '-started_at';

export function parseListView(query: URLSearchParams): ListView {
  const filters: Filters = {};
  for (const key of kFilterKeys) {
    const value = query.get(key)?.trim();
    if (value) filters[key] = value;
  }
  return { filters, sort: query.get('sort') || kDefaultSort };
}

export function formatListView(view: ListView): URLSearchParams {
  const query = new URLSearchParams();
  for (const key of kFilterKeys) if (view.filters[key]) query.set(key, view.filters[key]!);
  if (view.sort !== kDefaultSort) query.set('sort', view.sort);
  return query;
}

// An id begins with eight digits of Unix milliseconds in base 36.
export function timeOfId(id: string): Date | null {
  if (!/^[0-9a-z]{20}$/.test(id)) return null;
  const time = parseInt(id.slice(0, 8), 36);
  return time > 1e12 && time < 4e12 ? new Date(time) : null;
}
