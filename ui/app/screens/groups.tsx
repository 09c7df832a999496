// Routes or hosts: how many profiles there are of each, and how long those requests took.

import { useEffect, useState } from 'preact/hooks';
import { getJson } from '../core/api';
import { ago, count, figure } from '../core/format';
import { useResource } from '../core/resource';
import { go, href } from '../core/router';
import type { GroupKey } from '../core/url';
import type { Group } from '../model/types';
import { Empty, Failure, Loading, SortHead, Unreachable } from '../parts/bits';
import { FirstProfile } from '../parts/first';

const kTitles: Record<GroupKey, string> = { route: 'Routes', host: 'Hosts' };
const kRetryS = 15;

export function Groups({ by }: { by: GroupKey }) {
  const member = `${by}s` as const;
  const groups = useResource(member, (abort) => getJson<Record<string, Group[]>>(member, abort));
  const [sort, setSort] = useState('-profiles');
  const [text, setText] = useState('');
  const all = groups.data?.[member];
  const rows = all
    ?.filter((group) => group.name.toLowerCase().includes(text.toLowerCase()))
    .sort(orderBy(sort));
  return (
    <>
      <div class="h">
        <h1>{kTitles[by]}</h1>
        {all && <small class="u">{count(all.length)}, of profiled requests only</small>}
        <span class="end">
          <a href={href(by === 'route' ? 'hosts' : 'routes')}>
            {by === 'route' ? 'Hosts' : 'Routes'}
          </a>
        </span>
      </div>
      {groups.error &&
        (groups.error.unreachable ? (
          <Unreachable error={groups.error} at={groups.at} retry={groups.reload} every={kRetryS} />
        ) : (
          <Failure error={groups.error} retry={groups.reload} />
        ))}
      {!all && !groups.error && <Loading what={member} />}
      {all?.length === 0 && <FirstProfile />}
      {all && all.length > 0 && (
        <label class="find">
          <span class="vh">Search {member}</span>
          <input
            class="in"
            type="search"
            placeholder={`Part of a ${by}`}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
      )}
      {rows && rows.length > 0 && <GroupTable by={by} rows={rows} sort={sort} setSort={setSort} />}
      {all && all.length > 0 && rows?.length === 0 && <Empty title={`No ${by} matches`} />}
    </>
  );
}

function GroupTable({
  by,
  rows,
  sort,
  setSort,
}: {
  by: GroupKey;
  rows: Group[];
  sort: string;
  setSort: (sort: string) => void;
}) {
  const head = (name: string, title: string, unit?: string) => (
    <SortHead name={name} title={title} unit={unit} sort={sort} set={setSort} style="num" />
  );
  return (
    <table class="flush groups">
      <thead>
        <tr>
          <th scope="col">{by === 'route' ? 'Route' : 'Host'}</th>
          {head('profiles', 'Profiles')}
          <th scope="col" class="num opt">
            Failed
          </th>
          {head('mean_ms', 'Mean', 'ms')}
          {head('max_ms', 'Longest', 'ms')}
          <SortHead name="latest" title="Latest" sort={sort} set={setSort} style="num opt" />
        </tr>
      </thead>
      <tbody>
        {rows.map((group) => (
          <tr key={group.name}>
            <td class="r">
              <a class="quiet" href={href('profiles', new URLSearchParams({ [by]: group.name }))}>
                {group.name || '(unknown)'}
              </a>
            </td>
            <td class="num">{count(group.profiles)}</td>
            <td class="num opt">
              {group.profiles > group.stored ? (
                count(group.profiles - group.stored)
              ) : (
                <span class="u">none</span>
              )}
            </td>
            <td class="num">{figure(group.mean_ms)}</td>
            <td class="num">{figure(group.max_ms)}</td>
            <td class="num sec opt">{ago(group.latest)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function orderBy(sort: string): (a: Group, b: Group) => number {
  const key = sort.replace('-', '') as keyof Group;
  const sign = sort.startsWith('-') ? -1 : 1;
  return (a, b) =>
    sign * (a[key] > b[key] ? 1 : a[key] < b[key] ? -1 : 0) || a.name.localeCompare(b.name);
}

// One route or host is the list of its profiles.
export function OneGroup({ by, name }: { by: GroupKey; name: string }) {
  useEffect(() => go(href('profiles', new URLSearchParams({ [by]: name })), 'replace'), [by, name]);
  return null;
}
