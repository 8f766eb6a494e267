import { pathToFileURL } from 'node:url';
import { MessageChannel } from 'node:worker_threads';
import { type Clock, setDeadline, systemClock } from '@nodepool/zk-protocol';
import { TimeoutError } from '../../contract/errors.js';

/** Timeout for loading a driver package. */
export interface ImportLimit {
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** Default 15,000: enough for a slow disk. */
  readonly loadTimeoutMs?: number | undefined;
}

const DEFAULT_LIMIT_MS = 15_000;

/**
 * Imports a file with a timeout. An import cannot be cancelled: an import that never settles stays pending, and the next attempt
 * joins it. After a pause of this process, e.g. on a busy machine, the timeout restarts.
 * @throws {TimeoutError} the import did not settle in time
 */
export async function importModule(file: string, limit: ImportLimit): Promise<Readonly<Record<string, unknown>>> {
  const { clock = systemClock, loadTimeoutMs: timeoutMs = DEFAULT_LIMIT_MS } = limit;
  let cancel = (): void => {};
  const late = new Promise<never>((_resolve, reject) => {
    const message = `${file} has not ended loading within ${timeoutMs / 1_000} s`;
    const giveUp = () => reject(new TimeoutError(message, { timeoutMs }));
    cancel = setDeadline(clock, timeoutMs, timeoutMs, giveUp);
  });
  // Neither an import nor the timers of the clock keep the process alive. An open port does, until the import settles.
  const { port1: alive } = new MessageChannel();
  alive.ref();
  try {
    const imported = import(/* @vite-ignore */ pathToFileURL(file).href) as Promise<Record<string, unknown>>;
    return await Promise.race([imported, late]);
  } finally {
    cancel();
    alive.close();
  }
}
