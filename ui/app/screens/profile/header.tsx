// Which request this is, and what can be done with its profile.

import { useState } from 'preact/hooks';
import { apiUrl, asApiError, send } from '../../core/api';
import { bytes, count, dateTime, interval, ms } from '../../core/format';
import { useKeys } from '../../core/keys';
import { go, href, profileHref } from '../../core/router';
import { rights } from '../../core/status';
import type { ProfileMeta } from '../../model/types';
import { Fact, Keycap, routeText, StateText, statusClass } from '../../parts/bits';
import { Dialog } from '../../parts/shell';
import { isLive, lastListed } from '../profiles/list';

export function Header({ meta, set }: { meta: ProfileMeta; set: (meta: ProfileMeta) => void }) {
  return (
    <>
      <Crumbs id={meta.id} />
      <div class="head">
        <div>
          <h1>{routeText(meta)}</h1>
          <MainFacts meta={meta} />
        </div>
        <Actions meta={meta} set={set} />
      </div>
      <MoreFacts meta={meta} />
    </>
  );
}

export function Crumbs({ id }: { id: string }) {
  const at = lastListed.indexOf(id);
  const before = at > 0 ? lastListed[at - 1] : undefined;
  const after = at >= 0 ? lastListed[at + 1] : undefined;
  useKeys([
    {
      key: 'p',
      says: 'previous profile of the list',
      when: () => !!before,
      run: () => go(profileHref(before!)),
    },
    {
      key: 'n',
      says: 'next profile of the list',
      when: () => !!after,
      run: () => go(profileHref(after!)),
    },
  ]);
  return (
    <nav class="crumbs" aria-label="Position in the list">
      <a href={href('profiles')}>Profiles</a>
      <span>/</span>
      <span class="mono">{id}</span>
      {at >= 0 && (
        <span>
          {count(at + 1)} of {count(lastListed.length)} in this list
        </span>
      )}
      <span class="wide">
        {before && (
          <a href={profileHref(before)}>
            Previous <Keycap>p</Keycap>
          </a>
        )}{' '}
        {after && (
          <a href={profileHref(after)}>
            Next <Keycap>n</Keycap>
          </a>
        )}
      </span>
    </nav>
  );
}

function MainFacts({ meta }: { meta: ProfileMeta }) {
  const due = meta.ticks?.expected;
  return (
    <dl class="facts big">
      {meta.state !== 'stored' && (
        <Fact name="profile">
          <StateText meta={meta} />
        </Fact>
      )}
      {meta.status !== undefined && (
        <Fact name="status">
          <span class={statusClass(meta.status)}>{meta.status}</span>
        </Fact>
      )}
      {meta.duration_ms !== undefined && (
        <Fact name="total">
          <b>{ms(meta.duration_ms)}</b>
        </Fact>
      )}
      {meta.upstream_ms !== undefined && <Fact name="upstream">{ms(meta.upstream_ms)}</Fact>}
      {meta.cpu_ms !== undefined && <Fact name="CPU">{ms(meta.cpu_ms)}</Fact>}
      {meta.samples !== undefined && (
        <Fact name="samples">
          {count(meta.samples)}{' '}
          <span class="u">
            {[
              due !== undefined && `of ${count(due)} due`,
              meta.mode,
              meta.interval_us && `every ${interval(meta.interval_us)}`,
            ]
              .filter(Boolean)
              .join(', ')}
          </span>
        </Fact>
      )}
    </dl>
  );
}

function MoreFacts({ meta }: { meta: ProfileMeta }) {
  const agent = [meta.agent, meta.runtime, meta.pid && `pid ${meta.pid}`]
    .filter(Boolean)
    .join(', ');
  return (
    <dl class="facts">
      {meta.started_at && <Fact name="started">{dateTime(meta.started_at)}</Fact>}
      {(meta.site || meta.path) && (
        <Fact name="address">
          <span class="break">
            {meta.site}
            {meta.path}
          </span>
        </Fact>
      )}
      {meta.host && <Fact name="host">{meta.host}</Fact>}
      {meta.service && <Fact name="service">{meta.service}</Fact>}
      {meta.trigger && <Fact name="trigger">{meta.trigger}</Fact>}
      {agent && <Fact name="agent">{agent}</Fact>}
    </dl>
  );
}

