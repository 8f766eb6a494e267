import { delay, type RequestId } from '@nodepool/zk-protocol';
import type { Services } from '../mirror/services.js';
import { removeAbandonedLocks } from './abandoned.js';

/** How long to wait before another look at a request that another pool of this process works on. */
const OTHERS_TURN_MS = 1_000;

/** What is done with a request once its locks are gone. */
export interface AbandonedRequestsPort {
  /** Fires when the launcher stops. */
  readonly signal: AbortSignal;
  /** A handler of this process works on the request: another pool was quicker, and its locks are in order. */
  isOurs(request: RequestId): boolean;
  /** Puts the request back into the queue if no process holds its lock. */
  reset(request: RequestId): Promise<unknown>;
  /** Nothing is in the way of the request any more. */
  recovered(request: RequestId): void;
}

/** Requests whose handler lost track of what it wrote: their locks are removed, then they are reset like lost ones. */
export class AbandonedRequests {
  readonly #services: Services;
  readonly #port: AbandonedRequestsPort;
  /** Requests whose locks are being removed. */
  readonly #recovering = new Set<RequestId>();

  constructor(services: Services, port: AbandonedRequestsPort) {
    this.#services = services;
    this.#port = port;
  }

  /** The request must not be locked yet. */
  isRecovering(id: RequestId): boolean {
    return this.#recovering.has(id);
  }

  /** Begins to clean up. @param epoch - of the session the handler wrote in */
  recover(id: RequestId, epoch: number): void {
    this.#recovering.add(id);
    void this.#removeLocks(id, epoch)
      .then(() => this.#port.reset(id))
      .catch((error: unknown) =>
        this.#services.logger.error('Could not clean up after an abandoned request', { requestId: id, error }),
      )
      .finally(() => {
        this.#recovering.delete(id);
        this.#port.recovered(id);
      });
  }

  /** Own lock entries do not tell whose they are: those of a handler at work would go as well, so it is waited for. */
  async #removeLocks(id: RequestId, epoch: number): Promise<void> {
    const { zk, clock } = this.#services;
    const { signal } = this.#port;
    while (this.#port.isOurs(id) && zk.sessionEpoch === epoch && !signal.aborted) {
      await delay(clock, OTHERS_TURN_MS, signal).catch(() => undefined); // an abort ends the wait
    }
    await removeAbandonedLocks(this.#services, { request: id }, epoch, signal);
  }
}
