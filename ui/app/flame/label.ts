// Labels that fit: qualified names lose their outer parts first, the function's own name last.

const kSeparator = /::|[.#/$]/g;
const kLeast = 3; // characters; less says nothing

export function fitLabel(name: string, room: number): string {
  if (room < kLeast) return '';
  if (name.length <= room) return name;
  const short = dropOuterParts(name, room);
  if (short.length <= room) return short;
  return `${short.slice(0, room - 1)}…`;
}

// The longest tail of parts that fits; the last part if none does. Arguments and template
// parameters are not parts.
function dropOuterParts(name: string, room: number): string {
  const signature = name.slice(1).search(/[(<\[{]/) + 1 || name.length;
  kSeparator.lastIndex = 0;
  let tail = 0;
  for (let found = kSeparator.exec(name); found; found = kSeparator.exec(name)) {
    const next = found.index + found[0].length;
    if (found.index >= signature || next >= name.length) break;
    if (found.index === 0) continue;
    tail = next;
    if (name.length - tail <= room) break;
  }
  return name.slice(tail);
}
