// Figures as people read them: unit after a blank, thousands with a comma, times in UTC.

const kMinus = '\u2212';

export function count(value: number): string {
  return value.toLocaleString('en-US').replace('-', kMinus);
}

// Milliseconds without a unit: one decimal, more only where it would say nothing.
export function figure(ms: number): string {
  const digits = ms !== 0 && Math.abs(ms) < 0.1 ? 3 : 1;
  const text = ms.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return text.replace('-', kMinus);
}

export function ms(value: number): string {
  return `${figure(value)} ms`;
}

export function percent(part: number, whole: number): string {
  if (!(whole > 0)) return 'none';
  const share = (part / whole) * 100;
  if (share > 0 && share < 0.05) return '< 0.1 %';
  return `${share.toFixed(1)} %`;
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  const units = ['KiB', 'MiB', 'GiB'];
  let scaled = value;
  let unit = -1;
  while (scaled >= 1024 && unit < units.length - 1) {
    scaled /= 1024;
    unit++;
  }
  return `${scaled < 10 ? scaled.toFixed(1) : Math.round(scaled)} ${units[unit]}`;
}

export function interval(us: number): string {
  return us >= 1000 ? `${trim(us / 1000)} ms` : `${trim(us)} µs`;
}

function trim(value: number): string {
  return String(Math.round(value * 100) / 100);
}

const kMonths = [
  'Jan',
  'Feb',
  'Mar',
  'Apr',
  'May',
  'Jun',
  'Jul',
  'Aug',
  'Sep',
  'Oct',
  'Nov',
  'Dec',
];

function two(value: number): string {
  return String(value).padStart(2, '0');
}

export function day(date: Date): string {
  return `${date.getUTCDate()} ${kMonths[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
}

export function clock(date: Date, withMs = true): string {
  const text = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`;
  return withMs ? `${text}.${String(date.getUTCMilliseconds()).padStart(3, '0')}` : text;
}

export function dateTime(text: string): string {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : `${day(date)} ${clock(date)} UTC`;
}

export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

// How long ago a time was: "4 s ago".
export function ago(text: string): string {
  const seconds = (Date.now() - Date.parse(text)) / 1000;
  if (!Number.isFinite(seconds)) return '';
  return seconds >= 86400 ? day(new Date(text)) : `${duration(seconds)} ago`;
}

// The unit of a profile's value as the viewer prints it.
export function valueText(value: number, unit: string): string {
  if (unit === 'nanoseconds') return ms(value / 1e6);
  if (unit === 'bytes') return bytes(value);
  return `${count(value)} ${unit === 'count' ? 'samples' : unit}`;
}

// Ticks of an axis: about `wanted` round steps over [from, to].
export function ticks(from: number, to: number, wanted: number): number[] {
  const raw = (to - from) / Math.max(1, wanted);
  if (!(raw > 0)) return [];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw)!;
  const result: number[] = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++)
    result.push(i * step || 0);
  return result;
}

// A tick's label with as many decimals as its step needs.
export function tickText(value: number, step: number): string {
  const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
  return value.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}
