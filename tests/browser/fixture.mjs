// A server that stands in for the proxy: the committed console under its real policies, and canned
// answers of the API.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bigTree } from './shapes.mjs';
import { makeStory } from './story.mjs';

const kUi = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'ui');
const kPrefix = '/__flamegate';
const kBigId = 'mx3dbig0000000000000';
const kEmptyId = 'mx3dempty00000000000';

const policies = readPolicies();
const manifest = readManifest();

function readPolicies() {
  const text = readFileSync(join(kUi, 'policies.inc'), 'utf8');
  const found = [...text.matchAll(/FLAMEGATE_UI_POLICY\((\w+),([^)]*)\)/g)];
  return Object.fromEntries(
    found.map(([, name, value]) => [
      name,
      [...value.matchAll(/"([^"]*)"/g)].map((part) => part[1]).join(''),
    ]),
  );
}

function readManifest() {
  const text = readFileSync(join(kUi, 'dist', 'manifest.inc'), 'utf8');
  const files = new Map(
    [...text.matchAll(/FILE(?:_GZ)?\(\d+, "([^"]+)", "([^"]+)", (\w+)/g)].map(
      ([, path, type, kind]) => [path, { type, kind }],
    ),
  );
  const [, badge, integrity] = /BADGE\("([^"]+)", "([^"]+)"\)/.exec(text);
  return { files, badge, integrity };
}

export async function startFixture() {
  const state = {
    story: makeStory(),
    rights: ['view', 'trigger', 'manage'],
    down: false,
    requests: [],
    session: null,
    settleAfter: 2,
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url, 'http://fixture');
    state.requests.push(`${request.method} ${url.pathname}${url.search}`);
    try {
      answer(state, request.method, url, response);
    } catch (error) {
      response.writeHead(500).end(String(error.stack));
    }
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const origin = `http://127.0.0.1:${server.address().port}`;
  return {
    origin,
    prefix: kPrefix,
    console: `${origin}${kPrefix}`,
    state,
    bigId: kBigId,
    emptyId: kEmptyId,
    stop: () => new Promise((done) => (server.closeAllConnections(), server.close(done))),
  };
}

function answer(state, method, url, response) {
  if (!url.pathname.startsWith(`${kPrefix}/`)) return page(state, url, response);
  const path = decodeURIComponent(url.pathname.slice(kPrefix.length + 1));
  if (path.startsWith('api/v1/'))
    return api(state, method, path.slice(7), url.searchParams, response);
  const file = manifest.files.get(path);
  if (file && path !== 'index.html') return asset(path, file, response);
  const html = readFileSync(join(kUi, 'dist', 'index.html'), 'utf8').replaceAll(
    '@PREFIX@',
    kPrefix,
  );
  response
    .writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      ...kOwnHeaders,
      'content-security-policy': policies.Console,
    })
    .end(html);
}

const kOwnHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

function asset(path, { type, kind }, response) {
  const gzip = join(kUi, 'dist', `${path}.gz`);
  const zipped = existsSync(gzip);
  const body = readFileSync(zipped ? gzip : join(kUi, 'dist', path));
  response
    .writeHead(200, {
      'content-type': type,
      ...(zipped && { 'content-encoding': 'gzip' }),
      ...kOwnHeaders,
      'content-security-policy': policies[kind],
    })
    .end(body);
}

function json(response, status, body, headers = {}) {
  response
    .writeHead(status, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      ...headers,
    })
    .end(JSON.stringify(body));
}

const failure = (response, status, code, message) =>
  json(response, status, { error: { code, message } });

function api(state, method, path, query, response) {
  if (state.down) return failure(response, 503, 'store-unavailable', 'the store does not answer');
  if (path === 'status') return json(response, 200, statusOf(state));
  if (path === 'session') return session(state, method, response);
  if (path === 'profiles') return json(response, 200, list(state, query));
  if (path === 'routes' || path === 'hosts') return json(response, 200, groups(state, path, query));
  const pageview = /^pageviews\/(.+)$/.exec(path);
  if (pageview)
    return json(response, 200, {
      profiles: state.story.rows.slice(2, 6),
      seq: 7,
    });
  const [, id, rest] = /^profiles\/([^/]+)(?:\/(.+))?$/.exec(path) ?? [];
  return id
    ? profile(state, method, id, rest, query, response)
    : failure(response, 404, 'not-found', 'no such resource');
}

