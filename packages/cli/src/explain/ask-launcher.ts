import { fetchService } from '@nodepool/core/service';
import type { Clock } from '@nodepool/zk-protocol';
import { describeError } from '../command/errors.js';
import { whileBusy } from '../connection/while-busy.js';

/** Answer of a launcher's web server. */
export interface WebAnswer {
  readonly status: number;
  /** `undefined` if it is not JSON, such as the page of a proxy. */
  readonly body: unknown;
  /** Code of the error in the body, if there is one. */
  readonly error: unknown;
}

/**
 * Asks the web server of a launcher, again while it is busy. Never rejects.
 * @param url - of the web server, e.g. `http://nl01:8005`
 * @param path - below it, with the query
 * @returns why there is no answer, if there is none
 */
export async function askLauncher(
  url: string,
  path: string,
  clock: Clock,
  answerMs: number,
): Promise<WebAnswer | string> {
  const abort = new AbortController();
  const cancel = clock.setTimer(answerMs, () => abort.abort(new Error(`no answer within ${answerMs / 1000} s`)));
  try {
    const target = new URL(path, url.endsWith('/') ? url : `${url}/`);
    const { signal } = abort;
    const init = { headers: { accept: 'application/json' }, signal };
    const response = await whileBusy(() => fetchService(target, init), { clock, patienceMs: answerMs, signal });
    const body = parse(await response.text());
    const { code, error } = (typeof body === 'object' && body ? body : {}) as { code?: unknown; error?: unknown };
    return { status: response.status, body, error: code ?? error }; // `/explain` has the latter
  } catch (error) {
    // `fetch` says only that it failed; its cause says why
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return cause instanceof Error && 'code' in cause ? String(cause.code) : describeError(cause);
  } finally {
    cancel();
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
