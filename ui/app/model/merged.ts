// The merged call graph, widest first, from the API's tree.

import { arrange, type Frames } from './frames';
import { Symbols } from './symbols';
import type { TreeAnswer } from './types';

// Lays nodes out from the left, the widest child first. Children keep within their parent even when
// the answer's totals do not add up.
export function layOutTree(answer: TreeAnswer, symbols: Symbols): Frames {
  const { parent, total } = answer.nodes;
  const count = parent.length;
  const { offsets, children } = childLists(parent, total);
  const start = new Float64Array(count);
  const end = new Float64Array(count);
  const depth = new Uint32Array(count);
  if (count > 0) end[0] = total[0];

  const order = new Int32Array(count);
  let filled = count > 0 ? 1 : 0;
  for (let at = 0; at < filled; at++) {
    const node = order[at];
    let x = start[node];
    for (let c = offsets[node]; c < offsets[node + 1]; c++) {
      const child = children[c];
      start[child] = Math.min(x, end[node]);
      end[child] = Math.min(x + total[child], end[node]);
      x = end[child];
      depth[child] = depth[node] + 1;
      order[filled++] = child;
    }
  }
  return reorder(answer, symbols, order.subarray(0, filled), { start, end, depth });
}

interface Layout {
  start: Float64Array;
  end: Float64Array;
  depth: Uint32Array;
}

// Breadth-first order: every row then stands by start.
function reorder(answer: TreeAnswer, symbols: Symbols, order: Int32Array, at: Layout): Frames {
  const { nodes } = answer;
  const rank = new Int32Array(nodes.parent.length).fill(-1);
  order.forEach((node, i) => (rank[node] = i));
  const pick = (column: ArrayLike<number>) => Float64Array.from(order, (node) => column[node] ?? 0);
  return arrange({
    symbols,
    start: pick(at.start),
    end: pick(at.end),
    depth: pick(at.depth),
    self: pick(nodes.self),
    samples: pick(nodes.samples),
    fn: pick(nodes.function),
    line: pick(nodes.line),
    parent: Float64Array.from(order, (node) => (node === 0 ? -1 : rank[nodes.parent[node]])),
    span: order.length > 0 ? at.end[0] : 0,
  });
}

// Children of node n are children[offsets[n] .. offsets[n + 1]], widest first. Nodes whose parent
// does not stand before them are left out, so a malformed answer cannot make a cycle.
function childLists(parent: number[], total: number[]) {
  const count = parent.length;
  const offsets = new Uint32Array(count + 1);
  const valid = (node: number) => parent[node] >= 0 && parent[node] < node;
  for (let node = 1; node < count; node++) if (valid(node)) offsets[parent[node] + 1]++;
  for (let node = 0; node < count; node++) offsets[node + 1] += offsets[node];
  const children = new Int32Array(offsets[count]);
  const next = offsets.slice();
  for (let node = 1; node < count; node++) if (valid(node)) children[next[parent[node]]++] = node;
  for (let node = 0; node < count; node++) {
    if (offsets[node + 1] - offsets[node] < 2) continue;
    children
      .subarray(offsets[node], offsets[node + 1])
      .sort((a, b) => total[b] - total[a] || a - b);
  }
  return { offsets, children };
}
