import { backoffMs, type CancelTimer, type Clock, type JsonObject } from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';
import type { WebhookConfig } from '@nodepool/core/config';
import type { ApiEvent } from './events.js';

const MOST_ATTEMPTS = 5;
const RETRY = { firstMs: 1_000, longestMs: 60_000 };
const TIMEOUT_MS = 10_000;
/** Limit of waiting events per webhook; beyond it the oldest is dropped. */
const MOST_WAITING = 1_000;
/** Status codes after which an event is sent again. */
const TRY_AGAIN = new Set([408, 425, 429]);

/** Options of {@link Webhooks}. */
export interface WebhooksOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Name of this host, sent with each event. */
  readonly hostname: string;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  readonly webhooks: () => readonly WebhookConfig[];
}

interface Queue {
  readonly waiting: string[];
  isBusy: boolean;
}

/** Delivers events to the configured addresses: in order, one at a time per address, with a limited number of attempts. */
export class Webhooks {
  readonly #options: WebhooksOptions;
  readonly #queues = new Map<string, Queue>();
  readonly #stop = new AbortController();
  readonly #timers = new Set<CancelTimer>();

  constructor(options: WebhooksOptions) {
    this.#options = options;
  }

  /** Queues an event for all webhooks that subscribed to it. */
  notify(event: ApiEvent): void {
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

  /** Stops delivering. */
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
      this.#options.logger.warn('Webhook queue is full; dropped its oldest event', { webhook: name });
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
      if (!hook) return; // removed by a reload
      const result = await this.#post(hook, body);
      if (result === 'done') return;
      if (!result.again || attempt === MOST_ATTEMPTS) {
        this.#options.logger.warn('Webhook delivery failed', { webhook: name, attempt, reason: result.reason });
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
        redirect: 'manual', // a redirect must not leak the secret
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
