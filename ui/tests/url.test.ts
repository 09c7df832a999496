import { describe, expect, it } from 'vitest';
import {
  formatListView,
  formatProfileView,
  kFilterKeys,
  parseListView,
  parsePlace,
  parseProfileView,
  timeOfId,
  type ProfileView,
} from '../app/core/url';

const place = (path: string, query = '') => parsePlace(path, new URLSearchParams(query));

describe('places', () => {
  it.each([
    ['', { screen: 'overview' }],
    ['profiles', { screen: 'profiles' }],
    ['profiles/', { screen: 'profiles' }],
    ['p/abc', { screen: 'profile', id: 'abc' }],
    ['p/a%20b', { screen: 'profile', id: 'a b' }],
    ['p/%ff', { screen: 'profile', id: '%ff' }],
    ['routes', { screen: 'groups', by: 'route' }],
    ['hosts', { screen: 'groups', by: 'host' }],
    ['routes/GET%20%2Frepo', { screen: 'group', by: 'route', name: 'GET /repo' }],
    ['hosts/web-1', { screen: 'group', by: 'host', name: 'web-1' }],
    ['status', { screen: 'status' }],
    ['campaigns/new', { screen: 'later', title: 'Campaigns' }],
    ['compare', { screen: 'later', title: 'Compare' }],
    ['live', { screen: 'later', title: 'Live' }],
    ['p', { screen: 'unknown', path: 'p' }],
    ['p/a/b', { screen: 'unknown', path: 'p/a/b' }],
  ])('%s', (path, expected) => expect(place(path)).toEqual(expected));

  it('reads the id of a viewer address from the query', () => {
    expect(place('flamegraph', 'id=xyz')).toEqual({ screen: 'profile', id: 'xyz' });
  });
});

describe('the view of a profile', () => {
  const views: ProfileView[] = [
    {
      view: 'time',
      search: '',
      frame: '',
      zoom: null,
      thread: null,
      sort: '',
      value: '',
      owner: '',
    },
    {
      view: 'left',
      search: 'a b&c=d',
      frame: 'k3j2',
      zoom: [0, 12.5],
      thread: null,
      sort: '',
      value: '',
      owner: '',
    },
    {
      view: 'time',
      search: '',
      frame: 'k3j2@12.500',
      zoom: [3.1235, 4],
      thread: 2,
      sort: '',
      value: '',
      owner: '',
    },
    {
      view: 'top',
      search: 'é',
      frame: '',
      zoom: null,
      thread: null,
      sort: '-total',
      value: 'cpu',
      owner: 'own',
    },
  ];
  it.each(views)('survives the address: %j', (view) => {
    const text = formatProfileView(view).toString();
    expect(parseProfileView(new URLSearchParams(text))).toEqual(view);
  });

  it('says nothing about what is usual', () =>
    expect(formatProfileView(views[0]).toString()).toBe(''));

  it.each(['v=nonsense', 'z=5', 'z=5-5', 'z=9-3', 'z=-1-3', 'z=a-b', 'th=-1', 'th=1.5'])(
    'takes no harm from %s',
    (text) => {
      expect(parseProfileView(new URLSearchParams(text))).toEqual(views[0]);
    },
  );
});

describe('the view of the list', () => {
  it('survives the address', () => {
    const filters = Object.fromEntries(kFilterKeys.map((key) => [key, `a ${key}&`]));
    const view = { filters, sort: 'samples' };
    expect(parseListView(new URLSearchParams(formatListView(view).toString()))).toEqual(view);
  });

  it('drops empty filters and unknown keys', () => {
    expect(parseListView(new URLSearchParams('route=&host=%20&x=1'))).toEqual({
      filters: {},
      sort: '-started_at',
    });
  });
});

describe('the time in an id', () => {
  it('is read', () =>
    expect(timeOfId('mx3da03efj6pu9541pzi')?.toISOString()).toMatch(/^2026-11-30T14:3/));
  it.each(['', 'short', 'MX3DA03EFJ6PU9541PZI', '00000000000000000000'])(
    'is not made up for "%s"',
    (id) => expect(timeOfId(id)).toBeNull(),
  );
});
