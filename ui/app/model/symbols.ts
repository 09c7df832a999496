// The functions of one answer: their names, where they stand, and who owns them.

import type { FunctionColumns } from './types';

export type Owner = 'own' | 'library' | 'runtime';

export const kRootFunction = -1;
export const kPrunedFunction = -2;

// Steps of colour within an owner's family; a package keeps its step in every profile.
export const kPackageSteps = 4;

const kLibraryFolders =
  /(?:^|\/)(?:site-packages|dist-packages|node_modules|gems|vendor|pkg\/mod)\/((?:@[^/]+\/)?[^/]+)/;
const kRuntimeFolders =
  /^(?:node:|internal\/|<(?!anonymous|string|template)|\/usr\/(?:lib|include|share)\/|\/lib)|(?:^|\/)(?:lib\/python\d[\d.]*|lib\/ruby\/\d[\d.]*|go\/src|libexec|jre|jdk)\//;

export class Symbols {
  readonly names: string[];
  readonly files: string[];
  readonly lines: number[];
  readonly owners: Owner[];
  // Index of the colour step within the owner's family.
  readonly steps: Uint8Array;
  readonly hashes: Uint32Array;

  // `service` names the application: a package of that name is its own, wherever it is installed.
  constructor(strings: string[], functions: FunctionColumns, service = '') {
    this.names = functions.name.map((index) => strings[index] || '(unnamed)');
    this.files = functions.file.map((index) => strings[index] ?? '');
    this.lines = functions.line;
    this.owners = this.files.map((file) => ownerOf(file, service));
    this.steps = Uint8Array.from(
      this.files,
      (file, i) => hashText(packageOf(file, this.names[i])) % kPackageSteps,
    );
    this.hashes = Uint32Array.from(this.names, hashText);
  }

  get count(): number {
    return this.names.length;
  }

  name(fn: number): string {
    if (fn === kRootFunction) return 'all';
    if (fn === kPrunedFunction) return 'pruned';
    return this.names[fn] ?? '(unknown)';
  }

  // "file:line"; the function's own line unless a nearer one is known.
  place(fn: number, line = 0): string {
    const file = this.files[fn];
    if (!file) return '';
    const at = line || this.lines[fn];
    return at ? `${file}:${at}` : file;
  }

  owner(fn: number): Owner {
    return this.owners[fn] ?? 'runtime';
  }
}

// Who owns the code of a file, by the folders that package managers and runtimes use.
export function ownerOf(file: string, service = ''): Owner {
  const library = kLibraryFolders.exec(file);
  if (library) return plainName(library[1]) === plainName(service) ? 'own' : 'library';
  if (!file || kRuntimeFolders.test(file)) return 'runtime';
  return 'own';
}

// Package indexes take these for the same: "My_App", "my-app".
function plainName(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, '-');
}

// What decides the colour step: the package of a library, else the folder of the file, else the
// first part of a dotted name.
export function packageOf(file: string, name: string): string {
  const library = kLibraryFolders.exec(file);
  if (library) return library[1];
  const folder = file.lastIndexOf('/');
  if (folder > 0) return file.slice(0, folder);
  return name.split(/[.:/]/, 1)[0];
}

// FNV-1a over UTF-16 units.
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return hash >>> 0;
}

// The last folders of a path, enough to recognise it: "…/dulwich/objects.py:1086".
export function shortPlace(place: string): string {
  const parts = place.split('/');
  return parts.length <= 3 ? place : `…/${parts.slice(-2).join('/')}`;
}
