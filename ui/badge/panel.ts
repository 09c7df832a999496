// The pill and the panel, built without markup: pages may demand Trusted Types.

import {
  settled,
  storedSession,
  storedTheme,
  storeSession,
  type Entry,
  type Requests,
  type Session,
} from './data';
import { kStyle } from './style';

const kMinutes = 15;
const kFirstLookMs = 2000;
const kLastLookMs = 60_000;
const kPhases: [string, string][] = [
  ['queue', 'queue'],
  ['connect', 'connect'],
  ['first_byte', 'first byte'],
  ['body', 'body'],
];

type Child = Node | string | null | undefined | false;

function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  style = '',
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (style) element.className = style;
  for (const child of children) if (child) element.append(child);
  return element;
}

function button(style: string, text: Child, run: () => void): HTMLButtonElement {
  const element = make('button', style, text);
  element.type = 'button';
  element.addEventListener('click', run);
  return element;
}

function figure(ms: number | undefined): string {
  return ms === undefined
    ? ''
    : ms.toLocaleString('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}

function left(session: Session): string {
  const seconds = Math.max(0, Math.round((Date.parse(session.expires_at) - Date.now()) / 1000));
  return seconds < 60
    ? `${seconds} s left`
    : `${Math.floor(seconds / 60)} min ${seconds % 60} s left`;
}

export class Panel {
  private readonly host = document.createElement('flamegate-badge');
  private readonly inner = make('div', 'in');
  private readonly pill = button('pill', '', () => this.toggle(!this.open));
  private readonly section = make('section', 'gone');
  private open = false;
  private session = storedSession();
  private failure = '';
  private timer = 0;
  private lookTimer = 0;

  constructor(
    private readonly prefix: string,
    private readonly requests: Requests,
    private readonly documentId: string,
  ) {
    const root = this.host.attachShadow({ mode: 'open' });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(kStyle);
    root.adoptedStyleSheets = [sheet];
    this.host.dataset.theme = storedTheme();
    this.section.setAttribute('aria-label', 'flamegate: this page');
    // The panel stands above the pill and follows it for the keyboard.
    this.inner.append(this.pill, this.section);
    root.append(this.inner);
    root.addEventListener('keydown', (event) => this.onKey(event as KeyboardEvent));
  }

  // Outside <body>: frameworks replace or hydrate that one.
  mount(): void {
    document.documentElement.append(this.host);
    if (this.host.showPopover) {
      this.host.popover = 'manual';
      this.host.showPopover();
    }
    this.update();
    if (this.session) this.tick();
  }

  update(): void {
    this.fillPill();
    if (this.open) this.fillSection();
  }

  private onKey(event: KeyboardEvent): void {
    if (event.key !== 'Escape' || !this.open) return;
    event.stopPropagation();
    this.toggle(false);
    this.pill.focus();
  }

  private toggle(open: boolean): void {
    this.open = open;
    this.section.className = open ? '' : 'gone';
    this.update();
    if (!open) return;
    void this.lookAround(kFirstLookMs);
  }

  // Asks for what only the proxy has seen, less and less often, as long as the panel is open.
  private async lookAround(pause: number): Promise<void> {
    await this.requests.askPageview();
    await this.requests.followAll();
    clearTimeout(this.lookTimer);
    if (!this.open || pause > kLastLookMs) return;
    this.lookTimer = window.setTimeout(() => void this.lookAround(pause * 2), pause);
  }

  private tick(): void {
    clearTimeout(this.timer);
    if (this.session && Date.parse(this.session.expires_at) <= Date.now()) this.session = null;
    this.update();
    if (this.session) this.timer = window.setTimeout(() => this.tick(), 1000);
  }

  private document(): Entry | undefined {
    return this.requests.entries.find((entry) => entry.id === this.documentId);
  }

  private fillPill(): void {
    const parts: Child[] = [];
    const entry = this.document();
    const meta = entry?.meta;
    const total = figure(meta?.duration_ms);
    let dot = 'dot';
    if (this.session) {
      dot += ' rec';
      parts.push(make('b', '', 'recording'), make('span', '', left(this.session)));
    } else if (!entry) {
      const [timing] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
      parts.push(
        timing && make('b', '', `${figure(timing.responseEnd - timing.startTime)} ms`),
        make('span', '', 'not profiled'),
      );
    } else if (meta?.state === 'failed') {
      dot += ' bad';
      parts.push(
        make('b', '', (meta.reason ?? 'failed').replace(/-/g, ' ')),
        total && make('span', '', `${total} ms`),
      );
    } else {
      dot += settled(entry) ? ' on' : ' rec';
      parts.push(make('b', '', total ? `${total} ms` : 'profiling'));
      if (meta && !settled(entry)) parts.push(make('span', '', 'waiting for samples'));
      else if (meta?.upstream_ms !== undefined)
        parts.push(make('span', 'opt', `app ${figure(meta.upstream_ms)} ms`));
    }
    const profiled = this.requests.entries.length;
    if (profiled > 0)
      parts.push(make('span', '', `${profiled} of ${Math.max(this.requests.seen, profiled)}`));
    this.pill.replaceChildren(
      make('i', dot),
      ...parts.filter((part): part is Node => part instanceof Node).map(spaced),
    );
    this.pill.setAttribute('aria-expanded', String(this.open));
    this.pill.title = 'flamegate: requests of this page that were profiled';
  }

  private fillSection(): void {
    const meta = this.document()?.meta;
    const focused = (this.host.shadowRoot!.activeElement as HTMLElement | null)?.dataset.key;
    this.section.replaceChildren(
      this.head(),
      ...[
        this.phases(),
        this.list(),
        this.actions(),
        meta?.changes && this.changes(meta.changes),
      ].filter((part): part is HTMLElement => !!part),
    );
    if (focused) this.section.querySelector<HTMLElement>(`[data-key="${focused}"]`)?.focus();
  }

  private head(): HTMLElement {
    const { entries, seen } = this.requests;
    const counts = `${Math.max(seen, entries.length)} requests, ${entries.length} profiled`;
    return make(
      'div',
      'top',
      make('b', '', 'This page'),
      make('span', '', counts),
      make('span', 'end'),
      keyed(
        'hide',
        button('bare opt', 'Hide', () => this.host.remove()),
      ),
      keyed(
        'close',
        button('bare', 'Close', () => (this.toggle(false), this.pill.focus())),
      ),
    );
  }

  private phases(): HTMLElement | null {
    const meta = this.document()?.meta;
    if (!meta?.phases_ms || !meta.duration_ms) return null;
    const bar = make('div', 'ph');
    const key = make('div', 'key');
    let rest = meta.duration_ms;
    kPhases.forEach(([name, title], i) => {
      const ms = meta.phases_ms![name] ?? 0;
      rest -= ms;
      if (ms > 0) this.phase(bar, key, i, title, ms, meta.duration_ms!);
    });
    if (rest > 0.05) this.phase(bar, key, 4, 'client', rest, meta.duration_ms);
    return make('div', '', bar, key);
  }

  private phase(
    bar: HTMLElement,
    key: HTMLElement,
    step: number,
    title: string,
    ms: number,
    whole: number,
  ): void {
    const part = make('i', `p${step}`);
    part.style.width = `${Math.min(100, (ms / whole) * 100)}%`;
    bar.append(part);
    key.append(make('span', '', make('i', `p${step}`), `${title} `, figure(ms)));
  }

  private list(): HTMLElement {
    const { entries } = this.requests;
    if (entries.length === 0) return make('div', 'why', 'No request of this page was profiled.');
    const head = make(
      'tr',
      '',
      make('th', '', 'Request'),
      make('th', '', 'Status'),
      make('th', '', 'Total ', make('i', 'u', 'ms')),
      make('th', 'opt', 'CPU ', make('i', 'u', 'ms')),
      make('th'),
    );
    return make(
      'div',
      'list',
      make(
        'table',
        '',
        make('thead', '', head),
        make('tbody', '', ...entries.map((entry) => this.row(entry))),
      ),
    );
  }

  private row({ id, path, meta }: Entry): HTMLElement {
    const name = make('td', 'path', make('i', '', `${meta?.method ?? 'GET'} `), meta?.path ?? path);
    name.title = meta?.route ?? '';
    const link = make('a', '', 'flame');
    link.href = `${this.prefix}/p/${id}`;
    link.target = '_blank';
    link.rel = 'noopener';
    link.dataset.key = id;
    const failed = meta?.state === 'failed';
    const last = failed ? make('td', 'err', meta.reason ?? 'failed') : make('td', '', link);
    return make(
      'tr',
      '',
      name,
      make('td', '', meta?.status ? String(meta.status) : ''),
      make('td', '', figure(meta?.duration_ms)),
      make('td', 'opt', figure(meta?.cpu_ms)),
      last,
    );
  }

  private actions(): HTMLElement {
    const row = make('div', 'act');
    if (this.session) {
      row.append(
        make('i', 'dot rec'),
        make('b', '', 'Recording this session'),
        make('span', '', left(this.session)),
        make('span', 'end'),
      );
      row.append(
        keyed(
          'stop',
          button('', 'Stop recording', () => void this.record('DELETE')),
        ),
      );
    } else {
      row.append(
        keyed(
          'start',
          button('', `Profile this session, ${kMinutes} min`, () => void this.record('POST')),
        ),
      );
    }
    if (this.failure) row.append(make('span', 'err', this.failure));
    return row;
  }

  private changes(changes: string[]): HTMLElement {
    return make(
      'div',
      'why',
      make('b', '', 'Changed on this request: '),
      changes.length > 0 ? changes.join(' ') : 'nothing.',
    );
  }

  private async record(method: 'POST' | 'DELETE'): Promise<void> {
    try {
      this.session = await this.requests.session(method, kMinutes);
      storeSession(this.session);
      this.failure = '';
    } catch (error) {
      const status = (error as Error).message;
      this.failure = status === '403' ? 'No right to record.' : 'The proxy did not take it.';
    }
    this.tick();
    this.section
      .querySelector<HTMLElement>(this.session ? '[data-key="stop"]' : '[data-key="start"]')
      ?.focus();
  }
}

function keyed<T extends HTMLElement>(key: string, element: T): T {
  element.dataset.key = key;
  return element;
}

// Blanks between the parts, for those who hear or copy them.
function spaced(node: Node): Node {
  node.appendChild(document.createTextNode(' '));
  return node;
}
