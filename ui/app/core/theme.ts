// Light or dark: the system's choice until somebody makes another one.

import { effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';
const kKey = 'flamegate-theme';

export const theme = signal<Theme>(stored());
// Changes whenever colours may have: canvases repaint then.
export const paintedTheme = signal(0);

function stored(): Theme {
  try {
    const value = localStorage.getItem(kKey);
    return value === 'light' || value === 'dark' ? value : 'system';
  } catch {
    return 'system';
  }
}

export function nextTheme(): void {
  const order: Theme[] = ['system', 'light', 'dark'];
  theme.value = order[(order.indexOf(theme.value) + 1) % order.length];
  try {
    if (theme.value === 'system') localStorage.removeItem(kKey);
    else localStorage.setItem(kKey, theme.value);
  } catch {
    // Storage may be forbidden; the choice then lasts until the page is left.
  }
}

export function startTheme(): void {
  effect(() => {
    const root = document.documentElement;
    if (theme.value === 'system') delete root.dataset.theme;
    else root.dataset.theme = theme.value;
    paintedTheme.value = paintedTheme.peek() + 1;
  });
  for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)']) {
    matchMedia(query).addEventListener('change', () => paintedTheme.value++);
  }
}
