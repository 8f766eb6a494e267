import { steadyNow, type NodeRecord, type RequestId, type RequestRecord } from '@nodepool/zk-protocol';
import type { Engine, Feature, MakeFeature } from '../../launcher/nodes/feature.js';
import { isResumable, takeOver, type TakeOver } from './take-over.js';

/** How long a request is left to the pools of its nodes, which may be about to register or in a new session. */
const TAKE_OVER_MS = 30_000;
/** How long it is not reset while no such pool is registered: the only launcher of the provider may be being replaced. */
const REPLACED_MS = 10_000;
const RETRY_MS = 1_000;

/** What it uses of a launcher. */
type Offering = Pick<Engine, 'context' | 'ledger' | 'lost' | 'registry'>;
type TakesOver = (request: RequestRecord, nodes: readonly NodeRecord[]) => TakeOver;

/** A request that pools may take over. */
interface Offer {
  /** Steady time. */
  readonly sinceMs: number;
  /** A pool of this launcher will take it as soon as it can. */
  isWanted: boolean;
}

/**
 * Offers lost requests whose launches can be resumed to the pools of their nodes, which take them over with all nodes. Has a
 * request looked at again when it may be taken now, or its time is over.
 */
export class ResumedLaunches implements Feature {
  readonly #engine: Offering;
  readonly #takesOver: TakesOver;
  readonly #offers = new Map<RequestId, Offer>();
  readonly #unsubscribe: readonly (() => void)[];

  constructor(engine: Offering, takesOver: TakesOver) {
    this.#engine = engine;
    this.#takesOver = takesOver;
    engine.lost.claim((request, nodes) => this.#offer(request, nodes));
    const { events } = engine.context;
    this.#unsubscribe = [
      events.on(
        'requestChanged',
        ({ id, after }) => after?.state !== 'pending' && this.#offers.delete(id as RequestId),
      ),
      events.on('requestLockChanged', ({ id, contenders }) => contenders > 0 && this.#offers.delete(id)),
      // it could not be locked with its nodes: another launcher was faster, or the mirror was behind
      events.on('requestEnded', ({ request, outcome }) => outcome === 'busy' && this.#lookIn(RETRY_MS, request.id)),
      events.on('poolChanged', ({ after }) => after && this.#lookAtAll()),
      events.on('providerStarted', () => this.#lookAtAll()),
      events.on('launchEnded', () => this.#lookAtNext()),
      events.on('tenantCapacityFreed', () => this.#lookAtNext()),
      events.on('requestTaken', () => this.#lookAtNext()),
    ];
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /** @returns whether a pool of this launcher took the request, or a pool of this launcher or another may yet */
  #offer(request: RequestRecord, nodes: readonly NodeRecord[]): boolean {
    const { id } = request;
    const { context, ledger } = this.#engine;
    if (!nodes.some(isResumable)) return false;
    if (context.life.isDraining) return true; // that is for those that stay
    const nowMs = steadyNow(context.clock);
    const offer = this.#offers.get(id) ?? { sinceMs: nowMs, isWanted: false };
    if (!this.#offers.has(id)) {
      this.#offers.set(id, offer);
      for (const ms of [REPLACED_MS, TAKE_OVER_MS]) this.#lookIn(ms, id);
    }
    offer.isWanted = this.#takesOver(request, nodes) === 'later';
    return ledger.has(id) || nowMs - offer.sinceMs < this.#leftToPoolsMs(offer, nodes);
  }

  /** How long the request is left to pools of its nodes: not to one of this launcher that cannot accept it. */
  #leftToPoolsMs({ isWanted }: Offer, nodes: readonly NodeRecord[]): number {
    const { registry } = this.#engine;
    const pools = registry.candidates.filter(({ providerName, name }) =>
      nodes.some((node) => node.provider === providerName && node.pool === name),
    );
    if (pools.length === 0) return REPLACED_MS;
    const mayTake = pools.some(({ launcherId: id }) => !registry.isOwn(id) || !registry.registered.has(id));
    return isWanted || mayTake ? TAKE_OVER_MS : 0;
  }

  #lookIn(ms: number, request: RequestId): void {
    const { context, lost } = this.#engine;
    context.clock.setTimer(ms, () => this.#offers.has(request) && lost.look(request));
  }

  #lookAtAll(): void {
    for (const request of this.#offers.keys()) this.#engine.lost.look(request);
  }

  /** Capacity for launches may have come free: one after another may be taken, in the order in which they were lost. */
  #lookAtNext(): void {
    const { ledger, lost } = this.#engine;
    const next = [...this.#offers].find(([request, { isWanted }]) => isWanted && !ledger.has(request));
    if (next) lost.look(next[0]);
  }
}

/** Launches that another launcher began are resumed: its requests are taken over with the nodes that are being made for them. */
export const resumedLaunches: MakeFeature = (engine) => {
  engine.reaper.keepUnfinished(isResumable);
  return new ResumedLaunches(engine, (request, nodes) => takeOver(engine, request, nodes));
};
