import { steadyNow, type NodeRecord, type RequestId, type RequestRecord } from '@nodepool/zk-protocol';
import type { WorkQueue } from '../../async/work-queue.js';
import type { Ledger } from '../ledger/ledger.js';
import { isResumable } from '../plan/nodes.js';
import type { PoolRegistry } from '../registry/pool-registry.js';
import type { Context } from '../state/context.js';

/** How long a request is left to the pools of its nodes, which may be about to register or in a new session. */
const TAKE_OVER_MS = 30_000;
/** How long it is not reset while no such pool is registered: the only launcher of the provider may be being replaced. */
const REPLACED_MS = 10_000;
const RETRY_MS = 1_000;

/** The pools that may take requests over. */
export type KnownPools = Pick<PoolRegistry, 'candidates' | 'isOwn'> & {
  readonly registered: Pick<PoolRegistry['registered'], 'has'>;
};

/** Whether a pool has taken a request over; `later`: it cannot yet. */
export type TakeOver = 'taken' | 'later' | 'no';

/** The pools of this launcher, which take requests over. */
export interface Takers {
  takeOver(request: RequestRecord, nodes: readonly NodeRecord[]): TakeOver;
  /** The request is not being recovered any more. */
  recovered(id: RequestId): void;
}

/** A request that pools may take over. */
interface Offer {
  /** Steady time. */
  readonly sinceMs: number;
  /** A pool of this launcher will take it as soon as it can. */
  isWanted: boolean;
}

/**
 * Offers lost requests whose launches can be continued to the pools of their nodes, which take them over with all nodes. Has a
 * request checked again when it may be taken now, or its time is over.
 */
export class TakeOvers {
  readonly #context: Context;
  readonly #ledger: Pick<Ledger, 'has'>;
  readonly #registry: KnownPools;
  readonly #lost: WorkQueue<RequestId>;
  readonly #offers = new Map<RequestId, Offer>();
  readonly #unsubscribe: readonly (() => void)[];

  constructor(context: Context, ledger: Pick<Ledger, 'has'>, registry: KnownPools, lost: WorkQueue<RequestId>) {
    this.#context = context;
    this.#lost = lost;
    this.#ledger = ledger;
    this.#registry = registry;
    const { events } = context;
    this.#unsubscribe = [
      events.on(
        'requestChanged',
        ({ id, after }) => after?.state !== 'pending' && this.#offers.delete(id as RequestId),
      ),
      events.on('requestLockChanged', ({ id, contenders }) => contenders > 0 && this.#offers.delete(id)),
      // it could not be locked with its nodes: another launcher was faster, or the mirror was behind
      events.on('requestEnded', ({ request, outcome }) => outcome === 'busy' && this.#checkIn(RETRY_MS, request.id)),
      events.on('poolChanged', ({ after }) => after && this.#checkAll()),
      events.on('providerStarted', () => this.#checkAll()),
      events.on('launchEnded', () => this.#checkNext()),
      events.on('tenantCapacityFreed', () => this.#checkNext()),
      events.on('requestTaken', () => this.#checkNext()),
    ];
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /** @returns whether a pool of this launcher took the request, or a pool of this launcher or another may yet */
  offer(request: RequestRecord, nodes: readonly NodeRecord[], takers: Takers | undefined): boolean {
    const { id } = request;
    const { clock, life } = this.#context;
    if (!nodes.some(isResumable)) return false;
    if (life.isDraining) return true; // that is for those that stay
    const nowMs = steadyNow(clock);
    const offer = this.#offers.get(id) ?? { sinceMs: nowMs, isWanted: false };
    if (!this.#offers.has(id)) {
      this.#offers.set(id, offer);
      for (const ms of [REPLACED_MS, TAKE_OVER_MS]) this.#checkIn(ms, id);
    }
    offer.isWanted = takers?.takeOver(request, nodes) === 'later';
    return this.#ledger.has(id) || nowMs - offer.sinceMs < this.#leftToPoolsMs(offer, nodes);
  }

  /** How long the request is left to pools of its nodes: not to one of this launcher that cannot accept it. */
  #leftToPoolsMs({ isWanted }: Offer, nodes: readonly NodeRecord[]): number {
    const pools = this.#registry.candidates.filter(({ providerName, name }) =>
      nodes.some((node) => node.provider === providerName && node.pool === name),
    );
    if (pools.length === 0) return REPLACED_MS;
    const { registered } = this.#registry;
    const mayTake = pools.some(({ launcherId }) => !this.#registry.isOwn(launcherId) || !registered.has(launcherId));
    return isWanted || mayTake ? TAKE_OVER_MS : 0;
  }

  #checkIn(ms: number, request: RequestId): void {
    this.#context.clock.setTimer(ms, () => this.#offers.has(request) && this.#lost.add(request));
  }

  #checkAll(): void {
    for (const request of this.#offers.keys()) this.#lost.add(request);
  }

  /** Capacity for launches may have come free: one after another may be taken, in the order in which they were lost. */
  #checkNext(): void {
    const next = [...this.#offers].find(([request, { isWanted }]) => isWanted && !this.#ledger.has(request));
    if (next) this.#lost.add(next[0]);
  }
}
