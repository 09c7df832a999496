// What the proxy says about itself and about this visitor.

import { computed, signal } from '@preact/signals';
import { getJson } from './api';
import type { Right, Status } from '../model/types';

export const status = signal<Status | null>(null);
export const rights = computed<ReadonlySet<Right>>(() => new Set(status.value?.rights ?? []));

export async function loadStatus(): Promise<void> {
  try {
    status.value = await getJson<Status>('status');
  } catch {
    // Without it the console shows nothing that needs a right.
    status.value = null;
  }
}
