import type { NodeRecord, PoolComponentRecord, RequestId, RequestRecord } from '@nodepool/zk-protocol';
import type { Services } from '../mirror/services.js';
import type { PoolHandlers } from './pool-handlers.js';
import type { PoolPort } from './pool-port.js';
import type { PoolQueue } from './pool-queue.js';
import type { PoolChange } from './pool-registry.js';
import type { LivePoolView } from './pool-view.js';

/** What the events of a pool need of it. */
export interface PoolEventsOptions {
  readonly services: Services;
  readonly port: Pick<PoolPort, 'registry'>;
  readonly view: LivePoolView;
  readonly queue: PoolQueue;
  readonly handlers: PoolHandlers;
  /** The registry shows the pool. */
  readonly isRegistered: () => boolean;
  /** The registry changed before it showed the pool. */
  readonly noticeRegistration: () => void;
  /** What the pool says of itself may have changed. */
  readonly refreshAnnouncement: () => void;
  /** A request waits for the pool, or is paused in it. */
  readonly hasDemand: () => boolean;
  /** Plans again. */
  readonly wake: () => void;
}

/**
 * What happens around a pool, and which of it concerns the pool: a request is to be judged again, the pool is to plan
 * again, or nothing.
 */
export class PoolEvents {
  readonly #options: PoolEventsOptions;
  #unsubscribe: (() => void)[] = [];

  constructor(options: PoolEventsOptions) {
    this.#options = options;
  }

  /** Begins to listen. */
  listen(): void {
    const { services, port, hasDemand, wake } = this.#options;
    const { mirror, controls } = services;
    this.#unsubscribe.push(
      mirror.listen({
        onRequest: ({ before, after }) => this.#requestChanged(before, after),
        onRequestLock: (id) => this.#requestLockChanged(id),
        onFree: (node, free) => free && this.#nodeFree(node),
        onNode: ({ before, after }) => this.#nodeChanged(before, after),
      }),
      port.registry.onChange((change) => this.#poolsChanged(change)),
      mirror.usage.onTenantCapacity(() => hasDemand() && wake()),
      mirror.labelUse.onCapacity(() => controls?.limitsLabels === true && hasDemand() && wake()),
    );
    if (controls) this.#unsubscribe.push(controls.onChange(() => this.#controlsChanged()));
  }

  /** Ceases to listen. */
  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#unsubscribe = [];
  }

  /** Looks at every request again, e.g. after the configuration or the registered pools changed. */
  reconsiderAll(): void {
    const { services, queue, isRegistered, wake } = this.#options;
    if (!isRegistered()) return;
    for (const request of services.mirror.requests.values()) {
      if (request.state === 'requested') queue.consider(request);
    }
    wake();
  }

  #controlsChanged(): void {
    this.#options.refreshAnnouncement();
    this.reconsiderAll();
  }

  #requestChanged(before: RequestRecord | undefined, after: RequestRecord | undefined): void {
    const { view, queue, handlers, isRegistered, hasDemand, wake } = this.#options;
    const id = (after ?? before)?.id;
    if (id === undefined) return;
    const handler = handlers.get(id);
    if (handler) {
      if (!after) handler.requestGone();
      return;
    }
    // capacity may have been kept for the request
    const hasLeft = before?.state === 'pending' && after?.state !== 'pending';
    if (hasLeft && view.launches && hasDemand()) wake();
    if (!after) queue.requestGone(id);
    else if (isRegistered()) queue.consider(after);
  }

  /** What was done under a lock that is given up has been seen by now; perhaps nothing was. */
  #requestLockChanged(id: RequestId): void {
    const { services, queue, handlers, isRegistered } = this.#options;
    const request = services.mirror.requests.get(id);
    if (request?.state === 'requested' && isRegistered() && !handlers.has(id)) queue.consider(request);
  }

  #nodeFree(node: NodeRecord): void {
    const { view, hasDemand, wake } = this.#options;
    // a node in another pool of the same provider may make capacity for this pool
    const matters = node.provider === view.provider && (node.pool === view.pool.name || view.launches);
    if (matters && hasDemand()) wake();
  }

  #nodeChanged(before: NodeRecord | undefined, after: NodeRecord | undefined): void {
    const { view, hasDemand, wake } = this.#options;
    if (!before || !hasDemand()) return;
    if (before.provider === view.provider && !after && view.launches) wake();
  }

  #poolsChanged({ before, after }: PoolChange): void {
    const { view, isRegistered, noticeRegistration } = this.#options;
    if (!isRegistered()) {
      noticeRegistration();
      return;
    }
    if (before && after && !changesStanding(before, after, view.priority)) return;
    this.reconsiderAll();
  }
}

/** Whether a pool pauses matters only to pools that it takes precedence over. */
function changesStanding(before: PoolComponentRecord, after: PoolComponentRecord, ownPriority: number): boolean {
  if (before.paused !== after.paused && after.priority < ownPriority) return true;
  return (
    before.priority !== after.priority ||
    before.health !== after.health ||
    before.launcherId !== after.launcherId ||
    before.providerName !== after.providerName ||
    before.supportedLabels.length !== after.supportedLabels.length ||
    before.supportedLabels.some((label) => !after.supportedLabels.includes(label))
  );
}
