// One answer of the API, kept in step with what a component asks for.

import { useEffect, useState } from 'preact/hooks';
import { asApiError, isAbort, type ApiError } from './api';

export interface Resource<T> {
  data: T | null;
  error: ApiError | null;
  loading: boolean;
  // When `data` came; what is shown beside an error is as old as that.
  at: number;
  reload: () => void;
}

// Loads again whenever `key` changes; null loads nothing. The last data stay while their successor
// is on its way, unless the key's part before '?' changed.
export function useResource<T>(
  key: string | null,
  load: (abort: AbortSignal) => Promise<T>,
): Resource<T> {
  const [state, setState] = useState({
    key,
    data: null as T | null,
    error: null as ApiError | null,
    loading: key !== null,
    at: 0,
  });
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (key === null) return;
    const abort = new AbortController();
    setState((old) => ({
      ...old,
      key,
      data: sameThing(old.key, key) ? old.data : null,
      error: sameThing(old.key, key) ? old.error : null,
      loading: true,
    }));
    load(abort.signal).then(
      (data) =>
        !abort.signal.aborted &&
        setState({ key, data, error: null, loading: false, at: Date.now() }),
      (error) => {
        if (abort.signal.aborted || isAbort(error)) return;
        setState((old) => ({ ...old, error: asApiError(error), loading: false }));
      },
    );
    return () => abort.abort();
  }, [key, round]);
  const current = sameThing(state.key, key);
  return {
    data: current ? state.data : null,
    error: current ? state.error : null,
    loading: state.loading || !current,
    at: state.at,
    reload: () => setRound((n) => n + 1),
  };
}

function sameThing(a: string | null, b: string | null): boolean {
  return a?.split('?')[0] === b?.split('?')[0];
}

// Runs while the page is visible; the next round begins `every` ms after the last one ended.
export function useTicker(every: number | null, tick: (abort: AbortSignal) => Promise<void>): void {
  useEffect(() => {
    if (every === null) return;
    const abort = new AbortController();
    let timer = 0;
    const again = () => (timer = window.setTimeout(round, every));
    const round = async () => {
      if (!document.hidden) {
        try {
          await tick(abort.signal);
        } catch {
          // The next round tries again; screens show the state of their own data.
        }
      }
      if (!abort.signal.aborted) again();
    };
    again();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [every, tick]);
}
