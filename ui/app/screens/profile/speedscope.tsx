// The same profile in the embedded speedscope. It does not check its own download, so this does.

import { getJson } from '../../core/api';
import { useResource } from '../../core/resource';
import { prefix } from '../../core/router';
import type { ProfileMeta } from '../../model/types';
import { Failure, Loading, routeText } from '../../parts/bits';
import { downloadUrl } from './header';

export function Speedscope({ meta, threads }: { meta: ProfileMeta; threads: number | undefined }) {
  const path = `profiles/${encodeURIComponent(meta.id)}`;
  const check = useResource(path, (abort) => getJson<ProfileMeta>(path, abort));
  if (check.error)
    return (
      <div class="inset">
        <Failure error={check.error} retry={check.reload} />
      </div>
    );
  if (check.data?.state !== 'stored')
    return (
      <div class="inset">
        <Loading what="speedscope" />
      </div>
    );
  return (
    <iframe
      class="speedscope"
      title="The profile in speedscope"
      src={speedscopeUrl(meta, threads)}
    />
  );
}

// A title would rename every thread, so it is given for a single one only.
function speedscopeUrl(meta: ProfileMeta, threads: number | undefined): string {
  const parts = [`profileURL=${encodeURIComponent(downloadUrl(meta.id, 'speedscope'))}`];
  if (threads === 1) parts.push(`title=${encodeURIComponent(routeText(meta))}`);
  return `${prefix}/speedscope/index.html#${parts.join('&')}`;
}
