import { backoffMs, type NodeRecord, type RequestId, type RequestRecord } from '@nodepool/zk-protocol';
import type { Ledger } from '../ledger/ledger.js';
import { isResumable } from '../plan/nodes.js';
import type { PoolRegistry } from '../registry/pool-registry.js';
import type { Context } from '../state/context.js';

const RETRY = { firstMs: 100, longestMs: 30_000 };
/**
 * How long a request whose launches can be continued is left to the pools of their provider, which may be starting or getting a
 * new session.
 */
const TAKE_OVER_MS = 30_000;
/** After so many failures to take a request over it is put back, e.g. because one of its nodes is locked. */
const MOST_TAKE_OVERS = 3;

/** Offers lost requests whose launches can be continued to the pools of their provider, which take them over with all nodes. */
export class TakeOvers {
  readonly #context: Context;
  readonly #ledger: Pick<Ledger, 'has'>;
  readonly #registry: Pick<PoolRegistry, 'candidates'>;
  readonly #checkAgain: (id: RequestId) => void;
  /** Requests that a pool may take over: since when, and how often one has failed to. */
  readonly #offers = new Map<RequestId, { readonly sinceMs: number; failures: number }>();
  readonly #unsubscribe: readonly (() => void)[];

  /** @param checkAgain - called with an offered request that may be taken over now, or is to be put back */
  constructor(
    context: Context,
    ledger: Pick<Ledger, 'has'>,
    registry: Pick<PoolRegistry, 'candidates'>,
    checkAgain: (id: RequestId) => void,
  ) {
    this.#context = context;
    this.#ledger = ledger;
    this.#registry = registry;
    this.#checkAgain = checkAgain;
    const { events } = context;
    this.#unsubscribe = [
      events.on(
        'requestChanged',
        ({ id, after }) => after?.state !== 'pending' && this.#offers.delete(id as RequestId),
      ),
      events.on('requestLockChanged', ({ id, contenders }) => contenders > 0 && this.#offers.delete(id)),
      events.on('requestEnded', ({ request, outcome }) => outcome === 'busy' && this.#failed(request.id)),
      events.on('poolChanged', ({ after }) => after && this.#checkAll()),
      events.on('providerStarted', () => this.#checkAll()),
    ];
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /** @returns whether a pool of this launcher took the request, or a pool of this launcher or another may */
  offer(request: RequestRecord, nodes: readonly NodeRecord[]): boolean {
    const { id } = request;
    const { events, clock } = this.#context;
    if (!nodes.some(isResumable)) return false;
    const nowMs = clock.now();
    const offer = this.#offers.get(id) ?? { sinceMs: nowMs, failures: 0 };
    if (offer.failures >= MOST_TAKE_OVERS || nowMs - offer.sinceMs >= TAKE_OVER_MS) return false;
    if (!this.#offers.has(id)) clock.setTimer(TAKE_OVER_MS, () => this.#checkAgain(id));
    this.#offers.set(id, offer);
    events.emit('requestLost', { request, nodes });
    return this.#ledger.has(id) || this.#isAwaited(nodes);
  }

  /** Whether a pool of the nodes is registered, or is about to be. */
  #isAwaited(nodes: readonly NodeRecord[]): boolean {
    return this.#registry.candidates.some(({ providerName, name }) =>
      nodes.some((node) => node.provider === providerName && node.pool === name),
    );
  }

  /** A pool could not lock the request with its nodes: another launcher was faster, or the mirror was behind. */
  #failed(id: RequestId): void {
    const offer = this.#offers.get(id);
    if (!offer) return;
    offer.failures++;
    const { clock, random } = this.#context;
    clock.setTimer(backoffMs(offer.failures - 1, RETRY, random), () => this.#checkAgain(id));
  }

  #checkAll(): void {
    for (const id of this.#offers.keys()) this.#checkAgain(id);
  }
}
