import type { LauncherId, RequestId, RequestRecord } from '@nodepool/zk-protocol';
import type { Logger } from '../../contract/logger.js';
import type { Services } from '../mirror/services.js';
import type { PoolView, Reason } from '../plan/types.js';
import { declinedRequest, refusedRequest, writeUnlockedRequest } from '../requests/request-writes.js';
import type { PoolPort } from './pool-port.js';

/** What refusals are told about the rest of their pool. */
export interface PoolRefusalsOptions {
  readonly services: Services;
  readonly port: Pick<PoolPort, 'candidates'>;
  readonly view: PoolView & { readonly launcherId: LauncherId };
  readonly logger: Logger;
  /** Keeps account of work that the end of the pool waits for. */
  readonly track: (work: Promise<void>) => void;
  readonly lookAgain: (id: RequestId) => void;
  readonly lookAgainLater: (id: RequestId) => void;
}

/** Writes that a pool declines a request which it has not accepted, or that every pool has declined it. */
export class PoolRefusals {
  readonly #options: PoolRefusalsOptions;
  readonly #writing = new Set<RequestId>();

  constructor(options: PoolRefusalsOptions) {
    this.#options = options;
  }

  /** A refusal of the request is being written. */
  isWriting(id: RequestId): boolean {
    return this.#writing.has(id);
  }

  /** Every pool has declined it, and the last one that had not has left the registry: no other launcher will say so. */
  isHopeless(request: RequestRecord): boolean {
    const { view, port } = this.#options;
    if (request.state !== 'requested' || !request.declinedBy.includes(view.launcherId)) return false;
    return port.candidates.seemsRefusedByAll(request);
  }

  /** Declines the request; it becomes `failed` when this is the last pool that could have served it. */
  decline(request: RequestRecord, why: Reason): void {
    const { view, services, port, track } = this.#options;
    const decide = async () => {
      const isLast = await port.candidates.isRefusedByAll(request, view.launcherId);
      return declinedRequest(request, view.launcherId, why, isLast, services.clock.now());
    };
    track(this.#refuse(request, why.text, decide));
  }

  /** Makes the request `failed` if every registered pool has declined it. */
  fail(request: RequestRecord): void {
    const { services, port, track } = this.#options;
    const decide = async () =>
      (await port.candidates.isRefusedByAll(request)) ? refusedRequest(request, services.clock.now()) : undefined;
    track(this.#refuse(request, 'every registered pool has declined it', decide));
  }

  /** @param decide - how the request is to be from now on; `undefined`: as it is, after all */
  async #refuse(request: RequestRecord, why: string, decide: () => Promise<RequestRecord | undefined>): Promise<void> {
    const { services, view, logger, lookAgain, lookAgainLater } = this.#options;
    this.#writing.add(request.id);
    try {
      const next = await decide();
      if (!next) {
        this.#writing.delete(request.id);
        return;
      }
      const result = await writeUnlockedRequest(services, next);
      this.#writing.delete(request.id);
      if (result === 'busy' || result === 'changed') lookAgainLater(request.id);
      if (result !== 'done') return;
      const { provider, pool } = view;
      services.events.emit('requestEnded', { outcome: 'declined', request, provider, pool: pool.name });
      const { id: requestId, eventId } = request;
      logger.info('Declined request', { requestId, eventId, reason: why, state: next.state });
      // meanwhile the last pool that had not declined it may have left
      lookAgain(request.id);
    } catch (error) {
      this.#writing.delete(request.id);
      logger.warn('Could not decline a request', { requestId: request.id, error });
      lookAgainLater(request.id);
    }
  }
}
