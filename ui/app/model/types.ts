// The shapes of the API's answers, as far as the console reads them. Unknown values are absent.

export type ProfileState = 'running' | 'waiting' | 'stored' | 'failed';
export type Right = 'view' | 'trigger' | 'manage';

export interface ProfileMeta {
  id: string;
  state: ProfileState;
  reason?: string;
  trigger?: string;
  method?: string;
  path?: string;
  host?: string;
  route?: string;
  service?: string;
  status?: number;
  site?: string;
  started_at?: string;
  duration_ms?: number;
  upstream_ms?: number;
  cpu_ms?: number;
  mode?: string;
  interval_us?: number;
  samples?: number;
  ticks?: { expected?: number; taken?: number; missed?: number };
  overhead_us?: number;
  agent?: string;
  runtime?: string;
  pid?: number;
  bytes?: number;
  campaign?: string;
  pageview?: string;
  pinned_until?: string;
  phases_ms?: Partial<Record<Phase, number>>;
  states_ms?: Partial<Record<ThreadState, number>>;
  changes?: string[];
}

export type Phase = 'queue' | 'connect' | 'first_byte' | 'body';
export type ThreadState = 'running' | 'waiting' | 'gil' | 'gc';

export interface ProfilePage {
  profiles: ProfileMeta[];
  total: number;
  next?: string;
}

export interface Status {
  rights?: Right[];
  version?: string;
  name?: string;
  store?: StoreStatus;
  captures?: Record<string, number>;
  uploads?: {
    answers?: Record<string, number>;
    bytes?: number;
    open?: number;
    open_bytes?: number;
  };
  queue?: Record<string, number>;
  agents?: AgentStatus[];
}

export interface StoreStatus {
  kind?: string;
  available: boolean;
  trouble?: string;
  profiles?: number;
  pinned?: number;
  bytes?: number;
  evicted?: { age?: number; bytes?: number; count?: number };
  oldest?: string;
}

export interface AgentStatus {
  agent: string;
  runtime: string;
  service: string;
  host?: string;
  first_seen: string;
  last_seen: string;
  started: number;
  refused: number;
  uploads: number;
  latest_refusal?: string;
}

// One row of `routes` or `hosts`.
export interface Group {
  name: string;
  profiles: number;
  stored: number;
  latest: string;
  mean_ms: number;
  max_ms: number;
}

export interface Session {
  expires_at: string;
  requests: number;
}

// Columns of functions: indices into `strings`.
export interface FunctionColumns {
  name: number[];
  file: number[];
  line: number[];
}

// The merged call tree. Node 0 is the root; parents stand before their children.
// `function` is an index into `functions`, -1 for the root, -2 for frames that were pruned.
export interface TreeAnswer {
  types: string[];
  units: string[];
  value: string;
  total: number;
  samples: number;
  strings: string[];
  functions: FunctionColumns;
  nodes: {
    parent: number[];
    function: number[];
    line: number[];
    self: number[];
    total: number[];
    samples: number[];
  };
  pruned?: { nodes: number; value: number };
  states?: Partial<Record<ThreadState, number>>;
}

// The samples in time order. A stack is a node of `stacks`, whose parents stand before it; node 0 is
// the empty stack, with function -1.
export interface TimelineAnswer {
  start_unix_ns: string;
  duration_ns: number;
  strings: string[];
  functions: FunctionColumns;
  stacks: { parent: number[]; function: number[]; line: number[] };
  states: ThreadState[];
  threads: TimelineThread[];
}

export interface TimelineThread {
  name: string;
  t_ns: number[];
  weight_ns: number[];
  cpu_ns?: number[];
  stack: number[];
  state: number[];
}
