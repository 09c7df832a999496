// The frame around every screen: top bar, help.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { count } from '../core/format';
import { activeKeys, lettersOff, setLettersOff, useKeys } from '../core/keys';
import { go, href, place } from '../core/router';
import { status } from '../core/status';
import { nextTheme, theme } from '../core/theme';
import { Dot, Keycap } from './bits';

const kScreens = [
  { path: '', screen: 'overview', title: 'Overview' },
  { path: 'profiles', screen: 'profiles', title: 'Profiles' },
  { path: 'routes', screen: 'groups', title: 'Routes' },
  { path: 'status', screen: 'status', title: 'Status' },
];

export function Shell({ children }: { children: ComponentChildren }) {
  const [help, setHelp] = useState(false);
  useKeys([
    { key: '?', says: 'all keys', run: () => setHelp(true) },
    { key: 't', says: 'theme: system, light, dark', run: nextTheme },
    { key: 'g o', says: 'overview', run: () => go(href('')) },
    { key: 'g p', says: 'profiles', run: () => go(href('profiles')) },
    { key: 'g r', says: 'routes', run: () => go(href('routes')) },
    { key: 'g s', says: 'status', run: () => go(href('status')) },
  ]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <TopBar onHelp={() => setHelp(true)} />
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      {help && <Help close={() => setHelp(false)} />}
    </>
  );
}

function TopBar({ onHelp }: { onHelp: () => void }) {
  const at = place.value.screen === 'profile' ? 'profiles' : place.value.screen;
  const links = kScreens.map(({ path, screen, title }) => (
    <a href={href(path)} aria-current={at === screen ? 'page' : undefined}>
      {title}
    </a>
  ));
  const title = kScreens.find(({ screen }) => screen === at)?.title ?? 'Menu';
  return (
    <header class="bar">
      <a class="brand" href={href('')}>
        <Mark />
        flamegate
      </a>
      <nav class="nav" aria-label="Main">
        {links}
      </nav>
      <Menu title={title}>{links}</Menu>
      <div class="end">
        <StoreState />
        <ThemeButton />
        <button class="btn plain" type="button" onClick={onHelp}>
          Help <Keycap>?</Keycap>
        </button>
      </div>
    </header>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true">
      <path d="M1 1v14M15 1v14" stroke="currentColor" stroke-width="2" />
      <path class="rows" d="M4 12.5h8M4 8h6M4 3.5h3" stroke-width="3" />
    </svg>
  );
}

function ThemeButton() {
  return (
    <button class="btn plain" type="button" onClick={nextTheme} title="Theme: system, light, dark">
      Theme<span class="vh">: {theme.value}</span> <Keycap>t</Keycap>
    </button>
  );
}

function Menu({ title, children }: { title: string; children: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  useKeys([{ key: 'Escape', says: 'back one step', when: () => open, run: () => setOpen(false) }]);
  return (
    <details class="menu" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title} ▾</summary>
      <nav aria-label="Main, narrow" onClick={() => setOpen(false)}>
        {children}
        <button class="btn plain" type="button" onClick={nextTheme}>
          Theme: {theme.value}
        </button>
      </nav>
    </details>
  );
}

function keptText(profiles: number): string {
  return `${count(profiles)} ${profiles === 1 ? 'profile' : 'profiles'} kept`;
}

function StoreState() {
  const store = status.value?.store;
  if (!store) return null;
  return (
    <span class="sec nw" title={store.trouble}>
      <Dot kind={store.available ? 'on' : 'bad'} />{' '}
      {store.available ? keptText(store.profiles ?? 0) : 'the store is away'}
    </span>
  );
}

const kFlameKeys: [string, string][] = [
  ['← →', 'sibling'],
  ['↑ ↓', 'caller, callee'],
  ['Enter', 'zoom to the frame'],
  ['0', 'reset the zoom'],
  ['w s a d', 'zoom, pan'],
  ['Ctrl + wheel', 'zoom at the pointer'],
];

function Help({ close }: { close: () => void }) {
  return (
    <Dialog title="Keys" close={close}>
      <dl class="keylist">
        {activeKeys()
          .filter((key) => key.key !== 'Escape')
          .map((key) => (
            <KeyRow keys={key.key} says={key.says} />
          ))}
        <KeyRow keys="Esc" says="back one step: menu, search, zoom, selection" />
      </dl>
      <h3>In a flame, once it has the focus</h3>
      <dl class="keylist">
        {kFlameKeys.map(([keys, says]) => (
          <KeyRow keys={keys} says={says} />
        ))}
      </dl>
      <label class="row">
        <input
          type="checkbox"
          checked={lettersOff.value}
          onChange={(event) => setLettersOff(event.currentTarget.checked)}
        />{' '}
        Switch single-letter keys off
      </label>
    </Dialog>
  );
}

function KeyRow({ keys, says }: { keys: string; says: string }) {
  return (
    <div>
      <dt>{keys.split(' ').map((key) => (key === '+' ? ' + ' : <kbd>{key}</kbd>))}</dt>
      <dd>{says}</dd>
    </div>
  );
}

// A modal dialog; the browser keeps the focus in it and gives it back.
export function Dialog({
  title,
  close,
  children,
}: {
  title: string;
  close: () => void;
  children: ComponentChildren;
}) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current!;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  return (
    <dialog
      ref={element}
      aria-label={title}
      onClose={close}
      onClick={(event) => event.target === element.current && close()}
    >
      <div class="dialog">
        <div class="h">
          <h2>{title}</h2>
          <span class="end">
            <button class="btn plain" type="button" onClick={close}>
              Close <Keycap>Esc</Keycap>
            </button>
          </span>
        </div>
        {children}
      </div>
    </dialog>
  );
}
