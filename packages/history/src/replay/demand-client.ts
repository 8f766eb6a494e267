import { isZooKeeperError, type Clock, type NodeId, type RecordCache, type RequestRecord } from '@nodepool/zk-protocol';
import { delay, type ZooKeeper } from '@nodepool/zk-protocol';
import { Requestor } from '@nodepool/core/testing';
import type { DemandedRequest } from './demand.js';
import type { RequestResult } from './figures.js';

type End = Pick<RequestResult, 'outcome'> & { readonly nodeIds: readonly NodeId[] };

/** Options of {@link DemandClient}. */
export interface DemandClientOptions {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  /** The request cache of a launcher. */
  readonly requests: RecordCache<RequestRecord>;
}

/** Submits recorded requests, uses their nodes for the recorded time, and collects the results. */
export class DemandClient {
  readonly results: RequestResult[] = [];
  /** Requests that have not ended. */
  readonly #open = new Map<string, DemandedRequest & { readonly askedMs: number }>();
  readonly #ends = new Map<string, (end: End) => void>();
  readonly #requestor: Requestor;
  readonly #clock: Clock;
  #asking = 0;

  constructor({ zk, clock, requests }: DemandClientOptions) {
    this.#requestor = new Requestor(zk, clock);
    this.#clock = clock;
    requests.onChange(({ id, after }) => {
      if (after && after.state !== 'fulfilled' && after.state !== 'failed') return;
      this.#ends.get(id)?.({ outcome: after ? outcomeOf(after.state) : 'gone', nodeIds: after?.nodeIds ?? [] });
    });
  }

  get isIdle(): boolean {
    return this.#asking === 0 && this.#open.size === 0;
  }

  /** Counts requests that still wait as open. */
  giveUp(): void {
    for (const request of this.#open.values()) this.#note(request, 'open', this.#clock.now() - request.askedMs);
    this.#open.clear();
  }

  /** Resolves when the nodes have been given back. */
  async ask(demand: DemandedRequest): Promise<void> {
    const { labels, priority, relativePriority, provider, tenant, requestor } = demand;
    const askedMs = this.#clock.now();
    this.#asking++;
    const fields = { relativePriority, provider, tenantName: tenant, requestor, eventId: demand.id };
    const id = await this.#requestor.submit(labels, fields, priority);
    this.#open.set(id, { ...demand, askedMs });
    this.#asking--;
    const { outcome, nodeIds } = await this.#wait(id, demand.patienceMs);
    this.#open.delete(id);
    this.#note(demand, outcome, this.#clock.now() - askedMs);
    if (outcome === 'fulfilled') await this.#use(id, nodeIds, demand.useMs);
    else await this.#requestor.forget(id);
  }

  #wait(id: string, patienceMs: number | undefined): Promise<End> {
    return new Promise((resolve) => {
      const timer =
        patienceMs === undefined
          ? undefined
          : this.#clock.setTimer(patienceMs, () => end({ outcome: 'gone', nodeIds: [] }));
      const end = (how: End) => {
        timer?.();
        this.#ends.delete(id);
        resolve(how);
      };
      this.#ends.set(id, end);
    });
  }

  async #use(id: RequestRecord['id'] | string, nodeIds: readonly NodeId[], useMs: number): Promise<void> {
    try {
      const held = await this.#requestor.take(id as RequestRecord['id'], nodeIds);
      await delay(this.#clock, useMs);
      await this.#requestor.giveBack(held);
    } catch (error) {
      if (!isZooKeeperError(error)) throw error; // the node was taken away meanwhile
    }
  }

  #note({ labels, counts }: DemandedRequest, outcome: RequestResult['outcome'], waitedMs: number): void {
    if (counts) this.results.push({ labels, outcome, waitedMs });
  }
}

function outcomeOf(state: string): RequestResult['outcome'] {
  return state === 'fulfilled' ? 'fulfilled' : 'failed';
}
