// Where the samples of the application stand on the axis of the proxy's request.

import type { Placement } from './chart';
import type { ProfileMeta, TimelineAnswer } from './types';

export interface AxisPlace extends Placement {
  // False: the clocks of proxy and application are too far apart to be compared, so the samples begin
  // where the application got the request.
  clocksAgree: boolean;
}

// The request's start is known to the millisecond, and clocks of neighbours differ by about as much.
const kToleranceMs = 2;

export function placeOnAxis(meta: ProfileMeta, answer: TimelineAnswer): AxisPlace {
  const durationMs = meta.duration_ms ?? 0;
  const sampledMs = answer.duration_ns / 1e6;
  const handedOver = (meta.phases_ms?.queue ?? 0) + (meta.phases_ms?.connect ?? 0);
  const measured = startMs(answer) - Date.parse(meta.started_at ?? '');
  const clocksAgree =
    Number.isFinite(measured) && measured >= -kToleranceMs && measured <= durationMs + kToleranceMs;
  const offset = clocksAgree ? withinRequest(measured, durationMs - sampledMs) : handedOver;
  return {
    offset: offset * 1e6,
    span: Math.max(durationMs, offset + sampledMs) * 1e6,
    clocksAgree,
  };
}

// Moves samples that seem to stand a little outside the request into it. Work that goes on long after
// the response stays where it is.
function withinRequest(offset: number, latest: number): number {
  const excess = offset - latest;
  const moved = excess > 0 && excess <= kToleranceMs ? latest : offset;
  return Math.max(0, moved);
}

// Nanoseconds since 1970 exceed what a double holds exactly.
function startMs(answer: TimelineAnswer): number {
  if (!/^\d{1,20}$/.test(answer.start_unix_ns)) return NaN;
  return Number(BigInt(answer.start_unix_ns) / 1000n) / 1000;
}
