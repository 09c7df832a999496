// Keyboard: one listener, a stack of scopes. The newest scope that knows a key gets it.

import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

export interface Key {
  key: string; // "t", "?", "g p"
  says: string; // for the help
  run: () => void;
  // False: the next scope may have the key.
  when?: () => boolean;
}

const kOff = 'flamegate-keys-off';
const kChordMs = 1200;

export const lettersOff = signal(readOff());
const scopes: { keys: Key[] }[] = [];
let chord = '';
let chordTimer = 0;

function readOff(): boolean {
  try {
    return localStorage.getItem(kOff) === '1';
  } catch {
    return false;
  }
}

export function setLettersOff(off: boolean): void {
  lettersOff.value = off;
  try {
    if (off) localStorage.setItem(kOff, '1');
    else localStorage.removeItem(kOff);
  } catch {
    // The choice then lasts until the page is left.
  }
}

export function activeKeys(): Key[] {
  return scopes.flatMap((scope) => scope.keys);
}

// Keys live as long as the component that names them.
export function useKeys(keys: Key[]): void {
  const scope = useRef({ keys });
  scope.current.keys = keys;
  useEffect(() => {
    const mine = scope.current;
    scopes.push(mine);
    return () => void scopes.splice(scopes.indexOf(mine), 1);
  }, []);
}

export function startKeys(): void {
  document.addEventListener('keydown', onKey);
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = isTyping(event.target);
  if (event.key === 'Escape') {
    if (run('Escape')) event.preventDefault();
    else if (typing) (event.target as HTMLElement).blur();
    return;
  }
  if (typing || lettersOff.value) return;
  const name = chord ? `${chord} ${event.key}` : event.key;
  clearChord();
  if (run(name)) {
    event.preventDefault();
  } else if (startsChord(event.key)) {
    chord = event.key;
    chordTimer = window.setTimeout(clearChord, kChordMs);
  }
}

function clearChord(): void {
  clearTimeout(chordTimer);
  chord = '';
}

function run(name: string): boolean {
  for (let i = scopes.length - 1; i >= 0; i--) {
    const key = scopes[i].keys.find((k) => k.key === name && (k.when?.() ?? true));
    if (key) {
      key.run();
      return true;
    }
  }
  return false;
}

function startsChord(key: string): boolean {
  return activeKeys().some((k) => k.key.startsWith(`${key} `));
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement)
    return !['checkbox', 'radio', 'button'].includes(target.type);
  return (
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement ||
    target.isContentEditable
  );
}
