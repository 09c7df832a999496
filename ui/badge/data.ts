// What the badge knows: the requests of this page that have a profile, and how to learn more.

export interface Meta {
  id: string;
  state: 'running' | 'waiting' | 'stored' | 'failed';
  reason?: string;
  method?: string;
  path?: string;
  route?: string;
  status?: number;
  duration_ms?: number;
  upstream_ms?: number;
  cpu_ms?: number;
  phases_ms?: Record<string, number>;
  changes?: string[];
}

export interface Session {
  expires_at: string;
  requests: number;
}

// One request of the page. `meta` is null until the proxy has told about it.
export interface Entry {
  id: string;
  path: string;
  meta: Meta | null;
}

const kEntriesMax = 100;
const kLongestMs = 75_000; // the proxy gives an upload 60 s

export class Requests {
  readonly entries: Entry[] = [];
  // Everything that the browser's own timing has seen of this page, profiled or not.
  seen = 0;
  private readonly known = new Set<string>();
  private abort = new AbortController();
  private sequence = -1; // of the last answer about the page view; -1: none yet
  private pageviewKnown = true;

  constructor(
    private readonly prefix: string,
    private readonly pageview: string,
    private readonly changed: () => void,
  ) {
    addEventListener('pagehide', () => this.abort.abort());
    addEventListener('pageshow', () => {
      if (this.abort.signal.aborted) this.abort = new AbortController();
    });
  }

  // Layer 1: the ids that responses carry in Server-Timing. Copies from a cache carry old ids.
  observe(): void {
    const types = (window.PerformanceObserver && PerformanceObserver.supportedEntryTypes) || [];
    for (const type of ['navigation', 'resource']) {
      if (!types.includes(type)) continue;
      new PerformanceObserver((list) =>
        this.note(list.getEntries() as PerformanceResourceTiming[]),
      ).observe({ type, buffered: true });
    }
  }

  // Layer 2: what only the proxy has seen, if it keeps page views.
  async askPageview(): Promise<void> {
    if (!this.pageview || !this.pageviewKnown) return;
    const after = this.sequence >= 0 ? `?after=${this.sequence}` : '';
    const answer = await this.get<{ profiles: Meta[]; seq: number }>(
      `pageviews/${encodeURIComponent(this.pageview)}${after}`,
    );
    if (!answer) {
      this.pageviewKnown = false;
      return;
    }
    this.sequence = answer.seq;
    for (const meta of answer.profiles) {
      const entry =
        this.add(meta.id, meta.path ?? '') ?? this.entries.find(({ id }) => id === meta.id);
      if (entry) entry.meta = meta;
    }
    this.changed();
  }

  add(id: string, path: string): Entry | null {
    if (!/^[0-9a-z]{20}$/.test(id) || this.known.has(id) || this.entries.length >= kEntriesMax)
      return null;
    this.known.add(id);
    const entry: Entry = { id, path, meta: null };
    this.entries.push(entry);
    return entry;
  }

  // Follows a profile until it is settled. An unknown id is dropped without a word.
  async follow(entry: Entry): Promise<void> {
    const until = Date.now() + kLongestMs;
    for (let wait = ''; Date.now() < until; wait = '?wait=5s') {
      const began = Date.now();
      const meta = await this.get<Meta>(`profiles/${entry.id}${wait}`);
      if (!meta) {
        if (!entry.meta) this.drop(entry);
        return;
      }
      entry.meta = meta;
      this.changed();
      if (meta.state === 'stored' || meta.state === 'failed') return;
      if (wait && Date.now() - began < 1000) await new Promise((done) => setTimeout(done, 1000));
    }
  }

  // One after the other, so that a page full of requests does not flood the proxy.
  async followAll(): Promise<void> {
    for (const entry of [...this.entries]) if (!settled(entry)) await this.follow(entry);
  }

  async session(method: 'POST' | 'DELETE', minutes: number): Promise<Session | null> {
    const answer = await fetch(`${this.prefix}/api/v1/session`, {
      method,
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ minutes }),
    });
    if (!answer.ok) throw new Error(String(answer.status));
    return method === 'POST' ? ((await answer.json()) as Session) : null;
  }

  private note(timings: PerformanceResourceTiming[]): void {
    for (const timing of timings) {
      const url = new URL(timing.name, location.href);
      if (url.href.startsWith(`${this.prefix}/`)) continue;
      this.seen++;
      const cached = (timing as { deliveryType?: string }).deliveryType === 'cache';
      const id = (timing.serverTiming ?? []).find((one) => one.name === 'profile')?.description;
      if (id && timing.transferSize > 0 && !cached) this.add(id, url.pathname);
    }
    this.changed();
  }

  private drop(entry: Entry): void {
    this.entries.splice(this.entries.indexOf(entry), 1);
    this.changed();
  }

  // Null for every failure: the page's own console must stay silent about us.
  private async get<T>(path: string): Promise<T | null> {
    try {
      const answer = await fetch(`${this.prefix}/api/v1/${path}`, { signal: this.abort.signal });
      return answer.ok ? ((await answer.json()) as T) : null;
    } catch {
      return null;
    }
  }
}

export function settled(entry: Entry): boolean {
  return entry.meta?.state === 'stored' || entry.meta?.state === 'failed';
}

const kSessionKey = 'flamegate-session';

// The cookie is out of a script's reach; what the server said about it is kept beside it. The console
// on the same origin reads the same key.
export function storedSession(): Session | null {
  try {
    const session = JSON.parse(sessionStorage.getItem(kSessionKey) || 'null') as Session | null;
    return session && Date.parse(session.expires_at) > Date.now() ? session : null;
  } catch {
    return null;
  }
}

export function storeSession(session: Session | null): void {
  try {
    if (session) sessionStorage.setItem(kSessionKey, JSON.stringify(session));
    else sessionStorage.removeItem(kSessionKey);
  } catch {
    // The countdown is lost with the page; the session is not.
  }
}

export function storedTheme(): string {
  try {
    return localStorage.getItem('flamegate-theme') ?? '';
  } catch {
    return '';
  }
}
