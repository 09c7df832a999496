// What the proxy says about itself and about this visitor.

import { computed, signal } from '@preact/signals';
import type { Right, Status } from '../model/types';
import { asApiError, getJson, type ApiError } from './api';

export const status = signal<Status | null>(null);
export const statusError = signal<ApiError | null>(null);
// Empty until the status is known: nothing that needs a right is shown before.
export const rights = computed<ReadonlySet<Right>>(() => new Set(status.value?.rights ?? []));

export async function loadStatus(): Promise<void> {
  try {
    status.value = await getJson<Status>('status');
    statusError.value = null;
  } catch (error) {
    statusError.value = asApiError(error);
  }
}