function session(state, method, response) {
  if (!state.rights.includes('trigger'))
    return failure(response, 403, 'forbidden', 'needs the right trigger');
  state.session =
    method === 'POST'
      ? {
          expires_at: new Date(Date.now() + 900e3).toISOString(),
          requests: 200,
        }
      : null;
  return method === 'POST' ? json(response, 201, state.session) : response.writeHead(204).end();
}

function statusOf(state) {
  const seen = {
    service: 'klaus',
    first_seen: '2026-11-30T10:00:00.000Z',
    last_seen: new Date(Date.now() - 4000).toISOString(),
    hellos: 3,
  };
  return {
    version: '0.1.0',
    rights: state.rights,
    time: new Date().toISOString(),
    store: {
      kind: 'embedded',
      available: true,
      profiles: 48210,
      pinned: 3,
      bytes: 641728512,
      puts: 50112,
      failures: 0,
      queue_refused: 0,
      evicted: { age: 1902, bytes: 0, count: 0 },
      oldest: '2026-11-29T14:41:00.000Z',
    },
    captures: {
      live: 1,
      held_parts: 0,
      stored: 50112,
      failed: 507,
      parts: 50140,
      unclaimed: 2,
    },
    uploads: {
      answers: { 201: 50140, 401: 2 },
      bytes: 1093222400,
      open: 0,
      open_bytes: 0,
    },
    queue: { jobs: 0, waiting: 1 },
    agents: [
      {
        agent: 'python/1.0',
        runtime: 'cpython/3.11',
        host: 'git-1',
        ...seen,
        started: 30111,
        refused: 0,
        uploads: 30090,
      },
      {
        agent: 'python/1.0',
        runtime: 'cpython/3.11',
        host: 'git-2',
        ...seen,
        started: 20050,
        refused: 14,
        latest_refusal: 'busy',
        uploads: 20050,
      },
    ],
  };
}

function matches(row, query) {
  const wanted = (key) => !query.get(key) || row[key] === query.get(key);
  const status = query.get('status');
  if (!['route', 'host', 'service', 'state', 'trigger'].every(wanted)) return false;
  if (
    status &&
    (status.endsWith('xx') ? String(row.status)[0] !== status[0] : String(row.status) !== status)
  )
    return false;
  if (query.get('min_ms') && !(row.duration_ms >= Number(query.get('min_ms')))) return false;
  if (query.get('from') && Date.parse(row.started_at) < Number(query.get('from'))) return false;
  const text = query.get('q');
  return !text || `${row.route} ${row.path} ${row.id}`.includes(text);
}

function list(state, query) {
  const sort = query.get('sort') || '-started_at';
  const key = sort.replace('-', '');
  const sign = sort.startsWith('-') ? -1 : 1;
  const rows = state.story.rows.filter((row) => matches(row, query));
  rows.sort((a, b) => sign * (a[key] > b[key] ? 1 : a[key] < b[key] ? -1 : 0));
  const at = Number(query.get('cursor') ?? 0);
  const limit = Number(query.get('limit') ?? 50);
  const filtered = [...query.keys()].some((name) => !['sort', 'limit', 'cursor'].includes(name));
  const total = filtered || rows.length === 0 ? rows.length : state.story.total;
  return {
    profiles: rows.slice(at, at + limit),
    total,
    ...(at + limit < rows.length && { next: String(at + limit) }),
  };
}

function groups(state, member, query) {
  const by = new Map();
  for (const row of state.story.rows.filter((one) => matches(one, query))) {
    const name = member === 'routes' ? row.route : row.host;
    const group = by.get(name) ?? {
      name,
      profiles: 0,
      stored: 0,
      latest: row.started_at,
      mean_ms: 0,
      max_ms: 0,
    };
    by.set(name, group);
    group.profiles++;
    if (row.state === 'stored') group.stored++;
    group.mean_ms += ((row.duration_ms ?? 0) - group.mean_ms) / group.profiles;
    group.max_ms = Math.max(group.max_ms, row.duration_ms ?? 0);
  }
  return { [member]: [...by.values()] };
}

