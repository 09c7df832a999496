// The whole product for a test: klaus, a real application, under the Python agent, behind the proxy.

import { execFileSync, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const kRoot = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const kAgent = join(kRoot, 'agent-protocol', 'agents', 'python');
const kPython = '/usr/bin/python3';
const kPatienceMs = 20_000;

export const binary = process.env.FLAMEGATE_BIN ?? join(kRoot, 'build', 'dev', 'flamegate');

export function missing() {
  if (!existsSync(binary)) return `no ${binary}; FLAMEGATE_BIN names another`;
  if (!existsSync('/usr/bin/klaus') || !existsSync('/usr/bin/gunicorn'))
    return 'needs klaus and gunicorn';
  return false;
}

export async function startProduct() {
  const folder = mkdtempSync(join(tmpdir(), 'flamegate-browser-'));
  const [listen, admin, agents] = [await freePort(), await freePort(), await freePort()];
  const socket = join(folder, 'app.sock');
  const secret = join(folder, 'agent.key');
  writeFileSync(secret, `${'0123456789abcdef'.repeat(4)}\n`, { mode: 0o600 });
  const config = {
    workers: 1,
    listeners: [{ address: `127.0.0.1:${listen}` }],
    clusters: [{ name: 'klaus', endpoints: [`unix:${socket}`], service: 'klaus' }],
    admin: { address: `127.0.0.1:${admin}` },
    access_log: { path: join(folder, 'access.log') },
    store: { kind: 'memory' },
    control: { agents: { address: `127.0.0.1:${agents}` } },
    profiling: { secret_file: secret },
  };
  writeFileSync(join(folder, 'flamegate.yaml'), JSON.stringify(config)); // JSON is YAML
  const repository = join(folder, 'demo');
  makeRepository(repository);
  buildAgent();

  const application = start(
    folder,
    'application',
    kPython,
    [
      '-m',
      'flamegate',
      '/usr/bin/gunicorn',
      '--bind',
      `unix:${socket}`,
      '--workers',
      '1',
      'klaus.contrib.wsgi',
    ],
    {
      PYTHONPATH: kAgent,
      FLAMEGATE_SECRET_FILE: secret,
      FLAMEGATE_URL: `http://127.0.0.1:${agents}`,
      KLAUS_REPOS: repository,
      KLAUS_SITE_NAME: 'demo',
      PATH: '/usr/bin:/bin',
    },
  );
  const proxy = start(folder, 'proxy', binary, ['run', '-c', 'flamegate.yaml'], {});
  const processes = [proxy, application];
  const origin = `http://127.0.0.1:${listen}`;
  const stop = async () => {
    await Promise.all(processes.map(end));
    rmSync(folder, { recursive: true, force: true });
  };
  const log = () =>
    ['proxy', 'application'].map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
  try {
    await until(async () => (await fetch(origin)).status === 200, processes);
  } catch (error) {
    const said = log();
    await stop();
    throw new Error(`${error.message}\n${said}`);
  }
  return { origin, console: `${origin}/__flamegate`, log, stop };
}

function start(folder, name, command, args, env) {
  writeFileSync(join(folder, name), '');
  const child = spawn('/bin/sh', ['-c', 'exec "$0" "$@" >>"$LOG" 2>&1', command, ...args], {
    cwd: folder,
    env: { ...process.env, ...env, LOG: join(folder, name) },
    stdio: 'ignore',
  });
  child.name = name;
  return child;
}

function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return null;
  const gone = new Promise((done) => child.once('exit', done));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
  return gone.finally(() => clearTimeout(timer));
}

// Enough history and text for pages that take a while.
function makeRepository(path) {
  const git = (...args) =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], {
      cwd: path,
      stdio: 'ignore',
    });
  mkdirSync(path);
  git('init', '--initial-branch', 'main');
  for (const file of ['assets.cc', 'assets.h', 'CMakeLists.txt', 'package-lock.json']) {
    cpSync(join(kRoot, 'ui', file), join(path, file));
    git('add', file);
    git('commit', '-q', '-m', `ui: add ${file}`);
  }
}

// In place, once; the extension is not committed.
function buildAgent() {
  const built = readdirSync(join(kAgent, 'flamegate')).some((name) => name.endsWith('.so'));
  if (!built)
    execFileSync(kPython, ['setup.py', '-q', 'build_ext', '--inplace'], {
      cwd: kAgent,
      stdio: 'ignore',
    });
}

async function until(holds, processes) {
  const end = Date.now() + kPatienceMs;
  for (;;) {
    const dead = processes.find((child) => child.exitCode !== null);
    if (dead) throw new Error(`the ${dead.name} ended with ${dead.exitCode}`);
    if (await holds().catch(() => false)) return;
    if (Date.now() > end) throw new Error('the product does not answer');
    await new Promise((done) => setTimeout(done, 100));
  }
}

function freePort() {
  return new Promise((done) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}
