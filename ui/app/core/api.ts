// The proxy's JSON API.

import { prefix } from './router';

export class ApiError extends Error {
  constructor(
    readonly status: number, // 0: no answer
    readonly code: string,
    message: string,
  ) {
    super(message);
  }

  get unreachable(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

export function apiUrl(path: string): string {
  return `${prefix}/api/v1/${path}`;
}

export async function getJson<T>(path: string, abort?: AbortSignal): Promise<T> {
  const answer = await request(path, { signal: abort });
  try {
    return (await answer.json()) as T;
  } catch (error) {
    if (abort?.aborted) throw error;
    throw new ApiError(answer.status, 'not-json', 'The answer is not JSON.');
  }
}

export async function send<T>(
  method: 'POST' | 'DELETE' | 'PATCH',
  path: string,
  body?: object,
): Promise<T | null> {
  const answer = await request(path, {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body ?? {}),
  });
  const text = await answer.text();
  return text ? (JSON.parse(text) as T) : null;
}

async function request(path: string, init: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(apiUrl(path), { ...init, credentials: 'same-origin', redirect: 'error' });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, 'unreachable', 'The proxy does not answer.');
  }
  if (!answer.ok) throw await failure(answer);
  return answer;
}

async function failure(answer: Response): Promise<ApiError> {
  let code = `http-${answer.status}`;
  let message = `The proxy answered ${answer.status}.`;
  try {
    const body = (await answer.json()) as { error?: { code?: string; message?: string } };
    code = body.error?.code ?? code;
    message = body.error?.message ?? message;
  } catch {
    // An answer from something in front of the API; its status says enough.
  }
  return new ApiError(answer.status, code, message);
}

export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(0, 'script', error instanceof Error ? error.message : String(error));
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
