import { isNodepoolError, ProviderUnavailableError, type Clock, type Logger } from '@nodepool/core';
import { backoffMs, delay } from '@nodepool/zk-protocol';
import { hasEnded, type ApiEvent, type ApiOperation } from './api.js';
import type { IncusClient } from './client.js';

/** Dependencies of {@link Operations}. */
export interface OperationsOptions {
  readonly client: Pick<IncusClient, 'events' | 'operation'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
}

/** Ended operations that are kept for callers that do not know their id yet. */
const MAX_ENDED = 2_000;
const RECONNECT = { firstMs: 100, longestMs: 10_000 };
/** Time between two reads of a running operation, in case an event was lost. */
const CHECK_MS = 10_000;
const CHECK_WITHOUT_EVENTS_MS = 1_000;

/** Ends of background operations, as the event stream of the daemon reports them. Without the stream they are read. */
export class Operations {
  readonly #options: OperationsOptions;
  readonly #end = new AbortController();
  readonly #ended = new Map<string, ApiOperation>();
  readonly #waiting = new Map<string, Set<() => void>>();
  #isConnected = false;
  #running: Promise<void> | undefined;

  constructor(options: OperationsOptions) {
    this.#options = options;
  }

  /** Connects, and reconnects after failures, until `stop`. */
  start(): void {
    this.#running ??= this.#listen();
  }

  /** Ends the connection. */
  async stop(): Promise<void> {
    this.#end.abort(new Error('the provider stops'));
    await this.#running;
  }

  /**
   * The operation once it has ended; `'running'`; or `'forgotten'`: the daemon does not know it, for example after a restart.
   * @param mayRead - ask the daemon if no event has told
   */
  async result(id: string, mayRead: boolean, signal: AbortSignal): Promise<ApiOperation | 'running' | 'forgotten'> {
    const ended = this.#ended.get(id);
    if (ended) {
      this.#ended.delete(id);
      return ended;
    }
    if (!mayRead) return 'running';
    const shown = await this.#options.client.operation(id, signal);
    if (!shown) return 'forgotten';
    return hasEnded(shown) ? shown : 'running';
  }

  /** Waits until an operation has ended. @throws {ProviderUnavailableError} the daemon was restarted meanwhile */
  async untilEnded(operation: ApiOperation, signal: AbortSignal): Promise<ApiOperation> {
    if (hasEnded(operation)) return operation;
    for (let reads = 0; ; reads++) {
      const result = await this.result(operation.id, reads > 0, signal);
      if (result === 'forgotten') {
        throw new ProviderUnavailableError(`operation ${operation.id} was lost: the daemon was restarted`);
      }
      if (result !== 'running') return result;
      const either = new AbortController();
      const both = AbortSignal.any([signal, either.signal]);
      const waits = [this.changed(operation.id, both), delay(this.#options.clock, this.checkMs, both)];
      await Promise.race(waits).finally(() => either.abort());
      await Promise.allSettled(waits);
    }
  }

  /** Time until the next read, ms. */
  get checkMs(): number {
    return this.#isConnected ? CHECK_MS : CHECK_WITHOUT_EVENTS_MS;
  }

  /** Resolves when the operation has ended, or the connection was lost or restored. */
  changed(id: string, signal: AbortSignal): Promise<void> {
    if (this.#ended.has(id)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(id) ?? new Set();
      this.#waiting.set(id, waiting);
      const leave = () => {
        signal.removeEventListener('abort', onAbort);
        waiting.delete(wake);
        if (waiting.size === 0 && this.#waiting.get(id) === waiting) this.#waiting.delete(id);
      };
      const wake = () => {
        leave();
        resolve();
      };
      const onAbort = () => {
        leave();
        reject(signal.reason as Error);
      };
      waiting.add(wake);
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  async #listen(): Promise<void> {
    const { client, clock, logger, random } = this.#options;
    const { signal } = this.#end;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const stream = await client.events(signal);
        this.#setConnected(true);
        failures = 0;
        for await (const message of stream) this.#read(message);
      } catch (error) {
        if (signal.aborted) return;
        if (!isNodepoolError(error)) throw error;
        logger.debug('The event stream failed; reconnecting', { error });
      }
      if (this.#isConnected) logger.info('The event stream ended; reconnecting');
      this.#setConnected(false);
      await delay(clock, backoffMs(failures, RECONNECT, random), signal).catch(() => undefined);
    }
  }

  #setConnected(isConnected: boolean): void {
    if (this.#isConnected === isConnected) return;
    this.#isConnected = isConnected;
    for (const id of [...this.#waiting.keys()]) this.#wake(id);
  }

  #read(message: string): void {
    const event = JSON.parse(message) as ApiEvent;
    if (event.type !== 'operation' || !hasEnded(event.metadata)) return;
    const { id } = event.metadata;
    this.#ended.set(id, event.metadata);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > MAX_ENDED && oldest !== undefined) this.#ended.delete(oldest);
    this.#wake(id);
  }

  #wake(id: string): void {
    for (const wake of [...(this.#waiting.get(id) ?? [])]) wake();
  }
}
