// The list itself.

import { clock, count, figure } from '../../core/format';
import { profileHref } from '../../core/router';
import { PhaseBar, RouteName, SortHead, StateText, statusClass } from '../../parts/bits';
import type { ProfileMeta } from '../../model/types';
import { isLive } from './list';

export function ProfileTable({
  rows,
  sort,
  setSort,
}: {
  rows: ProfileMeta[];
  sort: string;
  setSort: (sort: string) => void;
}) {
  const scale = phaseScale(rows);
  return (
    <table class="profiles">
      <thead>
        <tr>
          <SortHead name="started_at" title="Started" unit="UTC" sort={sort} set={setSort} />
          <th scope="col">Route</th>
          <th scope="col" class="num">
            Status
          </th>
          <SortHead
            name="duration_ms"
            title="Total"
            unit="ms"
            sort={sort}
            set={setSort}
            style="num"
          />
          <th scope="col" class="p">
            <span class="u">0 to {scale >= 1000 ? `${scale / 1000} s` : `${scale} ms`}</span>
          </th>
          <th scope="col" class="num c">
            CPU <span class="u">ms</span>
          </th>
          <SortHead name="samples" title="Samples" sort={sort} set={setSort} style="num" />
          <th scope="col" class="hostc">
            Host
          </th>
          <th scope="col">Trigger</th>
          <th scope="col" class="i">
            Id
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((meta) => (
          <Row key={meta.id} meta={meta} scale={scale} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ meta, scale }: { meta: ProfileMeta; scale: number }) {
  const live = isLive(meta);
  const started = meta.started_at ? new Date(meta.started_at) : null;
  return (
    <tr>
      <td class="t nw sec" title={started?.toISOString()}>
        {started && (
          <>
            {clock(started, false)}
            <span class="frac">.{String(started.getUTCMilliseconds()).padStart(3, '0')}</span>
          </>
        )}
      </td>
      <td class="r">
        <a
          class="quiet"
          href={profileHref(meta.id)}
          title={[meta.site, meta.path].filter(Boolean).join('')}
        >
          <RouteName meta={meta} />
        </a>
      </td>
      <td class={`num s ${statusClass(meta.status)}`}>{meta.status}</td>
      <td class="num d">
        {live ? (
          <StateText meta={meta} />
        ) : (
          meta.duration_ms !== undefined && <span class="fig">{figure(meta.duration_ms)}</span>
        )}
      </td>
      <td class="p">{!live && <PhaseBar meta={meta} scale={scale} />}</td>
      <td class="num c">
        {meta.cpu_ms !== undefined && <span class="fig">{figure(meta.cpu_ms)}</span>}
      </td>
      <td class="num n">
        {meta.state === 'failed' ? (
          <StateText meta={meta} />
        ) : (
          meta.samples !== undefined && <span class="fig">{count(meta.samples)}</span>
        )}
      </td>
      <td class="hostc nw sec">{meta.host}</td>
      <td class="g sec">{meta.trigger}</td>
      <td class="i mono sec">{meta.id}</td>
    </tr>
  );
}

// A round length that nine in ten rows stay below; the others get an arrow.
export function phaseScale(rows: ProfileMeta[]): number {
  const durations = rows
    .map((row) => row.duration_ms ?? 0)
    .filter((ms) => ms > 0)
    .sort((a, b) => a - b);
  if (durations.length === 0) return 1000;
  const high = durations[Math.floor((durations.length - 1) * 0.9)];
  const power = 10 ** Math.floor(Math.log10(high));
  return (
    [1, 1.2, 1.5, 2, 3, 4, 5, 6, 8, 10]
      .map((step) => Math.round(step * power * 100) / 100)
      .find((step) => step >= high) ?? high
  );
}
