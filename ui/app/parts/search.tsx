// A search field whose text goes to the address shortly after the typing stops.

import { useEffect, useRef, useState } from 'preact/hooks';
import { useKeys } from '../core/keys';
import { Keycap } from './bits';

interface Props {
  label: string;
  hint: string;
  value: string;
  pauseMs: number;
  set: (value: string) => void;
}

export function SearchField({ label, hint, value, pauseMs, set }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  // What this field said last. Only another value is news; its own coming back must not undo what
  // has been typed since.
  const said = useRef(value);
  const [text, setText] = useState(value);
  useEffect(() => {
    if (value === said.current) return;
    clearTimeout(timer.current);
    said.current = value;
    setText(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  useKeys([
    { key: '/', says: 'search', run: () => (input.current?.focus(), input.current?.select()) },
  ]);
  const latest = useRef(set);
  latest.current = set;
  const type = (next: string) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      said.current = next.trim();
      latest.current(said.current);
    }, pauseMs);
  };
  return (
    <label class="find">
      <span class="vh">{label}</span>
      <input
        ref={input}
        class="in"
        type="search"
        value={text}
        placeholder={hint}
        spellcheck={false}
        onInput={(event) => type(event.currentTarget.value)}
      />
      <Keycap>/</Keycap>
    </label>
  );
}
