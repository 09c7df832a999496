// The chosen function between its callers and its callees.

import { useMemo, useState } from 'preact/hooks';
import { valueText } from '../../core/format';
import { kNone, type Frames } from '../../model/frames';
import { sandwich } from '../../model/sandwich';
import { FlameCanvas } from './canvas';
import { Detail, type Figures } from './detail';
import type { Merged } from './load';
import { widest } from './side';

interface Props {
  merged: Merged;
  // A function, not the root and not what was pruned.
  fn: number;
  mask: Uint8Array | null;
  choose: (frame: string) => void;
}

export function SandwichView({ merged, fn, mask, choose }: Props) {
  const both = useMemo(() => sandwich(merged.frames, fn), [merged, fn]);
  const [hovered, setHovered] = useState<{ frames: Frames; box: number } | null>(null);
  const figures: Figures = {
    whole: merged.frames.span,
    samples: merged.answer.samples,
    unit: merged.unit,
    totalName: 'total',
  };
  const half = (title: string, note: string, frames: Frames) => (
    <section class="half">
      <h2>
        {title} <small>{note}</small>
      </h2>
      <div class="axis plain">
        <FlameCanvas
          frames={frames}
          states={kNoStates}
          mask={mask}
          selected={kNone}
          range={null}
          half
          label={`${title} of ${merged.frames.symbols.name(fn)}, merged.`}
          events={{
            onHover: (box) => setHovered(box === kNone ? null : { frames, box }),
            onSelect: (box) => setHovered({ frames, box }),
            onZoom: (box) => box !== kNone && choose(widest(merged.frames, frames.fn[box])),
            onRange: () => {},
          }}
        />
      </div>
    </section>
  );
  const shown = hovered ?? { frames: both.callees, box: 0 };
  return (
    <>
      {half('Callers', 'below the function, who called it', both.callers)}
      {half('Callees', `total ${valueText(both.callees.span, merged.unit)}`, both.callees)}
      <Detail frames={shown.frames} box={shown.box} figures={figures} />
    </>
  );
}

const kNoStates: [] = [];
