// Small pieces that several screens share.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../core/api';
import { clock, duration } from '../core/format';
import { kPhases, phaseText } from '../model/phases';
import type { ProfileMeta } from '../model/types';

export function Keycap({ children }: { children: string }) {
  return <kbd aria-hidden="true">{children}</kbd>;
}

export type DotKind = 'on' | 'ring' | 'rec' | 'bad' | 'warn';

// Shape differs as well as colour.
export function Dot({ kind }: { kind: DotKind }) {
  return <span class={`dot ${kind}`} aria-hidden="true" />;
}

export function Empty({
  title,
  children,
  actions,
}: {
  title: ComponentChildren;
  children?: ComponentChildren;
  actions?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
      {actions && <div class="row">{actions}</div>}
    </div>
  );
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

// A request's method and label. The route names may already begin with the method.
export function RouteName({ meta }: { meta: ProfileMeta }) {
  const { method, path } = splitRoute(meta);
  return (
    <>
      {method && <span class="m">{method} </span>}
      {path}
    </>
  );
}

export function splitRoute(meta: ProfileMeta): { method: string; path: string } {
  const label = meta.route ?? meta.path ?? '(unknown)';
  const match = /^([A-Z]{2,16}) (.+)$/.exec(label);
  if (match) return { method: match[1], path: match[2] };
  return { method: meta.method ?? '', path: label };
}

export function routeText(meta: ProfileMeta): string {
  const { method, path } = splitRoute(meta);
  return method ? `${method} ${path}` : path;
}

// What a row or a header says in place of figures that are not there yet.
export function StateText({ meta }: { meta: ProfileMeta }) {
  if (meta.state === 'running')
    return (
      <>
        <Dot kind="rec" /> recording
      </>
    );
  if (meta.state === 'waiting')
    return (
      <>
        <Dot kind="rec" /> waiting for the agent
      </>
    );
  if (meta.state === 'failed') return <span class="danger">{meta.reason ?? 'failed'}</span>;
  return <>stored</>;
}

export function statusClass(status: number | undefined): string {
  if (status === undefined) return '';
  if (status >= 500) return 'danger';
  return status >= 400 ? 'warn' : '';
}

// A request's phases as a bar of `scale` milliseconds, with an arrow when it is longer.
export function PhaseBar({ meta, scale }: { meta: ProfileMeta; scale: number }) {
  const phases = meta.phases_ms;
  if (!phases || !(scale > 0)) return null;
  let left = scale;
  const parts = kPhases.map((phase) => {
    const width = Math.min(phases[phase.key] ?? 0, left);
    left -= width;
    return { phase, width };
  });
  const over = (meta.duration_ms ?? 0) > scale;
  return (
    <span class="phrow" role="img" aria-label={phaseText(meta)}>
      <span class="ph">
        {parts.map(
          ({ phase, width }) =>
            width > 0 && <i class={phase.style} style={{ width: `${(width / scale) * 100}%` }} />,
        )}
      </span>
      {over && <i class="over" />}
    </span>
  );
}

// The API does not answer: what is on the screen is old, and when it is tried again.
export function Unreachable({
  error,
  at,
  retry,
  every,
}: {
  error: ApiError;
  at: number;
  retry: () => void;
  every: number;
}) {
  const [left, setLeft] = useState(every);
  const again = useRef(retry);
  again.current = retry;
  useEffect(() => {
    setLeft(every);
    const timer = setInterval(() => setLeft((n) => n - 1), 1000);
    return () => clearInterval(timer);
  }, [error]);
  useEffect(() => {
    if (left <= 0) again.current();
  }, [left]);
  const since = at > 0 ? `What you see is ${duration((Date.now() - at) / 1000)} old. ` : '';
  const who =
    error.status === 0 ? 'The proxy does not answer.' : `Control does not answer (${error.code}).`;
  return (
    <p class="note e" role="alert">
      <span>
        <b>{who}</b> {since}Trying again in {Math.max(0, left)} s.
      </span>
      <button class="btn" type="button" onClick={retry}>
        Try now
      </button>
    </p>
  );
}

export function Failure({ error, retry }: { error: ApiError; retry?: () => void }) {
  if (error.status === 403) {
    return (
      <Empty title="No right to see this">
        <p>
          The proxy knows you, but your rules do not include <code>view</code>. Rules stand in the
          configuration under <code>profiling.access</code>.
        </p>
      </Empty>
    );
  }
  return (
    <Empty
      title={
        error.status === 400
          ? 'The proxy does not understand this address'
          : 'This could not be loaded'
      }
      actions={
        retry && (
          <button class="btn" type="button" onClick={retry}>
            Try again
          </button>
        )
      }
    >
      <p>
        {error.message}{' '}
        <span class="u">
          ({error.code}, {clock(new Date(), false)} UTC)
        </span>
      </p>
    </Empty>
  );
}

// Says "loading" only when it takes long enough to notice.
export function Loading({ what }: { what: string }) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p class="loading" role="status">
      {shown ? `Loading ${what} …` : ''}
    </p>
  );
}

// A column's head that sorts by it: falling first.
export function SortHead({
  name,
  title,
  unit,
  sort,
  set,
  style,
}: {
  name: string;
  title: string;
  unit?: string;
  sort: string;
  set: (sort: string) => void;
  style?: string;
}) {
  const down = sort === `-${name}`;
  const up = sort === name;
  const order = down ? 'descending' : up ? 'ascending' : undefined;
  return (
    <th scope="col" class={style} aria-sort={order}>
      <button class="sort" type="button" onClick={() => set(down ? name : `-${name}`)}>
        {title} {order && <span aria-hidden="true">{down ? '↓' : '↑'} </span>}
        {unit && <span class="u">{unit}</span>}
      </button>
    </th>
  );
}
