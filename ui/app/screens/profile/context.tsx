// The company of a profile: others of its route, and of the page it was loaded for.

import { getJson } from '../../core/api';
import { count, figure, ms } from '../../core/format';
import { useResource } from '../../core/resource';
import { href, profileHref } from '../../core/router';
import type { Group, ProfileMeta } from '../../model/types';
import { RouteName, routeText } from '../../parts/bits';
import { isLive } from '../profiles/list';

// What is not there, or does not answer, is left out: these boxes are an extra.
export function RouteBox({ meta }: { meta: ProfileMeta }) {
  const query = meta.route ? new URLSearchParams({ route: meta.route }) : null;
  const path = query && `routes?${query}`;
  const groups = useResource(path, (abort) => getJson<{ routes: Group[] }>(path!, abort));
  const group = groups.data?.routes.find(({ name }) => name === meta.route);
  if (!group || group.profiles < 2) return null;
  return (
    <section>
      <h2>
        This route <small>n = {count(group.profiles)} profiles</small>
      </h2>
      <div class="pair">
        <span class="sec">mean total</span>
        <span>{ms(group.mean_ms)}</span>
        <span class="sec">longest</span>
        <span>{ms(group.max_ms)}</span>
        {meta.duration_ms !== undefined && (
          <>
            <span class="sec">this request</span>
            <span>{ms(meta.duration_ms)}</span>
          </>
        )}
        <a href={href('profiles', query!)}>All of this route</a>
        <span />
      </div>
    </section>
  );
}

const kListed = 8;

export function PageviewBox({ meta }: { meta: ProfileMeta }) {
  const path = meta.pageview ? `pageviews/${encodeURIComponent(meta.pageview)}` : null;
  const view = useResource(path, (abort) => getJson<{ profiles: ProfileMeta[] }>(path!, abort));
  const others = view.data?.profiles ?? [];
  if (others.length < 2) return null;
  return (
    <section>
      <h2>
        Same page view <small>{count(others.length)} profiled</small>
      </h2>
      <div class="pair">
        {others.slice(0, kListed).map((other) => (
          <>
            <span class="clip">
              {other.id === meta.id ? (
                <b>{routeText(other)}</b>
              ) : (
                <a class="quiet" href={profileHref(other.id)}>
                  <RouteName meta={other} />
                </a>
              )}
            </span>
            <span>{isLive(other) ? 'recording' : figure(other.duration_ms ?? 0)}</span>
          </>
        ))}
        {others.length > kListed && <span class="dim">{count(others.length - kListed)} more</span>}
      </div>
    </section>
  );
}
