// Screens that only say something.

import { href } from '../core/router';
import { Empty } from '../parts/bits';

export function Later({ title }: { title: string }) {
  return (
    <Empty
      title={`${title}: not available in this version`}
      actions={
        <a class="btn main" href={href('profiles')}>
          All profiles
        </a>
      }
    >
      <p>The address is reserved for it. Profiles, their flame views and the downloads work.</p>
    </Empty>
  );
}

export function Unknown({ path }: { path: string }) {
  return (
    <Empty
      title="No such page"
      actions={
        <a class="btn main" href={href('')}>
          Overview
        </a>
      }
    >
      <p>
        <code>{path}</code> is not an address of this console.
      </p>
    </Empty>
  );
}
