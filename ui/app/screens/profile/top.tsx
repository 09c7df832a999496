// Every function with its self and total time: the readable form of the flame.

import { useMemo, useState } from 'preact/hooks';
import { count, percent, valueText } from '../../core/format';
import { shortPlace } from '../../model/symbols';
import { sumFunctions, type FunctionSum } from '../../model/top';
import { SortHead } from '../../parts/bits';
import type { Merged } from './load';
import { kOwnerStyles } from './detail';
import { widest } from './side';

interface Props {
  merged: Merged;
  mask: Uint8Array | null;
  fn: number;
  sort: string;
  setSort: (sort: string) => void;
  choose: (frame: string) => void;
}

const kPage = 200;
const kDefault = '-self';

const kOrders: Record<string, (a: FunctionSum, b: FunctionSum) => number> = {
  self: (a, b) => a.self - b.self,
  total: (a, b) => a.total - b.total,
  samples: (a, b) => a.samples - b.samples,
};

export function Top({ merged, mask, fn, sort, setSort, choose }: Props) {
  const [limit, setLimit] = useState(kPage);
  const sums = useMemo(() => sumFunctions(merged.frames), [merged]);
  const { symbols } = merged.frames;
  const order = sort || kDefault;
  const rows = useMemo(() => {
    const listed = mask ? sums.filter((sum) => sum.fn >= 0 && mask[sum.fn] === 1) : sums.slice();
    const name = order.replace('-', '');
    const compare =
      kOrders[name] ?? ((a, b) => symbols.name(b.fn).localeCompare(symbols.name(a.fn)));
    const sign = order.startsWith('-') ? -1 : 1;
    return listed.sort((a, b) => sign * compare(a, b) || b.total - a.total || a.fn - b.fn);
  }, [sums, mask, order]);
  const head = (name: string, title: string, style?: string) => (
    <SortHead name={name} title={title} style={style} sort={order} set={setSort} />
  );
  return (
    <div class="inset">
      <table class="flush tight top">
        <caption class="vh">
          Functions by time. Shares are of {valueText(merged.frames.span, merged.unit)}.
        </caption>
        <thead>
          <tr>
            {head('name', 'Function')}
            <th scope="col" class="opt">
              Place
            </th>
            {head('self', 'Self', 'num')}
            {head('total', 'Total', 'num')}
            {head('samples', 'Samples', 'num opt')}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, limit).map((sum) => (
            <TopRow
              key={sum.fn}
              sum={sum}
              merged={merged}
              selected={sum.fn === fn}
              choose={choose}
            />
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p class="dim">No function matches the search.</p>}
      <div class="foot">
        {rows.length > limit && (
          <button class="btn" type="button" onClick={() => setLimit(limit + kPage)}>
            {count(Math.min(kPage, rows.length - limit))} more
          </button>
        )}
        <span class="dim">
          showing {count(Math.min(limit, rows.length))} of {count(rows.length)} functions
        </span>
      </div>
    </div>
  );
}

function TopRow({
  sum,
  merged,
  selected,
  choose,
}: {
  sum: FunctionSum;
  merged: Merged;
  selected: boolean;
  choose: (frame: string) => void;
}) {
  const { symbols, span } = merged.frames;
  const cell = (value: number) => (
    <td class="num">
      <span class="fig">{valueText(value, merged.unit)}</span>{' '}
      <span class="u share">{percent(value, span)}</span>
    </td>
  );
  const place = symbols.place(sum.fn);
  return (
    <tr aria-selected={selected}>
      <td class="r">
        <span class={`sw ${sum.fn >= 0 ? kOwnerStyles[symbols.owner(sum.fn)] : ''}`} />{' '}
        <button
          class="link mono quiet"
          type="button"
          title={symbols.name(sum.fn)}
          onClick={() => choose(widest(merged.frames, sum.fn))}
        >
          {symbols.name(sum.fn)}
        </button>
      </td>
      <td class="mono sec clip opt place" title={place}>
        {shortPlace(place)}
      </td>
      {cell(sum.self)}
      {cell(sum.total)}
      <td class="num opt">{count(sum.samples)}</td>
    </tr>
  );
}
