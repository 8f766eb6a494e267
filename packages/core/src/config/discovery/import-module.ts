import { pathToFileURL } from 'node:url';
import { MessageChannel } from 'node:worker_threads';
import { type Clock, setDeadline, systemClock } from '@nodepool/zk-protocol';
import { TimeoutError } from '../../contract/errors.js';

/** How long a driver package may take to load. */
export interface ImportLimit {
  /** Default: the machine's clock. */
  readonly clock?: Clock | undefined;
  /** Default 15,000: a slow disk is waited for, a module that waits for something else is not. */
  readonly loadTimeoutMs?: number | undefined;
}

const DEFAULT_LIMIT_MS = 15_000;

/**
 * Imports a file. An import cannot be stopped: an import that never ends stays pending, and the next attempt joins it. After a
 * pause of this process, e.g. of a busy machine, the import has its time once more.
 * @throws {TimeoutError} it has not ended in time
 */
export async function importModule(file: string, limit: ImportLimit): Promise<Readonly<Record<string, unknown>>> {
  const { clock = systemClock, loadTimeoutMs: timeoutMs = DEFAULT_LIMIT_MS } = limit;
  let cancel = (): void => {};
  const late = new Promise<never>((_resolve, reject) => {
    const message = `${file} has not ended loading within ${timeoutMs / 1_000} s`;
    const giveUp = () => reject(new TimeoutError(message, { timeoutMs }));
    cancel = setDeadline(clock, timeoutMs, timeoutMs, giveUp);
  });
  // Neither an import nor the clock's timers keep a process from ending; an open port does, until there is an answer.
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
