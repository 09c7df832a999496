// Finding frames by text, and what they cost together.

import { kNone, total, type Frames } from './frames';
import { Symbols, type Owner } from './symbols';

export interface Found {
  // One byte a function: 1 where the text is in the name or the place.
  mask: Uint8Array;
  boxes: number;
  functions: number;
  // Time under a matching frame, each moment counted once, however deeply matches nest.
  total: number;
  self: number;
}

// Words are all looked for, in the name or the file, without regard to case.
export function matchFunctions(symbols: Symbols, text: string): Uint8Array {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const mask = new Uint8Array(symbols.count);
  if (words.length === 0) return mask;
  for (let fn = 0; fn < symbols.count; fn++) {
    const hay = `${symbols.names[fn]}\n${symbols.files[fn]}`.toLowerCase();
    if (words.every((word) => hay.includes(word))) mask[fn] = 1;
  }
  return mask;
}

// What stands out: functions of an owner that match a text. Null when everything does.
export function highlight(symbols: Symbols, text: string, owner: Owner | ''): Uint8Array | null {
  if (!text && !owner) return null;
  const mask = text ? matchFunctions(symbols, text) : new Uint8Array(symbols.count).fill(1);
  if (owner) symbols.owners.forEach((one, fn) => one !== owner && (mask[fn] = 0));
  return mask;
}

export function findFrames(frames: Frames, mask: Uint8Array): Found {
  const found: Found = { mask, boxes: 0, functions: 0, total: 0, self: 0 };
  for (let fn = 0; fn < mask.length; fn++) found.functions += mask[fn];
  const covered = new Uint8Array(frames.count);
  for (let box = 0; box < frames.count; box++) {
    const parent = frames.parent[box];
    const inside = parent !== kNone && covered[parent] === 1;
    const hit = frames.fn[box] >= 0 && mask[frames.fn[box]] === 1;
    if (hit) {
      found.boxes++;
      found.self += frames.self[box];
      if (!inside) found.total += total(frames, box);
    }
    if (hit || inside) covered[box] = 1;
  }
  return found;
}
