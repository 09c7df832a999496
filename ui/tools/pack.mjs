// Makes ui/dist from what Vite built and from the speedscope package: names that change with their
// content, gzip variants, and the manifest that the C++ build reads.
//
//   node tools/pack.mjs BUILT DIST       BUILT holds app/ and badge/

import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const kUi = join(dirname(fileURLToPath(import.meta.url)), '..');
const kTypes = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  ico: 'image/x-icon',
  js: 'text/javascript; charset=utf-8',
  md: 'text/plain; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
  woff2: 'font/woff2',
};
// Not needed for what the console shows: an example profile, the Java Flight Recorder reader, the
// icons of the file:// build.
const kSpeedscopeLeft = /^perf-|\.wasm$|^favicon.*\.js$|schema\.json$|^release\.txt$/;
const kGzipPays = 0.9; // of the size, at most

const [built, dist] = process.argv.slice(2);
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });

copyConsole();
const badge = copyBadge();
copySpeedscope();
writeManifest(badge);

function copyConsole() {
  cpSync(join(built, 'app', 'assets'), join(dist, 'assets'), { recursive: true });
  const page = readFileSync(join(built, 'app', 'index.html'), 'utf8');
  writeFileSync(join(dist, 'index.html'), page.replaceAll('="./', '="@PREFIX@/'));
}

function copyBadge() {
  const script = readFileSync(join(built, 'badge', 'badge.js'));
  const path = `b/${sha('sha256', script, 'hex').slice(0, 16)}.js`;
  mkdirSync(join(dist, 'b'));
  writeFileSync(join(dist, path), script);
  return { path, integrity: `sha384-${sha('sha384', script, 'base64')}` };
}

function copySpeedscope() {
  const from = join(kUi, 'node_modules', 'speedscope');
  const to = join(dist, 'speedscope');
  mkdirSync(to);
  for (const name of readdirSync(join(from, 'dist', 'release'))) {
    if (!kSpeedscopeLeft.test(name)) cpSync(join(from, 'dist', 'release', name), join(to, name));
  }
  cpSync(join(from, 'LICENSE'), join(to, 'LICENSE.txt'));
}

function writeManifest({ path: badgePath, integrity }) {
  const lines = files(dist).map((path, index) => {
    const body = readFileSync(join(dist, path));
    const type = kTypes[path.split('.').pop()];
    if (!type) throw new Error(`${path}: no content type known`);
    const gzip = gzipSync(body, { level: 9 });
    const pays = path !== 'index.html' && gzip.length < body.length * kGzipPays;
    if (pays) writeFileSync(join(dist, `${path}.gz`), gzip);
    const kind = path.startsWith('speedscope/')
      ? 'Speedscope'
      : path === badgePath
        ? 'Badge'
        : 'Console';
    const hashed =
      path.startsWith('assets/') || path.startsWith('b/') || /-[0-9A-Z]{8}\.\w+$/.test(path);
    const hash = sha('sha256', body, 'hex').slice(0, 16);
    return `${pays ? 'FLAMEGATE_UI_FILE_GZ' : 'FLAMEGATE_UI_FILE'}(${[
      index,
      JSON.stringify(path),
      JSON.stringify(type),
      kind,
      hashed,
      JSON.stringify(hash),
      body.length,
      ...(pays ? [gzip.length] : []),
    ].join(', ')})`;
  });
  const text = [
    '// Made by ui/tools/pack.mjs: number, path, type, kind, hashed name, hash, size, size of the gzip variant.',
    ...lines,
    `FLAMEGATE_UI_BADGE("${badgePath}", "${integrity}")`,
    '',
  ].join('\n');
  writeFileSync(join(dist, 'manifest.inc'), text);
}

function files(root, at = root) {
  return readdirSync(at)
    .sort()
    .flatMap((name) => {
      const path = join(at, name);
      return statSync(path).isDirectory() ? files(root, path) : [relative(root, path)];
    });
}

function sha(algorithm, bytes, encoding) {
  return createHash(algorithm).update(bytes).digest(encoding);
}
