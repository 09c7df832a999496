// Says how two dist folders differ; exit 1 when they do. Of gzip files the content counts, since other
// versions of zlib find other encodings of it.

import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { gunzipSync } from 'node:zlib';

const [committed, built] = process.argv.slice(2);
const faults = [];
const names = (root) =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)))
    .sort();
const read = (root, name) => {
  const bytes = readFileSync(join(root, name));
  if (name.endsWith('.gz')) return gunzipSync(bytes);
  return name === 'manifest.inc' ? Buffer.from(bytes.toString().replace(/, \d+\)$/gm, ')')) : bytes;
};

const [left, right] = [names(committed), names(built)];
for (const name of left) if (!right.includes(name)) faults.push(`${name}: no longer built`);
for (const name of right) if (!left.includes(name)) faults.push(`${name}: missing`);
for (const name of left.filter((one) => right.includes(one))) {
  if (!read(committed, name).equals(read(built, name))) faults.push(`${name}: differs`);
}
for (const fault of faults) console.error(`ui/dist/${fault}`);
if (faults.length > 0) {
  console.error('ui/dist is not up to date: run ui/build and commit it');
  process.exit(1);
}
console.log(`ui/dist is up to date (${left.length} files)`);
