// One profile, in whatever state it is.

import { useEffect } from 'preact/hooks';
import { dateTime, ms } from '../../core/format';
import { href } from '../../core/router';
import { timeOfId } from '../../core/url';
import type { ProfileMeta } from '../../model/types';
import { Dot, Empty, Failure, Loading, routeText, Unreachable } from '../../parts/bits';
import { isLive } from '../profiles/list';
import { PhaseStrip } from './axis';
import { Header, Crumbs } from './header';
import { useMeta } from './load';
import { Changes } from './side';
import { Work } from './work';

export function ProfileScreen({ id }: { id: string }) {
  const { meta, error, set, reload } = useMeta(id);
  useEffect(() => {
    document.title = meta
      ? `${routeText(meta)}${meta.duration_ms ? `, ${ms(meta.duration_ms)}` : ''} - flamegate`
      : 'Profile - flamegate';
  }, [meta]);
  if (error?.status === 404)
    return (
      <>
        <Crumbs id={id} />
        <Gone id={id} />
      </>
    );
  if (error && !meta && !error.unreachable)
    return (
      <>
        <Crumbs id={id} />
        <Failure error={error} retry={reload} />
      </>
    );
  return (
    <>
      {error && <Unreachable error={error} at={0} retry={reload} every={15} />}
      {!meta && !error && <Loading what="the profile" />}
      {meta && <Header meta={meta} set={set} />}
      {meta && <Body meta={meta} />}
    </>
  );
}

function Body({ meta }: { meta: ProfileMeta }) {
  if (meta.state === 'stored' && meta.samples !== 0) return <Work meta={meta} />;
  return (
    <div class="work">
      <div class="left">
        <PhaseStrip meta={meta} />
        <div class="inset">
          {isLive(meta) && <Live meta={meta} />}
          {meta.state === 'failed' && <Failed meta={meta} />}
          {meta.state === 'stored' && <NoSamples meta={meta} />}
        </div>
      </div>
      <aside class="side" aria-label="Request">
        <Changes meta={meta} />
      </aside>
    </div>
  );
}

function Live({ meta }: { meta: ProfileMeta }) {
  const running = meta.state === 'running';
  return (
    <Empty
      title={
        <>
          <Dot kind="rec" /> {running ? 'The request is running' : 'Waiting for the agent'}
        </>
      }
    >
      <p role="status">
        {running
          ? 'The application has not finished its answer. This page follows by itself.'
          : 'The response is out; the agent sends its samples in the background, 60 s after the response at the latest. This page follows by itself.'}
      </p>
    </Empty>
  );
}

const kReasons: Record<string, string> = {
  'no-upload':
    'The agent acknowledged the request, but no samples came within 60 s after the response.',
  refused: 'The agent refused to profile this request.',
  oversized: 'The samples were larger than the limits allow.',
  undecodable: 'What the agent sent is not a profile that can be read.',
  'client-gone': 'The client went away before the response began.',
  'upstream-lost': 'The connection to the application broke.',
  store: 'The store did not take the profile.',
  'control-lost': 'The control process ended while the profile was on its way.',
};

function Failed({ meta }: { meta: ProfileMeta }) {
  const reason = meta.reason ?? 'failed';
  return (
    <Empty
      title="The profile did not arrive"
      actions={
        <a class="btn" href={href('profiles', new URLSearchParams({ state: 'failed' }))}>
          All failed profiles
        </a>
      }
    >
      <p>
        Reason: <b>{reason}</b>. {kReasons[reason] ?? ''} The request itself was not affected; its
        timings are above.
      </p>
    </Empty>
  );
}

function NoSamples({ meta }: { meta: ProfileMeta }) {
  const every = (meta.interval_us ?? 1000) / 1000;
  return (
    <Empty title={`0 samples in ${ms(meta.duration_ms ?? 0)}`}>
      <p>
        Samples were due every {every} ms, and none fell into code that the agent sees. Ask again
        with <code>flamegraph_sample_rate=0.1</code> beside <code>pp=async-flamegraph</code> for ten
        times as many. Request timings are complete.
      </p>
    </Empty>
  );
}

function Gone({ id }: { id: string }) {
  const time = timeOfId(id);
  const around =
    time &&
    new URLSearchParams({
      from: String(time.getTime() - 300e3),
      to: String(time.getTime() + 300e3),
    });
  return (
    <Empty
      title={
        <>
          No profile <span class="mono break">{id}</span>
        </>
      }
      actions={
        around ? (
          <a class="btn main" href={href('profiles', around)}>
            Profiles around that time
          </a>
        ) : (
          <a class="btn main" href={href('profiles')}>
            All profiles
          </a>
        )
      }
    >
      <p>
        {time ? `Its id says ${dateTime(time.toISOString())}. ` : 'This is not the form of an id. '}
        Profiles are kept for a limited time; it may have been deleted or never arrived.
      </p>
    </Empty>
  );
}
