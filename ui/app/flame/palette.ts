// Colours of the flame views, read from the style sheet's custom properties, so that canvases follow
// themes and forced colours.

import { kPackageSteps, type Owner } from '../model/symbols';
import type { ThreadState } from '../model/types';

export interface Palette {
  // Fills by bucket: see bucketOf().
  fills: string[];
  label: string;
  dimLabel: string;
  edge: string;
  pick: string;
  match: string;
  hover: string;
  well: string;
  text: string;
  dimAlpha: number;
  running: string;
  states: Record<
    Exclude<ThreadState, 'running'>,
    { colour: string; hatch: CanvasPattern | string }
  >;
  font: string;
  charWidth: number;
}

const kFamilies: Record<Owner, string> = { own: 'app', library: 'lib', runtime: 'run' };
const kOwners: Owner[] = ['own', 'library', 'runtime'];
export const kNeutralBucket = kOwners.length * kPackageSteps;
export const kBuckets = kNeutralBucket + 1;

export function bucketOf(owner: Owner, step: number): number {
  return kOwners.indexOf(owner) * kPackageSteps + step;
}

export function readPalette(host: HTMLElement, context: CanvasRenderingContext2D): Palette {
  const probe = document.createElement('i');
  probe.hidden = true;
  host.append(probe);
  const colour = (name: string) => {
    probe.style.setProperty('color', `var(--fg-${name})`);
    return getComputedStyle(probe).color;
  };
  const root = getComputedStyle(document.documentElement);
  const font = `11px ${root.getPropertyValue('--fg-mono') || 'monospace'}`;
  const fills = kOwners.flatMap((owner) =>
    Array.from({ length: kPackageSteps }, (_, i) => colour(`fl-${kFamilies[owner]}-${i + 1}`)),
  );
  fills.push(colour('df-same'));
  const hatched = (name: string) => {
    const value = colour(name);
    return { colour: value, hatch: hatch(context, value) };
  };
  const palette: Palette = {
    fills,
    label: colour('fl-text'),
    dimLabel: colour('text-2'),
    edge: colour('fl-edge'),
    pick: colour('fl-pick'),
    match: colour('fl-pick'),
    hover: colour('text-3'),
    well: colour('well'),
    text: colour('text'),
    dimAlpha: Number(root.getPropertyValue('--fg-fl-dim')) || 0.5,
    running: colour('st-cpu'),
    states: { waiting: hatched('st-io'), gil: hatched('st-gil'), gc: hatched('st-gc') },
    font,
    charWidth: charWidth(context, font),
  };
  probe.remove();
  return palette;
}

// Labels are monospaced: one measurement, then arithmetic.
function charWidth(context: CanvasRenderingContext2D, font: string): number {
  context.font = font;
  return context.measureText('0'.repeat(32)).width / 32;
}

function hatch(context: CanvasRenderingContext2D, colour: string): CanvasPattern | string {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6;
  const brush = tile.getContext('2d')!;
  brush.strokeStyle = colour;
  brush.lineWidth = 1.2;
  brush.beginPath();
  for (const offset of [-6, 0, 6]) {
    brush.moveTo(offset - 1, 7);
    brush.lineTo(offset + 7, -1);
  }
  brush.stroke();
  return context.createPattern(tile, 'repeat') ?? colour;
}
