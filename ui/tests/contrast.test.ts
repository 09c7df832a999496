// Every pair of colours that the console puts together, against the ratios of WCAG 2.x.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const css = readFileSync(new URL('../app/styles/tokens.css', import.meta.url), 'utf8');
const tokens = new Map(
  [...css.matchAll(/--fg-([\w-]+):\s*light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)].map(
    ([, name, light, dark]) => [name, [light, dark]],
  ),
);

function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const channel = parseInt(colour.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function ratio(a: string, b: string): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

const grounds = ['bg', 'surface', 'hover', 'accent-soft'];
const frames = ['app', 'lib', 'run'].flatMap((family) =>
  [1, 2, 3, 4].map((step) => `fl-${family}-${step}`),
);
const pairs: [string, string[], number][] = [
  ['text', [...grounds, 'sunken', 'danger-soft', 'warn-soft'], 4.5],
  ['text-2', [...grounds, 'sunken'], 4.5],
  ['text-3', grounds, 4.5],
  ['accent', grounds, 4.5],
  ['on-accent', ['accent'], 4.5],
  ['danger', ['bg', 'surface', 'hover', 'danger-soft'], 4.5],
  ['warn', ['bg', 'surface', 'hover'], 4.5],
  ['fl-text', frames, 4.5],
  ['fl-text', ['phase-app', 'phase-body', 'df-same'], 4.5],
  ['line-ctl', ['bg', 'surface'], 3],
  ['st-io', ['well'], 3],
  ['st-gil', ['well'], 3],
  ['st-gc', ['well'], 3],
];

describe.each(['light', 'dark'])('in %s', (theme) => {
  const colour = (name: string) => tokens.get(name)![theme === 'light' ? 0 : 1];
  it.each(
    pairs.flatMap(([front, backs, least]) => backs.map((back) => [front, back, least] as const)),
  )('%s on %s is at least %d', (front, back, least) => {
    expect(ratio(colour(front), colour(back))).toBeGreaterThanOrEqual(least);
  });
  it('owners can be told apart without hue', () => {
    for (const [a, b] of [
      ['app', 'lib'],
      ['lib', 'run'],
      ['app', 'run'],
    ]) {
      expect(ratio(colour(`fl-${a}-1`), colour(`fl-${b}-1`))).toBeGreaterThanOrEqual(1.2);
    }
  });
});
