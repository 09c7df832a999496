// The data that the fixture server answers with: one afternoon of a git web viewer. Deterministic.

import { random, request, restart } from './calls.mjs';
import { timelineOf, treeOf } from './shapes.mjs';

const kStart = Date.UTC(2026, 10, 30, 14, 32, 7, 418);

const digits = '0123456789abcdefghijklmnopqrstuvwxyz';
const idAt = (time) =>
  time.toString(36).padStart(8, '0') +
  Array.from({ length: 12 }, () => digits[Math.floor(random() * 36)]).join('');

// prettier-ignore
const kRows = [
  // seconds before the first, method, route, status, total, share of CPU, body share, host, trigger, state
  [-23.786, 'GET', '/repo/commit/:id', null, null, 0, 0, 'git-1', 'query', 'running'],
  [-15.216, 'GET', '/repo/blob/:rev/:path', 200, 188.4, 0.88, 0.04, 'git-2', 'campaign'],
  [-0.523, 'GET', '/api/refs', 200, 24.9, 0.76, 0.02, 'git-1', 'referer'],
  [-0.484, 'GET', '/repo/avatar/:user', 200, 38.2, 0.32, 0.02, 'git-1', 'referer'],
  [0, 'GET', '/repo/commit/:id', 200, 412.6, 0.86, 0.08, 'git-2', 'query'],
  [0.016, 'GET', '/repo/commit/:id', 302, 9.1, 0.66, 0, 'git-1', 'query'],
  [18.088, 'GET', '/repo/history', 200, 1284, 0.86, 0.15, 'git-1', 'slow'],
  [23.823, 'POST', '/repo/git-upload-pack', 200, 2410.7, 0.25, 0.9, 'git-2', 'session'],
  [28.274, 'GET', '/repo/commit/:id', 200, 366.9, 0.87, 0.08, 'git-1', 'campaign'],
  [29.382, 'GET', '/repo/commit/:id', 502, 3004.1, 0, 0, 'git-1', 'campaign', 'upstream-lost'],
  [33.337, 'GET', '/repo/tree/:rev/:path', 200, 96, 0.85, 0.05, 'git-2', 'session'],
  [39.205, 'GET', '/repo/commit/:id', 404, 11.3, 0.54, 0, 'git-1', 'session'],
  [44.044, 'GET', '/repo/raw/:rev/:path', 304, 9.8, 0.53, 0, 'git-1', 'referer'],
  [51.204, 'GET', '/', 200, 61.7, 0.65, 0.1, 'git-2', 'header'],
  [53.432, 'GET', '/repo/commit/:id', 200, 531, 0.88, 0.09, 'git-1', 'campaign'],
  [58.281, 'GET', '/repo/commit/:id', 500, 142.2, 0.4, 0, 'git-1', 'session', 'no-upload'],
  [67.007, 'GET', '/repo/blame/:rev/:path', 200, 4870.5, 0.95, 0.02, 'git-2', 'slow'],
  [70.963, 'GET', '/repo/history', 200, 702.3, 0.87, 0.1, 'git-1', 'query'],
];

function metaOf([ago, method, route, status, total, cpu, body, host, trigger, state], i) {
  const started = kStart - Math.round(ago * 1000);
  const meta = {
    id: i === 4 ? 'mx3da03efj6pu9541pzi' : idAt(started),
    state: state === undefined ? 'stored' : state === 'running' ? 'running' : 'failed',
    trigger,
    method,
    path: route
      .replace(':id', '4be07d1')
      .replace(':rev', 'HEAD')
      .replace(':path', 'proxy/upstream/pool.cc')
      .replace(':user', 'ada'),
    host,
    route: `${method} ${route}`,
    service: 'klaus',
    site: 'git.example.org',
    started_at: new Date(started).toISOString(),
    mode: 'wall',
    interval_us: 1000,
  };
  if (meta.state === 'failed') meta.reason = state;
  if (total === null) return meta;
  const bodyMs = total * body;
  Object.assign(meta, {
    status,
    duration_ms: total,
    upstream_ms: Math.round((total - total * 0.017) * 10) / 10,
  });
  meta.phases_ms = {
    queue: 0.4,
    connect: 0.2,
    first_byte: Math.round((total * 0.983 - bodyMs - 0.6) * 10) / 10,
    body: Math.round(bodyMs * 10) / 10,
  };
  if (meta.state !== 'stored') return meta;
  const samples = Math.max(1, Math.round(total * 0.965));
  Object.assign(meta, {
    cpu_ms: Math.round(total * cpu * 10) / 10,
    samples,
    ticks: { expected: samples + 7, taken: samples, missed: 7 },
    overhead_us: Math.round(total * 7.5),
    agent: 'python/1.0',
    runtime: 'cpython/3.11',
    pid: 4127,
    bytes: 21504,
    pageview: 'pv-4127',
    states_ms: { running: total * 0.85, waiting: 38.8, gil: 12.4, gc: 3.8 },
    changes: [
      'To the application: Flamegate-Profile added.',
      'Query: pp=async-flamegraph removed.',
      'To the client: Profile-Id, Profile-Link, Server-Timing, X-MiniProfiler-Ids and X-MiniProfiler-Flamegraph-Path added.',
      'Cache-Control is private, no-store.',
      'CSP script-src got one nonce.',
      'Body: 214 bytes appended.',
    ],
  });
  return meta;
}

export function makeStory() {
  restart();
  const rows = kRows.map(metaOf);
  // More of the same, older: enough for three pages.
  for (let i = 0; i < 110; i++) {
    const [ago, ...rest] = kRows[1 + (i % (kRows.length - 1))];
    rows.push(metaOf([ago + 90 + i * 41.7, ...rest], kRows.length + i));
  }
  const main = rows[4];
  const calls = request();
  return {
    rows,
    main,
    failed: rows.find((row) => row.reason === 'no-upload'),
    running: rows[0],
    tree: treeOf(calls),
    timeline: timelineOf(calls, kStart + 0.6),
    total: 48210,
  };
}
