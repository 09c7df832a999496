// What the list is restricted to.

import { useEffect, useState } from 'preact/hooks';
import { getJson } from '../../core/api';
import { count } from '../../core/format';
import { formatListView, type FilterKey, type Filters, type ListView } from '../../core/url';
import type { ProfileMeta, ProfilePage } from '../../model/types';

type Change = (filters: Filters) => void;

const kChoices: { key: FilterKey; title: string; values: string[] }[] = [
  { key: 'status', title: 'Status', values: ['2xx', '3xx', '4xx', '5xx'] },
  {
    key: 'trigger',
    title: 'Trigger',
    values: ['query', 'header', 'referer', 'session', 'campaign', 'path', 'slow'],
  },
  { key: 'state', title: 'State', values: ['stored', 'failed', 'running', 'waiting'] },
];

const kTexts: {
  key: FilterKey;
  title: string;
  hint: string;
  seen: (meta: ProfileMeta) => string | undefined;
}[] = [
  { key: 'route', title: 'Route', hint: 'GET /cart/:id', seen: (meta) => meta.route },
  { key: 'host', title: 'Host', hint: 'any', seen: (meta) => meta.host },
  { key: 'service', title: 'Service', hint: 'any', seen: (meta) => meta.service },
];

export function FilterPanel({
  filters,
  rows,
  open,
  change,
}: {
  filters: Filters;
  rows: ProfileMeta[];
  open: boolean;
  change: Change;
}) {
  const set = (key: FilterKey, value: string) => change({ ...filters, [key]: value || undefined });
  return (
    <form
      id="filters"
      class={`facets${open ? ' open' : ''}`}
      aria-label="Filters"
      onSubmit={(event) => event.preventDefault()}
    >
      <div class="h">
        <h2>Filters</h2>
        <span class="end">
          {activeCount(filters) > 0 && (
            <button class="link" type="button" onClick={() => change({ q: filters.q })}>
              Clear
            </button>
          )}
        </span>
      </div>
      <MinimumField value={filters.min_ms ?? ''} set={(value) => set('min_ms', value)} />
      {kTexts.map(({ key, title, hint, seen }) => (
        <label class="field">
          <span>{title}</span>
          <input
            class="in"
            value={filters[key] ?? ''}
            placeholder={hint}
            list={`seen-${key}`}
            onChange={(event) => set(key, event.currentTarget.value.trim())}
          />
          <datalist id={`seen-${key}`}>
            {distinct(rows, seen).map((value) => (
              <option value={value} />
            ))}
          </datalist>
        </label>
      ))}
      {kChoices.map(({ key, title, values }) => (
        <Choice
          name={key}
          title={title}
          values={values}
          value={filters[key] ?? ''}
          set={(value) => set(key, value)}
        />
      ))}
    </form>
  );
}

function MinimumField({ value, set }: { value: string; set: (value: string) => void }) {
  const [bad, setBad] = useState(false);
  const check = (text: string) => {
    const fits = text === '' || (Number.isFinite(Number(text)) && Number(text) >= 0);
    setBad(!fits);
    if (fits) set(text);
  };
  return (
    <label class="field">
      <span>Total, at least</span>
      <span class="unit">
        <input
          class={`in${bad ? ' bad' : ''}`}
          inputMode="decimal"
          value={value}
          placeholder="0"
          aria-invalid={bad}
          aria-describedby="min-ms-error"
          onChange={(event) => check(event.currentTarget.value.trim())}
        />
        <span class="u">ms</span>
      </span>
      <span class="danger" id="min-ms-error">
        {bad && 'This is not a number of milliseconds.'}
      </span>
    </label>
  );
}

function Choice({
  name,
  title,
  values,
  value,
  set,
}: {
  name: string;
  title: string;
  values: string[];
  value: string;
  set: (value: string) => void;
}) {
  // A value that only a link can name is listed with the others.
  const all = value && !values.includes(value) ? [...values, value] : values;
  return (
    <fieldset>
      <legend>{title}</legend>
      <ul>
        {['', ...all].map((choice) => (
          <li>
            <label>
              <input
                type="radio"
                name={name}
                checked={value === choice}
                onChange={() => set(choice)}
              />
              <span>{choice || 'any'}</span>
            </label>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}

function distinct(rows: ProfileMeta[], pick: (meta: ProfileMeta) => string | undefined): string[] {
  return [...new Set(rows.map(pick).filter((value): value is string => !!value))].sort();
}

export function activeCount(filters: Filters): number {
  return Object.values(filters).filter(Boolean).length;
}

export function filterText(key: FilterKey, value: string): string {
  if (key === 'min_ms') return `at least ${value} ms`;
  if (key === 'q') return `text "${value}"`;
  return `${key} ${value}`;
}

// How many profiles would match without each of the active filters.
export function useDropCounts(
  view: ListView,
  wanted: boolean,
): { key: FilterKey; total: number }[] {
  const [counts, setCounts] = useState<{ key: FilterKey; total: number }[]>([]);
  const signature = formatListView(view).toString();
  useEffect(() => {
    setCounts([]);
    if (!wanted) return;
    const abort = new AbortController();
    const keys = Object.keys(view.filters) as FilterKey[];
    const ask = async (key: FilterKey) => {
      const rest = formatListView({ ...view, filters: { ...view.filters, [key]: undefined } });
      rest.set('limit', '1');
      const page = await getJson<ProfilePage>(`profiles?${rest}`, abort.signal);
      return { key, total: page.total };
    };
    Promise.all(keys.slice(0, 6).map(ask)).then(
      (all) => setCounts(all.filter(({ total }) => total > 0).sort((a, b) => b.total - a.total)),
      () => {},
    );
    return () => abort.abort();
  }, [signature, wanted]);
  return counts;
}

export function NearestFilters({ view, change }: { view: ListView; change: Change }) {
  const counts = useDropCounts(view, true);
  const drop = (key: FilterKey) => change({ ...view.filters, [key]: undefined });
  return (
    <>
      {counts.slice(0, 3).map(({ key, total }, i) => (
        <button class={i === 0 ? 'btn main' : 'btn'} type="button" onClick={() => drop(key)}>
          Drop {filterText(key, view.filters[key]!)} <span>({count(total)})</span>
        </button>
      ))}
      <button class="btn" type="button" onClick={() => change({})}>
        Clear all
      </button>
    </>
  );
}
