import type { RequestId } from '@nodepool/zk-protocol';
import type { Services } from '../fulfilment/services.js';
import { removeAbandonedLocks } from '../lifecycle/abandoned.js';

/** What is done with a request once its locks are gone. */
export interface AbandonedRequestsHost {
  /** Fires when the launcher stops. */
  readonly signal: AbortSignal;
  /** Puts the request back into the queue if nobody holds it. */
  reset(request: RequestId): Promise<unknown>;
  /** Nothing is in the way of the request any more. */
  recovered(request: RequestId): void;
}

/** Requests whose handler lost track of what it wrote: their locks are removed, then they are reset like lost ones. */
export class AbandonedRequests {
  readonly #services: Services;
  readonly #host: AbandonedRequestsHost;
  /** Requests whose locks are being removed. */
  readonly #recovering = new Set<RequestId>();

  constructor(services: Services, host: AbandonedRequestsHost) {
    this.#services = services;
    this.#host = host;
  }

  /** Nobody may lock the request yet. */
  isRecovering(id: RequestId): boolean {
    return this.#recovering.has(id);
  }

  /** Begins to clean up. @param epoch - of the session the handler wrote in */
  recover(id: RequestId, epoch: number): void {
    this.#recovering.add(id);
    void removeAbandonedLocks(this.#services, { request: id }, epoch, this.#host.signal)
      .then(() => this.#host.reset(id))
      .catch((error: unknown) =>
        this.#services.logger.error('Could not clean up after an abandoned request', { requestId: id, error }),
      )
      .finally(() => {
        this.#recovering.delete(id);
        this.#host.recovered(id);
      });
  }
}
