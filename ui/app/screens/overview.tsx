// The newest profiles, and the switch that records this visitor's next requests.

import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { asApiError, getJson, send } from '../core/api';
import { ago, clock, count, duration, figure } from '../core/format';
import { useResource, useTicker } from '../core/resource';
import { href, profileHref } from '../core/router';
import { rights, status, statusError } from '../core/status';
import type { AgentStatus, ProfilePage, Session } from '../model/types';
import {
  Dot,
  Failure,
  Loading,
  RouteName,
  StateText,
  statusClass,
  Unreachable,
} from '../parts/bits';
import { FirstProfile } from '../parts/first';
import { isLive } from './profiles/list';
import { Store, You } from './status';

const kNewest = 12;
const kNewestPath = `profiles?limit=${kNewest}`;
const kSlowest = 6;
const kDayMs = 24 * 3600e3;
const kRefreshMs = 3000;
const kRetryS = 15;

export function Overview() {
  const newest = useResource(kNewestPath, (abort) => getJson<ProfilePage>(kNewestPath, abort));
  const [page, setPage] = useState<ProfilePage | null>(null);
  useEffect(() => setPage(newest.data), [newest.data]);
  const refresh = useCallback(
    async (abort: AbortSignal) => setPage(await getJson<ProfilePage>(kNewestPath, abort)),
    [],
  );
  useTicker(newest.data ? kRefreshMs : null, refresh);
  if (newest.error && !page && !newest.error.unreachable)
    return <Failure error={newest.error} retry={newest.reload} />;
  return (
    <>
      <h1 class="vh">Overview</h1>
      {newest.error && (
        <Unreachable error={newest.error} at={newest.at} retry={newest.reload} every={kRetryS} />
      )}
      <div class="cols">
        <div>
          <section class="sect">
            <h2>
              Newest profiles{' '}
              {page && (
                <small>
                  {count(page.profiles.length)} of {count(page.total)}
                </small>
              )}
              <span class="end">
                <a href={href('profiles')}>All profiles</a>
              </span>
            </h2>
            {!page && !newest.error && <Loading what="profiles" />}
            {page && (page.profiles.length > 0 ? <ShortTable page={page} /> : <FirstProfile />)}
          </section>
          {page && page.profiles.length > 0 && <Slowest />}
        </div>
        <div class="right">
          <SessionBox />
          <StatusBoxes />
        </div>
      </div>
    </>
  );
}

// Asked once: what was slow does not change by the second.
function Slowest() {
  const from = useMemo(() => String(Date.now() - kDayMs), []);
  const query = new URLSearchParams({ sort: '-duration_ms', from });
  const path = `profiles?${query}&limit=${kSlowest}`;
  const slowest = useResource(path, (abort) => getJson<ProfilePage>(path, abort));
  // With fewer, the newest are all there is.
  if (!slowest.data || slowest.data.total <= kNewest) return null;
  return (
    <section class="sect">
      <h2>
        Slowest of the last 24 h{' '}
        <small>
          {count(slowest.data.profiles.length)} of {count(slowest.data.total)}
        </small>
        <span class="end">
          <a href={href('profiles', query)}>All, slowest first</a>
        </span>
      </h2>
      <ShortTable page={slowest.data} />
    </section>
  );
}

