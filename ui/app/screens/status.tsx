// What the control process says about itself: agents, store, uploads.

import { useCallback, useEffect } from 'preact/hooks';
import { ago, bytes, count } from '../core/format';
import { useTicker } from '../core/resource';
import { loadStatus, status, statusError } from '../core/status';
import type { AgentStatus, Status, StoreStatus } from '../model/types';
import { Dot, Failure, Loading, Unreachable } from '../parts/bits';

const kRefreshMs = 5000;

export function StatusScreen() {
  const refresh = useCallback(() => loadStatus(), []);
  useEffect(() => void loadStatus(), []);
  useTicker(kRefreshMs, refresh);
  const error = statusError.value;
  const known = status.value;
  if (error && !known && !error.unreachable)
    return <Failure error={error} retry={() => void loadStatus()} />;
  return (
    <>
      <h1>Status</h1>
      {error && <Unreachable error={error} at={0} retry={() => void loadStatus()} every={15} />}
      {!known && !error && <Loading what="the status" />}
      {known && (
        <div class="cols">
          <div>
            <Agents agents={known.agents ?? []} />
            <Work known={known} />
          </div>
          <div class="right">
            {known.store && <Store store={known.store} />}
            <You known={known} />
          </div>
        </div>
      )}
    </>
  );
}

function Agents({ agents }: { agents: AgentStatus[] }) {
  return (
    <section class="sect">
      <h2>
        Agents <small>{count(agents.length)} seen</small>
      </h2>
      {agents.length === 0 && (
        <p class="sec">
          None yet. Give the application <code>FLAMEGATE_SECRET_FILE</code>, load the agent and
          restart it.
        </p>
      )}
      {agents.length > 0 && (
        <table class="flush">
          <thead>
            <tr>
              <th>Host</th>
              <th>Agent</th>
              <th class="opt">Service</th>
              <th class="num">Started</th>
              <th class="num opt">Refused</th>
              <th class="num opt">Uploads</th>
              <th class="num">Last seen</th>
            </tr>
          </thead>
          <tbody>
            {agents.map((agent) => (
              <tr>
                <td class="mono">{agent.host ?? ''}</td>
                <td>
                  {agent.agent}, {agent.runtime}
                </td>
                <td class="sec opt">{agent.service}</td>
                <td class="num">{count(agent.started)}</td>
                <td class="num opt">
                  {count(agent.refused)}{' '}
                  {agent.latest_refusal && <span class="u">{agent.latest_refusal}</span>}
                </td>
                <td class="num opt">{count(agent.uploads)}</td>
                <td class="num sec">{ago(agent.last_seen)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Rows({ values }: { values: Record<string, number> | undefined }) {
  return (
    <dl class="dl">
      {Object.entries(values ?? {}).map(([name, value]) => (
        <>
          <dt>{name.replace(/_/g, ' ')}</dt>
          <dd>{count(value)}</dd>
        </>
      ))}
    </dl>
  );
}

function Work({ known }: { known: Status }) {
  const { uploads } = known;
  return (
    <section class="sect">
      <h2>
        Captures and uploads <small>since control started</small>
      </h2>
      <div class="threes">
        <div>
          <h3>Captures</h3>
          <Rows values={known.captures} />
        </div>
        <div>
          <h3>Uploads by answer</h3>
          <Rows values={uploads?.answers} />
          {uploads?.bytes !== undefined && <p class="u">{bytes(uploads.bytes)} received</p>}
        </div>
        <div>
          <h3>Queue</h3>
          <Rows values={known.queue} />
        </div>
      </div>
    </section>
  );
}

export function Store({ store }: { store: StoreStatus }) {
  const evicted = store.evicted;
  return (
    <section class="sect">
      <h2>
        Storage <small>{store.kind}</small>
      </h2>
      <dl class="dl">
        <dt>state</dt>
        <dd>
          {store.available ? (
            <>
              <Dot kind="on" /> available
            </>
          ) : (
            <span class="danger">
              <Dot kind="bad" /> away{store.trouble && `: ${store.trouble}`}
            </span>
          )}
        </dd>
        {store.profiles !== undefined && (
          <>
            <dt>profiles</dt>
            <dd>
              {count(store.profiles)}
              {store.pinned ? <span class="u"> {count(store.pinned)} pinned</span> : null}
            </dd>
          </>
        )}
        {store.bytes !== undefined && (
          <>
            <dt>size</dt>
            <dd>{bytes(store.bytes)}</dd>
          </>
        )}
        {store.oldest && (
          <>
            <dt>oldest kept</dt>
            <dd>{ago(store.oldest)}</dd>
          </>
        )}
        {evicted && (
          <>
            <dt>evicted</dt>
            <dd>
              {count(evicted.age ?? 0)} by age, {count(evicted.bytes ?? 0)} by size,{' '}
              {count(evicted.count ?? 0)} by number
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

export function You({ known }: { known: Status }) {
  return (
    <section class="sect">
      <h2>This console</h2>
      <dl class="dl">
        <dt>your rights</dt>
        <dd>{known.rights?.join(', ') || 'none'}</dd>
        {known.name && (
          <>
            <dt>known as</dt>
            <dd>{known.name}</dd>
          </>
        )}
        {known.version && (
          <>
            <dt>version</dt>
            <dd>{known.version}</dd>
          </>
        )}
      </dl>
    </section>
  );
}
