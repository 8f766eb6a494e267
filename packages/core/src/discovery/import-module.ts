import { pathToFileURL } from 'node:url';
import { type Clock, systemClock } from '@nodepool/zk-protocol';
import { TimeoutError } from '../errors.js';

/** How long a driver package may take to load. */
export interface ImportLimit {
  /** Default: the machine's clock. */
  readonly clock?: Clock | undefined;
  /** Default 15,000: a slow disk is waited for, a module that waits for something else is not. */
  readonly loadTimeoutMs?: number | undefined;
}

const DEFAULT_LIMIT_MS = 15_000;

/**
 * Imports a file. An import cannot be stopped: one that never ends is left to itself, and the next attempt joins it.
 * @throws {TimeoutError} it has not ended in time
 */
export async function importModule(file: string, limit: ImportLimit): Promise<Readonly<Record<string, unknown>>> {
  const { clock = systemClock, loadTimeoutMs: timeoutMs = DEFAULT_LIMIT_MS } = limit;
  let cancel = (): void => {};
  const late = new Promise<never>((_resolve, reject) => {
    const message = `${file} has not ended loading within ${timeoutMs / 1_000} s`;
    cancel = clock.setTimer(timeoutMs, () => reject(new TimeoutError(message, { timeoutMs })));
  });
  try {
    const imported = import(/* @vite-ignore */ pathToFileURL(file).href) as Promise<Record<string, unknown>>;
    return await Promise.race([imported, late]);
  } finally {
    cancel();
  }
}