function ShortTable({ page }: { page: ProfilePage }) {
  return (
    <table class="flush newest">
      <thead class="vh">
        <tr>
          <th>Started</th>
          <th>Route</th>
          <th>Status</th>
          <th>Trigger</th>
          <th>Total</th>
        </tr>
      </thead>
      <tbody>
        {page.profiles.map((meta) => (
          <tr key={meta.id}>
            <td class="nw sec">{meta.started_at && clock(new Date(meta.started_at), false)}</td>
            <td class="r">
              <a class="quiet" href={profileHref(meta.id)}>
                <RouteName meta={meta} />
              </a>
            </td>
            <td class={`num opt ${statusClass(meta.status)}`}>{meta.status}</td>
            <td class="sec opt">{meta.trigger}</td>
            <td class="num">
              {isLive(meta) || meta.state === 'failed' ? (
                <StateText meta={meta} />
              ) : (
                `${figure(meta.duration_ms ?? 0)} ms`
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const kSessionKey = 'flamegate-session';
const kMinutes = 15;

// The cookie itself is out of a script's reach; what the server said about it is kept beside it.
function storedSession(): Session | null {
  try {
    const session = JSON.parse(sessionStorage.getItem(kSessionKey) ?? 'null') as Session | null;
    return session && Date.parse(session.expires_at) > Date.now() ? session : null;
  } catch {
    return null;
  }
}

function storeSession(session: Session | null): void {
  try {
    if (session) sessionStorage.setItem(kSessionKey, JSON.stringify(session));
    else sessionStorage.removeItem(kSessionKey);
  } catch {
    // Without storage the countdown is lost when the page is left; the session is not.
  }
}

function SessionBox() {
  const [session, setSession] = useState(storedSession);
  const [failure, setFailure] = useState('');
  const [busy, setBusy] = useState(false);
  const [, setNow] = useState(0);
  useEffect(() => {
    if (!session) return;
    const timer = setInterval(
      () => (Date.parse(session.expires_at) > Date.now() ? setNow(Date.now()) : setSession(null)),
      1000,
    );
    return () => clearInterval(timer);
  }, [session]);
  const act = async (work: () => Promise<Session | null>) => {
    setBusy(true);
    try {
      const next = await work();
      storeSession(next);
      setSession(next);
      setFailure('');
    } catch (error) {
      setFailure(asApiError(error).message);
    }
    setBusy(false);
  };
  const start = () => act(() => send<Session>('POST', 'session', { minutes: kMinutes }));
  const stop = () => act(async () => (await send('DELETE', 'session'), null));
  const allowed = rights.value.has('trigger');
  return (
    <section class="sect">
      <h2>Record this session</h2>
      {session ? (
        <p>
          <Dot kind="rec" /> recording,{' '}
          {duration((Date.parse(session.expires_at) - Date.now()) / 1000)} left{' '}
          <span class="u">at most {count(session.requests)} requests</span>
        </p>
      ) : (
        <p class="sec">
          Every page and API call of this browser is profiled for {kMinutes} minutes. Scripts,
          styles, fonts and images are left out.
        </p>
      )}
      <div class="row">
        {!session && (
          <button
            class="btn main"
            type="button"
            disabled={!allowed || busy}
            onClick={() => void start()}
          >
            Record {kMinutes} min
          </button>
        )}
        <button class="btn" type="button" disabled={!allowed || busy} onClick={() => void stop()}>
          Stop recording
        </button>
        {!allowed && status.value && (
          <span class="dim">
            needs the right <code>trigger</code>
          </span>
        )}
      </div>
      {failure && (
        <p class="danger" role="alert">
          {failure}
        </p>
      )}
    </section>
  );
}

function StatusBoxes() {
  const known = status.value;
  if (!known)
    return (
      <section class="sect">
        <p class="dim">{statusError.value ? 'The status could not be read.' : ''}</p>
      </section>
    );
  return (
    <>
      <AgentsBox agents={known.agents ?? []} />
      {known.store && <Store store={known.store} />}
      <You known={known} />
    </>
  );
}

const kAgentsListed = 6;

function AgentsBox({ agents }: { agents: AgentStatus[] }) {
  return (
    <section class="sect">
      <h2>
        Agents <small>{count(agents.length)} seen</small>
        <span class="end">
          <a href={href('status')}>Status</a>
        </span>
      </h2>
      {agents.length === 0 && <p class="dim">None has answered yet.</p>}
      <dl class="dl agents">
        {agents.slice(0, kAgentsListed).map((agent) => (
          <>
            <dt class="mono">{agent.host ?? agent.service}</dt>
            <dd>
              {agent.agent}, {agent.runtime}
            </dd>
            <dd class="dim nw">{ago(agent.last_seen)}</dd>
          </>
        ))}
      </dl>
    </section>
  );
}