function profile(state, method, id, rest, query, response) {
  const { story } = state;
  const special = {
    [kBigId]: { ...story.main, id: kBigId },
    [kEmptyId]: { ...story.main, id: kEmptyId, samples: 0, duration_ms: 3.1 },
  };
  const meta = special[id] ?? story.rows.find((row) => row.id === id);
  if (!meta) return failure(response, 404, 'not-found', 'no such profile');
  if (method === 'DELETE' && !rest) {
    story.rows.splice(story.rows.indexOf(meta), 1);
    return response.writeHead(204).end();
  }
  if (rest === 'pin') {
    if (method === 'POST') meta.pinned_until = '2027-02-28T00:00:00.000Z';
    else delete meta.pinned_until;
    return json(response, 200, meta);
  }
  if (!rest) return settle(state, meta, query, response);
  if (meta.state !== 'stored')
    return failure(response, meta.state === 'failed' ? 404 : 409, 'not-settled', 'no file yet');
  if (rest === 'tree') return json(response, 200, id === kBigId ? big() : story.tree);
  if (rest === 'timeline') return json(response, 200, story.timeline);
  return download(story, query.get('format'), response);
}

let bigAnswer = null;
const big = () => (bigAnswer ??= bigTree(100_000));

// A running profile is stored after it has been asked for with `wait` a few times.
function settle(state, meta, query, response) {
  if (meta.state === 'running' && query.get('wait') && --state.settleAfter <= 0) {
    Object.assign(meta, {
      ...state.story.main,
      id: meta.id,
      started_at: meta.started_at,
    });
  }
  setTimeout(
    () => json(response, 200, meta),
    query.get('wait') && meta.state === 'running' ? 300 : 0,
  );
}

function download(story, format, response) {
  const { timeline } = story;
  const frames = timeline.functions.name.map((name, i) => ({
    name: timeline.strings[name],
    file: timeline.strings[timeline.functions.file[i]],
  }));
  const stackOf = (node) =>
    node <= 0 ? [] : [...stackOf(timeline.stacks.parent[node]), timeline.stacks.function[node]];
  const thread = timeline.threads[0];
  const profile = {
    type: 'sampled',
    name: thread.name,
    unit: 'nanoseconds',
    startValue: 0,
    endValue: timeline.duration_ns,
    samples: thread.stack.map(stackOf),
    weights: thread.weight_ns,
  };
  const file = {
    $schema: 'https://www.speedscope.app/file-format-schema.json',
    shared: { frames },
    profiles: [profile],
  };
  json(response, 200, file, {
    'content-disposition': `attachment; filename="profile.${format}.json"`,
    'x-content-type-options': 'nosniff',
  });
}

// Somebody else's page, with a strict policy of its own, as the proxy would send it.
function page(state, url, response) {
  if (url.pathname === '/api/refs') {
    return json(response, 200, {}, { 'server-timing': `profile;desc="${state.story.rows[2].id}"` });
  }
  if (url.pathname === '/app.js')
    return response
      .writeHead(200, { 'content-type': 'text/javascript' })
      .end("fetch('/api/refs').then((r) => r.json());");
  if (url.pathname === '/favicon.ico') return response.writeHead(204).end();
  const id = url.searchParams.get('id') ?? state.story.main.id;
  const nonce = createHash('sha256').update(url.href).digest('base64').slice(0, 22);
  const origin = `http://${response.req.headers.host}`;
  const script = `<script src="${origin}${kPrefix}/${manifest.badge}" integrity="${manifest.integrity}" nonce="${nonce}" data-pv="pv-4127" data-id="${id}"></script>`;
  const frame = url.searchParams.has('framed') ? '<iframe src="/?inner"></iframe>' : '';
  response
    .writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'server-timing': `profile;desc="${id}"`,
      'content-security-policy': `default-src 'none'; script-src 'nonce-${nonce}'; connect-src 'self'; style-src 'none'; frame-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'`,
    })
    .end(
      `<!doctype html><html lang="en"><head><title>Commit 4be07d1</title></head><body><h1>Keep the pool's LIFO order across a reload</h1><p>Commit 4be07d1, 28 Nov 2026, 3 files changed</p>${frame}<script src="/app.js" nonce="${nonce}"></script></body></html>${script}`,
    );
}
