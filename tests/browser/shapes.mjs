// Answers of the API, made from calls.

import { call, random } from './calls.mjs';

function fileOf({ name, owner }) {
  const parts = name.split(/[.:]/);
  const modules = parts
    .filter((part) => /^[a-z_]+$/.test(part))
    .slice(0, Math.max(1, parts.length - 1))
    .join('/');
  if (owner === 'a')
    return name.includes('.html') ? 'klaus/templates/view_commit.html' : `${modules}.py`;
  return owner === 'l'
    ? `/srv/venv/lib/python3.11/site-packages/${modules}.py`
    : `/usr/lib/python3.11/${parts[0]}.py`;
}

class Names {
  strings = [];
  functions = { name: [], file: [], line: [] };
  #strings = new Map();
  #functions = new Map();

  string(text) {
    if (!this.#strings.has(text)) this.#strings.set(text, this.strings.push(text) - 1);
    return this.#strings.get(text);
  }

  fn(frame) {
    if (!this.#functions.has(frame.name)) {
      this.functions.name.push(this.string(frame.name));
      this.functions.file.push(this.string(fileOf(frame)));
      this.functions.line.push(10 + frame.name.length * 7);
      this.#functions.set(frame.name, this.functions.name.length - 1);
    }
    return this.#functions.get(frame.name);
  }
}

const ns = (ms) => Math.round(ms * 1e6);

// Merged by path of names, as the proxy does it.
export function treeOf(calls) {
  const names = new Names();
  const nodes = {
    parent: [-1],
    function: [-1],
    line: [0],
    self: [0],
    total: [0],
    samples: [0],
  };
  const index = new Map();
  const visit = (frame, parent) => {
    const fn = names.fn(frame);
    const key = `${parent} ${fn}`;
    if (!index.has(key)) {
      index.set(key, nodes.parent.length);
      nodes.parent.push(parent);
      nodes.function.push(fn);
      nodes.line.push(names.functions.line[fn] + 3);
      for (const column of ['self', 'total', 'samples']) nodes[column].push(0);
    }
    const node = index.get(key);
    const inner = frame.callees.reduce((sum, callee) => sum + callee.ms, 0);
    nodes.total[node] += ns(frame.ms);
    nodes.self[node] += ns(frame.ms - inner);
    nodes.samples[node] += Math.max(1, Math.round(frame.ms));
    for (const callee of frame.callees) visit(callee, node);
  };
  for (const frame of calls) {
    visit(frame, 0);
    nodes.total[0] += ns(frame.ms);
    nodes.samples[0] += Math.round(frame.ms);
  }
  return {
    types: ['samples', 'wall', 'cpu'],
    units: ['count', 'nanoseconds', 'nanoseconds'],
    value: 'wall',
    total: nodes.total[0],
    samples: nodes.samples[0],
    strings: names.strings,
    functions: names.functions,
    nodes,
    pruned: { nodes: 0, value: 0 },
    states: {
      running: ns(350.5),
      waiting: ns(38.8),
      gil: ns(12.4),
      gc: ns(3.8),
    },
  };
}

// A sample each half a millisecond.
export function timelineOf(calls, startMs) {
  const names = new Names();
  const stacks = { parent: [-1], function: [-1], line: [0] };
  const index = new Map();
  const nodeOf = (frame, parent) => {
    const key = `${parent} ${names.fn(frame)}`;
    if (!index.has(key)) {
      index.set(key, stacks.parent.length);
      stacks.parent.push(parent);
      stacks.function.push(names.fn(frame));
      stacks.line.push(names.functions.line[names.fn(frame)] + 3);
    }
    return index.get(key);
  };
  const thread = {
    name: 'MainThread',
    t_ns: [],
    weight_ns: [],
    cpu_ns: [],
    stack: [],
    state: [],
  };
  const step = 0.5;
  const emit = (from, to, stack, state) => {
    for (let t = Math.ceil(from / step) * step; t < to; t += step) {
      thread.t_ns.push(ns(t));
      thread.weight_ns.push(ns(step));
      thread.cpu_ns.push(state === 0 ? ns(step) : 0);
      thread.stack.push(stack);
      thread.state.push(state);
    }
  };
  const visit = (frame, at, parent) => {
    const node = nodeOf(frame, parent);
    let time = at;
    for (const callee of frame.callees) {
      visit(callee, time, node);
      time += callee.ms;
    }
    emit(time, at + frame.ms, node, frame.state);
  };
  let time = 0;
  for (const frame of calls) {
    visit(frame, time, 0);
    time += frame.ms;
  }
  return {
    start_unix_ns: `${BigInt(Math.round(startMs * 1000)) * 1000n}`,
    duration_ns: ns(time),
    strings: names.strings,
    functions: names.functions,
    stacks,
    states: ['running', 'waiting', 'gil', 'gc'],
    threads: [
      thread,
      {
        name: 'ThreadPoolExecutor-0_0',
        t_ns: [0],
        weight_ns: [ns(1)],
        cpu_ns: [0],
        stack: [1],
        state: [1],
      },
    ],
  };
}

// A synthetic merged tree, for the renderer's sake.
export function bigTree(nodesWanted) {
  const names = new Names();
  const nodes = {
    parent: [-1],
    function: [-1],
    line: [0],
    self: [0],
    total: [1e12],
    samples: [1e6],
  };
  const owners = ['a', 'l', 'r'];
  for (let node = 0; nodes.parent.length < nodesWanted; node++) {
    const children = 1 + Math.floor(random() * 2.2);
    let rest = nodes.total[node] * (0.92 + random() * 0.08);
    for (let i = 0; i < children && nodes.parent.length < nodesWanted; i++) {
      const part = Math.floor(i === children - 1 ? rest : rest * (0.3 + random() * 0.5));
      rest -= part;
      nodes.parent.push(node);
      nodes.function.push(
        names.fn(
          call(
            `pkg${Math.floor(random() * 40)}.mod.fn${Math.floor(random() * 900)}`,
            owners[Math.floor(random() * 3)],
            0,
          ),
        ),
      );
      nodes.line.push(1);
      nodes.self.push(0);
      nodes.total.push(part);
      nodes.samples.push(Math.ceil(part / 1e6));
    }
  }
  const inner = new Float64Array(nodes.parent.length);
  nodes.parent.forEach((parent, node) => parent >= 0 && (inner[parent] += nodes.total[node]));
  nodes.self = nodes.total.map((total, node) => Math.max(0, total - inner[node]));
  return {
    ...treeOf([]),
    total: 1e12,
    samples: 1e6,
    strings: names.strings,
    functions: names.functions,
    nodes,
    states: {},
  };
}
