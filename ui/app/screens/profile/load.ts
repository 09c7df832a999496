// A profile's metadata and its data for drawing.

import { useEffect, useMemo, useState } from 'preact/hooks';
import { asApiError, getJson, isAbort, type ApiError } from '../../core/api';
import { useResource, type Resource } from '../../core/resource';
import { placeOnAxis } from '../../model/axis';
import { busiestThread, layOutTimeline, type Chart } from '../../model/chart';
import type { Frames } from '../../model/frames';
import { layOutTree } from '../../model/merged';
import { Symbols } from '../../model/symbols';
import type { ProfileMeta, TimelineAnswer, TreeAnswer } from '../../model/types';
import { isLive } from '../profiles/list';

const kRetryMs = 5000;
const kNodes = 20_000; // of the merged graph; the server folds the smallest

export interface LoadedMeta {
  meta: ProfileMeta | null;
  error: ApiError | null;
  set: (meta: ProfileMeta) => void;
  reload: () => void;
}

// Follows a live profile until it is settled; the server holds each answer for up to five seconds.
export function useMeta(id: string): LoadedMeta {
  const [meta, setMeta] = useState<ProfileMeta | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [round, setRound] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    const path = `profiles/${encodeURIComponent(id)}`;
    const follow = async () => {
      let wait = '';
      while (!abort.signal.aborted) {
        const began = Date.now();
        const now = await getJson<ProfileMeta>(path + wait, abort.signal);
        setMeta(now);
        setError(null);
        if (!isLive(now)) return;
        // A server that does not hold answers must not be asked in a tight loop.
        if (wait && Date.now() - began < 1000) await pause(1000, abort.signal);
        wait = '?wait=5s';
      }
    };
    const keepFollowing = async () => {
      while (!abort.signal.aborted) {
        try {
          return await follow();
        } catch (failure) {
          if (abort.signal.aborted || isAbort(failure)) return;
          setError(asApiError(failure));
          if (!asApiError(failure).unreachable) return;
          await pause(kRetryMs, abort.signal);
        }
      }
    };
    void keepFollowing();
    return () => abort.abort();
  }, [id, round]);
  return { meta, error, set: setMeta, reload: () => setRound((n) => n + 1) };
}

function pause(ms: number, abort: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    abort.addEventListener('abort', () => (clearTimeout(timer), done()), { once: true });
  });
}

export interface Merged {
  answer: TreeAnswer;
  frames: Frames;
  unit: string;
}

export function useTree(
  meta: ProfileMeta,
  value: string,
): Resource<TreeAnswer> & { merged: Merged | null } {
  const query = new URLSearchParams({ nodes: String(kNodes) });
  if (value) query.set('value', value);
  const path = `profiles/${encodeURIComponent(meta.id)}/tree?${query}`;
  const tree = useResource(path, (abort) => getJson<TreeAnswer>(path, abort));
  const merged = useMemo(() => {
    const answer = tree.data;
    if (!answer) return null;
    const unit = answer.units[answer.types.indexOf(answer.value)] ?? 'nanoseconds';
    return {
      answer,
      unit,
      frames: layOutTree(answer, symbolsOf(answer, meta)),
    };
  }, [tree.data]);
  return { ...tree, merged };
}

function symbolsOf(answer: TreeAnswer | TimelineAnswer, meta: ProfileMeta): Symbols {
  return new Symbols(answer.strings, answer.functions, meta.service);
}

export interface Timed {
  answer: TimelineAnswer;
  thread: number;
  chart: Chart;
  // False: the clocks of proxy and application disagree, so the chart begins where the application
  // got the request.
  clocksAgree: boolean;
}

export function useTimeline(
  meta: ProfileMeta,
  thread: number | null,
  wanted: boolean,
): Resource<TimelineAnswer> & { timed: Timed | null } {
  const path = `profiles/${encodeURIComponent(meta.id)}/timeline`;
  const timeline = useResource(wanted ? path : null, (abort) =>
    getJson<TimelineAnswer>(path, abort),
  );
  const symbols = useMemo(
    () => timeline.data && symbolsOf(timeline.data, meta),
    [timeline.data, meta.service],
  );
  const timed = useMemo(() => {
    const answer = timeline.data;
    if (!answer || !symbols || answer.threads.length === 0) return null;
    const chosen =
      thread !== null && thread < answer.threads.length ? thread : busiestThread(answer);
    const placed = placeOnAxis(meta, answer);
    const chart = layOutTimeline(answer, answer.threads[chosen], symbols, placed);
    return { answer, thread: chosen, chart, clocksAgree: placed.clocksAgree };
  }, [timeline.data, symbols, thread, meta]);
  return { ...timeline, timed };
}
