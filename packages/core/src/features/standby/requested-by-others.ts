import { steadyNow, type RequestId, type RequestRecord } from '@nodepool/zk-protocol';
import { MIN_READY_REQUESTOR } from '../../launcher/plan/candidates.js';
import type { Context } from '../../launcher/state/context.js';
import type { PoolViews } from '../../launcher/view/pool-views.js';

/** After this time without a request, others are taken to keep one node less: their `min-ready` may have been lowered. */
const FORGET_ONE_MS = 3_600_000;

/** What one launcher keeps of one label. */
interface Demand {
  readonly open: Set<RequestId>;
  /** Nodes on standby, and nodes that it requested, when it made its last request. */
  nodes: number;
  sinceMs: number;
}

/**
 * The numbers of free nodes that other launchers keep by their `min-ready`, as their requests show: a launcher requests what is missing.
 * A surplus below that number would be requested again at once, and deleted again, without an end.
 */
export class RequestedByOthers {
  readonly #context: Context;
  readonly #views: PoolViews;
  /** By label and session. */
  readonly #demands = new Map<string, Map<bigint, Demand>>();
  readonly #unsubscribe: () => void;

  constructor(context: Context, views: PoolViews) {
    this.#context = context;
    this.#views = views;
    this.#unsubscribe = context.events.on('requestChanged', ({ before, after }) => this.#requestChanged(before, after));
  }

  stop(): void {
    this.#unsubscribe();
  }

  /** Number of free nodes of the label that another registered launcher keeps; running ones alone if it does not know stopped ones. */
  nodes(label: string): number {
    const now = steadyNow(this.#context.clock);
    let most = 0;
    for (const [session, { nodes, sinceMs }] of this.#demands.get(label) ?? []) {
      if (!this.#views.isRegistered(session)) continue;
      most = Math.max(most, nodes - Math.floor((now - sinceMs) / FORGET_ONE_MS));
    }
    return most;
  }

  /** Number of free nodes of the label as the other launchers count them. */
  count(label: string): number {
    const { mirror } = this.#context;
    const parked = this.#views.sharers(label).unaware ? mirror.parkedCount(label) : 0;
    return mirror.idleCount(label) - parked;
  }

  #requestChanged(before: RequestRecord | undefined, after: RequestRecord | undefined): void {
    const request = after ?? before;
    const label = request?.labels[0];
    if (label === undefined || request?.requestor !== MIN_READY_REQUESTOR || request.provider !== null) return;
    const session = request.stat?.ephemeralOwner;
    if (session === undefined || session === this.#context.zk.sessionId) return;
    if (!after) this.#demands.get(label)?.get(session)?.open.delete(request.id);
    else if (!before) this.#requested(label, session, request.id);
  }

  #requested(label: string, session: bigint, id: RequestId): void {
    let sessions = this.#demands.get(label);
    if (!sessions) this.#demands.set(label, (sessions = new Map<bigint, Demand>()));
    for (const other of sessions.keys()) if (!this.#views.isRegistered(other)) sessions.delete(other);
    const demand = sessions.get(session) ?? { open: new Set(), nodes: 0, sinceMs: 0 };
    demand.open.add(id);
    demand.nodes = this.count(label) + demand.open.size;
    demand.sinceMs = steadyNow(this.#context.clock);
    sessions.set(session, demand);
  }
}
