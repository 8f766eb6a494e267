import { backoffMs, type CancelTimer, type RequestId } from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';

/** So short that many pools that want to decline one request at the same time are done within a second or so. */
const RETRY = { firstMs: 25, longestMs: 500 };

/** Requests that are to be looked at again after a pause: no event may tell when what is in their way ends. */
export class Retries {
  readonly #context: Context;
  readonly #requests = new Map<RequestId, { attempts: number; cancel: CancelTimer | undefined }>();
  #listener: (id: RequestId) => void = () => undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Tells when the pause of a request is over. */
  onOver(listener: (id: RequestId) => void): void {
    this.#listener = listener;
  }

  isPausing(id: RequestId): boolean {
    return this.#requests.get(id)?.cancel !== undefined;
  }

  /** Begins the next pause of a request; each is longer than the one before. @param firstMs - length of the first one */
  pause(id: RequestId, firstMs = RETRY.firstMs): void {
    const { clock, random } = this.#context;
    const retry = this.#requests.get(id) ?? { attempts: 0, cancel: undefined };
    const longestMs = Math.max(firstMs, RETRY.longestMs);
    retry.cancel = clock.setTimer(backoffMs(retry.attempts++, { firstMs, longestMs }, random), () => {
      retry.cancel = undefined;
      this.#listener(id);
    });
    this.#requests.set(id, retry);
  }

  /** The next pause is a first one. */
  forget(id: RequestId): void {
    this.#requests.get(id)?.cancel?.();
    this.#requests.delete(id);
  }

  stop(): void {
    for (const { cancel } of this.#requests.values()) cancel?.();
  }
}
