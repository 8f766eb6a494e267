import { backoffMs, type CancelTimer, type Clock, type JsonObject } from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';
import type { WebhookConfig } from '@nodepool/core/config';
import type { ApiEvent } from './events.js';

const MOST_ATTEMPTS = 5;
const RETRY = { firstMs: 1_000, longestMs: 60_000 };
const TIMEOUT_MS = 10_000;
/** What may wait for one address; the oldest are dropped for the newest. */
const MOST_WAITING = 1_000;
/** Answers after which the same may be tried again. */
const TRY_AGAIN = new Set([408, 425, 429]);

/** What webhooks work with. */
export interface WebhooksOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Name of this host; the receiver sees who tells. */
  readonly hostname: string;
  /** Default: the global one. */
  readonly fetch?: typeof fetch;
  readonly webhooks: () => readonly WebhookConfig[];
}

interface Queue {
  readonly waiting: string[];
  isBusy: boolean;
}

/** Tells configured addresses of events: in order, one at a time for each address, with a bounded number of attempts. */
export class Webhooks {
  readonly #options: WebhooksOptions;
  readonly #queues = new Map<string, Queue>();
  readonly #stop = new AbortController();
  readonly #timers = new Set<CancelTimer>();

  constructor(options: WebhooksOptions) {
    this.#options = options;
  }

  /** Queues an event for all who want it; never waits. */
  tell(event: ApiEvent): void {
    const { notice } = event;
    if (notice === undefined || this.#stop.signal.aborted) return;
    const { clock, hostname } = this.#options;
    let body: string | undefined;
    for (const hook of this.#options.webhooks()) {
      if (!hook.events.includes(notice)) continue;
      body ??= JSON.stringify({
        ...{ event: notice, time: clock.now() / 1000, hostname, id: event.id },
        [event.type]: event.data(),
      } satisfies JsonObject);
      this.#queue(hook.name, body);
    }
  }

  /** Tells nothing more. */
  close(): void {
    this.#stop.abort();
    for (const cancel of this.#timers) cancel();
  }

  #queue(name: string, body: string): void {
    let queue = this.#queues.get(name);
    if (!queue) this.#queues.set(name, (queue = { waiting: [], isBusy: false }));
    queue.waiting.push(body);
    if (queue.waiting.length > MOST_WAITING) {
      queue.waiting.shift();
      this.#options.logger.warn('A webhook does not keep up; its oldest event is dropped', { webhook: name });
    }
    if (!queue.isBusy) void this.#work(name, queue);
  }

  async #work(name: string, queue: Queue): Promise<void> {
    queue.isBusy = true;
    try {
      for (let body = queue.waiting.shift(); body !== undefined; body = queue.waiting.shift()) {
        await this.#deliver(name, body);
        if (this.#stop.signal.aborted) return;
      }
    } finally {
      queue.isBusy = false;
    }
  }

  async #deliver(name: string, body: string): Promise<void> {
    for (let attempt = 1; attempt <= MOST_ATTEMPTS && !this.#stop.signal.aborted; attempt++) {
      const hook = this.#options.webhooks().find((other) => other.name === name);
      if (!hook) return; // a reload has removed it
      const result = await this.#post(hook, body);
      if (result === 'done') return;
      if (!result.again || attempt === MOST_ATTEMPTS) {
        this.#options.logger.warn('A webhook could not be told', { webhook: name, attempt, reason: result.reason });
        return;
      }
      await this.#pause(backoffMs(attempt - 1, RETRY));
    }
  }

  async #post({ url, secret }: WebhookConfig, body: string): Promise<'done' | { again: boolean; reason: string }> {
    const timeout = new AbortController();
    const cancel = this.#options.clock.setTimer(TIMEOUT_MS, () => timeout.abort(new Error('no answer in time')));
    try {
      const response = await (this.#options.fetch ?? fetch)(url, {
        method: 'POST',
        redirect: 'manual', // a secret is not carried elsewhere
        headers: {
          'content-type': 'application/json',
          ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
        },
        body,
        signal: AbortSignal.any([timeout.signal, this.#stop.signal]),
      });
      await response.body?.cancel();
      if (response.ok) return 'done';
      const again = response.status >= 500 || TRY_AGAIN.has(response.status);
      return { again, reason: `answer ${response.status}` };
    } catch (error) {
      return {
        again: true,
        reason:
          error instanceof Error ? (error.cause instanceof Error ? error.cause.message : error.message) : String(error),
      };
    } finally {
      cancel();
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        this.#timers.delete(end);
        resolve();
      };
      const cancel = this.#options.clock.setTimer(ms, end);
      this.#timers.add(end);
    });
  }
}