const kFormats: { format: string; title: string; note: string }[] = [
  { format: 'pprof', title: 'pprof', note: 'go tool pprof' },
  { format: 'speedscope', title: 'speedscope', note: 'speedscope.app' },
  { format: 'collapsed', title: 'collapsed stacks', note: 'flamegraph.pl' },
  { format: 'svg', title: 'SVG', note: 'a picture' },
  { format: 'chrome', title: 'Chrome trace', note: 'Perfetto' },
  { format: 'cpuprofile', title: 'cpuprofile', note: 'DevTools' },
  { format: 'callgrind', title: 'callgrind', note: 'KCachegrind' },
  { format: 'json', title: 'JSON', note: 'columns' },
];

export function downloadUrl(id: string, format: string): string {
  return apiUrl(`profiles/${encodeURIComponent(id)}/download?format=${format}`);
}

function Actions({ meta, set }: { meta: ProfileMeta; set: (meta: ProfileMeta) => void }) {
  const [said, setSaid] = useState('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      setSaid('Link copied');
    } catch {
      setSaid('The browser refused the clipboard');
    }
    setTimeout(() => setSaid(''), 2500);
  };
  useKeys([{ key: '.', says: 'copy the link', run: () => void copy() }]);
  return (
    <div class="end">
      <span class={said ? 'sec said' : 'vh'} role="status">
        {said}
      </span>
      {rights.value.has('manage') && !isLive(meta) && <Manage meta={meta} set={set} />}
      {meta.state === 'stored' && <Export meta={meta} />}
      <button class="btn" type="button" onClick={() => void copy()}>
        Copy link <Keycap>.</Keycap>
      </button>
    </div>
  );
}

function Export({ meta }: { meta: ProfileMeta }) {
  const [open, setOpen] = useState(false);
  useKeys([
    { key: 'e', says: 'export', run: () => setOpen(!open) },
    { key: 'Escape', says: 'back one step', when: () => open, run: () => setOpen(false) },
  ]);
  return (
    <details class="drop" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="btn">
        Export <Keycap>e</Keycap>
      </summary>
      <ul onClick={() => setOpen(false)}>
        {kFormats.map(({ format, title, note }) => (
          <li>
            <a href={downloadUrl(meta.id, format)} download>
              {title}{' '}
              <span class="u">
                {format === 'pprof' && meta.bytes ? `${note}, ${bytes(meta.bytes)}` : note}
              </span>
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Manage({ meta, set }: { meta: ProfileMeta; set: (meta: ProfileMeta) => void }) {
  const [asking, setAsking] = useState(false);
  const [failure, setFailure] = useState('');
  const path = `profiles/${encodeURIComponent(meta.id)}`;
  const act = async (work: () => Promise<void>) => {
    try {
      await work();
      setFailure('');
    } catch (error) {
      setFailure(asApiError(error).message);
    }
  };
  const pinned = meta.pinned_until !== undefined;
  const pin = () =>
    act(async () => {
      const changed = await send<ProfileMeta>(pinned ? 'DELETE' : 'POST', `${path}/pin`);
      if (changed) set(changed);
    });
  const remove = () =>
    act(async () => {
      await send('DELETE', path);
      go(href('profiles'));
    });
  return (
    <>
      {failure && (
        <span class="danger said" role="alert">
          {failure}
        </span>
      )}
      <button
        class="btn"
        type="button"
        aria-pressed={pinned}
        title="A pinned profile is kept for 90 days"
        onClick={() => void pin()}
      >
        {pinned ? 'Pinned' : 'Pin'}
      </button>
      <button class="btn danger" type="button" onClick={() => setAsking(true)}>
        Delete
      </button>
      {asking && (
        <Dialog title="Delete this profile?" close={() => setAsking(false)}>
          <p>
            {routeText(meta)}, <span class="mono">{meta.id}</span>. It cannot be brought back.
          </p>
          <div class="row">
            <button
              class="btn danger"
              type="button"
              onClick={() => (setAsking(false), void remove())}
            >
              Delete the profile
            </button>
            <button class="btn" type="button" autofocus onClick={() => setAsking(false)}>
              Keep it
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
