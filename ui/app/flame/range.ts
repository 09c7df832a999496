// The visible stretch of the axis. Pure.

export interface Range {
  from: number;
  to: number;
}

export function whole(span: number): Range {
  return { from: 0, to: span > 0 ? span : 1 };
}

// Keeps a range inside [0, span] without changing its width, unless it is too wide or too narrow.
export function clampRange(range: Range, span: number, least: number): Range {
  const full = whole(span);
  const width = Math.min(Math.max(range.to - range.from, least), full.to);
  const from = Math.min(Math.max(range.from, 0), full.to - width);
  return { from, to: from + width };
}

// `factor` below 1 shows less. `anchor` keeps its place on the screen.
export function zoomAround(range: Range, anchor: number, factor: number): Range {
  return {
    from: anchor - (anchor - range.from) * factor,
    to: anchor + (range.to - anchor) * factor,
  };
}

export function pan(range: Range, by: number): Range {
  return { from: range.from + by, to: range.to + by };
}

export function sameRange(a: Range, b: Range): boolean {
  const tolerance = (a.to - a.from) * 1e-6;
  return Math.abs(a.from - b.from) <= tolerance && Math.abs(a.to - b.to) <= tolerance;
}
