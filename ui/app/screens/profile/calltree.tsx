// The merged graph as a tree of rows: everything that the flame shows, for keyboard and reader.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { count, percent, valueText } from '../../core/format';
import { frameName, kNone, pathTo, total, type Frames } from '../../model/frames';
import { childOffsets } from '../../model/top';
import { kOwnerStyles } from './detail';
import type { Merged } from './load';

interface Props {
  merged: Merged;
  mask: Uint8Array | null;
  selected: number;
  choose: (frame: string) => void;
}

const kOpenShare = 0.5; // of the parent: such children are open at first
const kRowsMax = 2000;
const kIndents = 24; // deeper rows keep this indent; their level is spoken

export function CallTree({ merged, mask, selected, choose }: Props) {
  const { frames } = merged;
  const children = useMemo(() => childOffsets(frames), [frames]);
  const [open, setOpen] = useState(() => openAtFirst(frames, children));
  const body = useRef<HTMLTableSectionElement>(null);
  useEffect(() => {
    if (selected === kNone) return;
    setOpen((old) => new Set([...old, ...pathTo(frames, selected).slice(0, -1)]));
  }, [selected, frames]);
  const rows = useMemo(() => visibleRows(frames, children, open), [frames, children, open]);
  const active = rows.includes(selected) ? selected : rows[0];

  const toggle = (box: number, want = !open.has(box)) => {
    const next = new Set(open);
    if (want) next.add(box);
    else next.delete(box);
    setOpen(next);
  };
  const focus = (box: number) => {
    if (box === kNone || box === undefined) return;
    choose(frameName(frames, box, false));
    body.current?.querySelector<HTMLElement>(`[data-box="${box}"]`)?.focus();
  };
  const onKey = (event: KeyboardEvent, box: number) => {
    const at = rows.indexOf(box);
    const isOpen = open.has(box);
    const actions: Record<string, () => void> = {
      ArrowDown: () => focus(rows[at + 1]),
      ArrowUp: () => focus(rows[at - 1]),
      Home: () => focus(rows[0]),
      End: () => focus(rows[rows.length - 1]),
      ArrowRight: () => (isOpen ? focus(children.first[box]) : toggle(box, true)),
      ArrowLeft: () => (isOpen ? toggle(box, false) : focus(frames.parent[box])),
      Enter: () => toggle(box),
      ' ': () => toggle(box),
    };
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };
  return (
    <div class="inset">
      <table class="flush tight calltree" role="treegrid" aria-label="Call tree">
        <thead>
          <tr>
            <th scope="col">Function</th>
            <th scope="col" class="num">
              Total
            </th>
            <th scope="col" class="num opt">
              Self
            </th>
            <th scope="col" class="num opt">
              Samples
            </th>
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((box) => (
            <TreeRow
              key={box}
              merged={merged}
              box={box}
              leaf={children.count[box] === 0}
              open={open.has(box)}
              active={box === active}
              selected={box === selected}
              dim={mask !== null && !(frames.fn[box] >= 0 && mask[frames.fn[box]])}
              toggle={() => toggle(box)}
              choose={() => choose(frameName(frames, box, false))}
              onKey={(event) => onKey(event, box)}
            />
          ))}
        </tbody>
      </table>
      {rows.length >= kRowsMax && (
        <p class="dim">The first {count(kRowsMax)} open rows; close some to see others.</p>
      )}
    </div>
  );
}

interface RowProps {
  merged: Merged;
  box: number;
  leaf: boolean;
  open: boolean;
  active: boolean;
  selected: boolean;
  dim: boolean;
  toggle: () => void;
  choose: () => void;
  onKey: (event: KeyboardEvent) => void;
}

function TreeRow({
  merged,
  box,
  leaf,
  open,
  active,
  selected,
  dim,
  toggle,
  choose,
  onKey,
}: RowProps) {
  const { frames } = merged;
  const fn = frames.fn[box];
  const value = (amount: number) => (
    <>
      <span class="fig">{valueText(amount, merged.unit)}</span>{' '}
      <span class="u share">{percent(amount, frames.span)}</span>
    </>
  );
  const indent = Math.min(frames.depth[box], kIndents) * 12;
  return (
    <tr
      role="row"
      data-box={box}
      aria-level={frames.depth[box] + 1}
      aria-expanded={leaf ? undefined : open}
      aria-selected={selected}
      tabIndex={active ? 0 : -1}
      class={dim ? 'noise' : ''}
      onClick={choose}
      onDblClick={toggle}
      onKeyDown={onKey}
    >
      <td role="gridcell" class="r" style={{ paddingLeft: `${indent}px` }}>
        <span
          class="twist"
          aria-hidden="true"
          onClick={leaf ? undefined : (event) => (event.stopPropagation(), toggle())}
        >
          {leaf ? '' : open ? '▾' : '▸'}
        </span>
        <span class={`sw ${fn >= 0 ? kOwnerStyles[frames.symbols.owner(fn)] : ''}`} />{' '}
        <span class="mono" title={frames.symbols.place(fn)}>
          {frames.symbols.name(fn)}
        </span>
      </td>
      <td role="gridcell" class="num">
        {value(total(frames, box))}
      </td>
      <td role="gridcell" class="num opt">
        {value(frames.self[box])}
      </td>
      <td role="gridcell" class="num opt">
        {count(frames.samples[box])}
      </td>
    </tr>
  );
}

type Children = ReturnType<typeof childOffsets>;

// The hot path: from the roots along every child that holds at least half of its parent.
function openAtFirst(frames: Frames, children: Children): Set<number> {
  const open = new Set<number>();
  const queue = frames.count > 0 ? [0] : [];
  while (queue.length > 0) {
    const box = queue.pop()!;
    if (children.count[box] === 0) continue;
    open.add(box);
    for (let i = 0; i < children.count[box]; i++) {
      const child = children.first[box] + i;
      if (total(frames, child) >= total(frames, box) * kOpenShare) queue.push(child);
    }
  }
  return open;
}

function visibleRows(frames: Frames, children: Children, open: Set<number>): number[] {
  const rows: number[] = [];
  const stack = frames.count > 0 ? [0] : [];
  while (stack.length > 0 && rows.length < kRowsMax) {
    const box = stack.pop()!;
    rows.push(box);
    if (!open.has(box)) continue;
    for (let i = children.count[box] - 1; i >= 0; i--) stack.push(children.first[box] + i);
  }
  return rows;
}
