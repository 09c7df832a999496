// The proxy's phases of one request.

import { figure } from '../core/format';
import type { Phase, ProfileMeta } from './types';

export interface PhaseInfo {
  key: Phase;
  name: string;
  short: string;
  style: string; // class of the bar's part
  labelled: boolean; // in the strip; the others are short and dark
}

export const kPhases: PhaseInfo[] = [
  { key: 'queue', name: 'queue', short: 'queue', style: 'q', labelled: false },
  { key: 'connect', name: 'connect', short: 'connect', style: 'c', labelled: false },
  {
    key: 'first_byte',
    name: 'application, until first byte',
    short: 'first byte',
    style: 'a',
    labelled: true,
  },
  { key: 'body', name: 'body', short: 'body', style: 'b', labelled: true },
];

export interface PhaseSpan extends PhaseInfo {
  start: number; // ms after the request came
  ms: number;
}

// One after the other from the request's start; phases that took no time are left out. What is left
// of the duration is the client's.
export function phaseSpans(meta: ProfileMeta): PhaseSpan[] {
  const spans: PhaseSpan[] = [];
  let start = 0;
  for (const phase of kPhases) {
    const ms = meta.phases_ms?.[phase.key] ?? 0;
    if (ms > 0) spans.push({ ...phase, start, ms });
    start += ms;
  }
  const rest = (meta.duration_ms ?? 0) - start;
  if (spans.length > 0 && rest > 0.05) {
    spans.push({
      key: 'body',
      name: 'client',
      short: 'client',
      style: 'l',
      labelled: false,
      start,
      ms: rest,
    });
  }
  return spans;
}

export function phaseText(meta: ProfileMeta): string {
  const parts = phaseSpans(meta).map((span) => `${span.name} ${figure(span.ms)} ms`);
  return parts.length > 0 ? `Phases: ${parts.join(', ')}` : 'Phases: unknown';
}
