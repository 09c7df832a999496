// Where the console is, and how it goes elsewhere.

import { computed, signal } from '@preact/signals';
import { parsePlace } from './url';

// The proxy writes its path prefix into the page.
export const prefix: string =
  document.querySelector<HTMLMetaElement>('meta[name="flamegate-prefix"]')?.content ?? '';

interface Address {
  path: string;
  search: string;
}

const address = signal<Address>(readAddress());

export const query = computed(() => new URLSearchParams(address.value.search));
export const place = computed(() => parsePlace(address.value.path, query.value));

function readAddress(): Address {
  const { pathname, search } = location;
  const inside = pathname === prefix || pathname.startsWith(`${prefix}/`);
  // The viewer also stands at an address outside the prefix.
  const path = inside ? pathname.slice(prefix.length + 1) : pathname.split('/').pop()!;
  return { path, search };
}

export function href(path: string, params?: URLSearchParams): string {
  const search = params?.toString();
  return `${prefix}/${path}${search ? `?${search}` : ''}`;
}

export function profileHref(id: string): string {
  return href(`p/${encodeURIComponent(id)}`);
}

export function go(url: string, how: 'push' | 'replace' = 'push'): void {
  if (url === location.pathname + location.search) return;
  if (how === 'push') history.pushState(null, '', url);
  else history.replaceState(null, '', url);
  address.value = readAddress();
}

// Another view of the same thing.
export function setQuery(params: URLSearchParams, how: 'push' | 'replace'): void {
  go(href(address.value.path, params), how);
}

// Follows links within the console without loading the page again.
function onClick(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element).closest?.('a');
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin)
    return;
  if (link.pathname !== prefix && !link.pathname.startsWith(`${prefix}/`)) return;
  if (link.pathname.startsWith(`${prefix}/api/`)) return;
  event.preventDefault();
  go(link.pathname + link.search);
  scrollTo(0, 0);
}

export function startRouter(): void {
  const at = place.peek();
  // One address for a profile, whichever way the visitor came.
  if (at.screen === 'profile' && at.id && !address.peek().path.startsWith('p/')) {
    const params = new URLSearchParams(location.search);
    params.delete('id');
    history.replaceState(null, '', href(`p/${encodeURIComponent(at.id)}`, params));
    address.value = readAddress();
  }
  addEventListener('popstate', () => (address.value = readAddress()));
  document.addEventListener('click', onClick);
}
