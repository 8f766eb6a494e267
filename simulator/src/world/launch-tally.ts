import { DATABASE_ID_TAG, NODE_ID_TAG } from '@nodepool/core';
import type { InvariantChecker, NodeEntry } from '@nodepool/core/testing';
import type { CloudInstance } from '@nodepool/driver-fake';

/** Instances of a run. */
export interface LaunchCounts {
  readonly made: number;
  /** Those that became ready. */
  readonly used: number;
  /** Those that were not wanted any more, as their request was withdrawn before they were ready. */
  readonly withdrawn: number;
  /** Those of orders that reached a cloud when their launcher had lost the node already. Nothing can call such orders back. */
  readonly late: number;
}

/**
 * Counts the instances that are made for each node. Where only launchers fail, none is thrown away: a node has one instance, which
 * becomes ready unless the requestor withdraws the request.
 */
export class LaunchTally {
  readonly #checker: InvariantChecker;
  readonly #report: (violation: string) => void;
  /** Instances by node. */
  readonly #made = new Map<string, Set<string>>();
  /** Nodes that were ready. */
  readonly #used = new Set<string>();
  /** Late orders by node. */
  readonly #late = new Map<string, number>();
  /** Nodes that were given up before they were ready, and whether their request had been withdrawn. */
  readonly #givenUp = new Map<string, { readonly isWithdrawn: boolean; readonly how: string }>();

  constructor(checker: InvariantChecker, report: (violation: string) => void) {
    this.#checker = checker;
    this.#report = report;
    checker.watch((before, after, who) => before && this.#nodeChanged(before, after, who));
  }

  get counts(): LaunchCounts {
    const counts = { made: 0, used: 0, withdrawn: 0, late: 0 };
    for (const [id, { size }] of this.#made) {
      const isUsed = this.#used.has(id);
      counts.made += size;
      if (isUsed) counts.used++;
      if (!isUsed && this.#givenUp.get(id)?.isWithdrawn) counts.withdrawn += size;
      else if (this.#late.has(id)) counts.late += isUsed ? size - 1 : size;
    }
    return counts;
  }

  /** A cloud gets an order. @param session - of the launcher that sent it; `undefined`: that is dead */
  ordered(nodeId: string, session: bigint | undefined): void {
    if (session !== undefined && this.#checker.holderOf(`/nodepool/nodes/${nodeId}/lock`) === session) return;
    this.#late.set(nodeId, (this.#late.get(nodeId) ?? 0) + 1);
  }

  /** A cloud shows an instance. */
  shown({ id, metadata }: Pick<CloudInstance, 'id' | 'metadata'>): void {
    const nodeId = metadata[NODE_ID_TAG];
    const { databaseId } = this.#checker;
    if (nodeId === undefined || databaseId === undefined || metadata[DATABASE_ID_TAG] !== databaseId) return;
    const made = this.#made.get(nodeId) ?? new Set();
    if (made.has(id)) return;
    this.#made.set(nodeId, made.add(id));
    const givenUp = this.#givenUp.get(nodeId);
    if (givenUp?.isWithdrawn) return;
    const late = this.#late.get(nodeId) ?? 0;
    if (made.size > 1 + late)
      this.#report(`node ${nodeId} gets instance ${id} after ${[...made].slice(0, -1).join(', ')}`);
    if (givenUp && late === 0) this.#report(`instance ${id} of node ${nodeId} is thrown away: ${givenUp.how}`);
  }

  /** An instance is deleted: launchers delete that of an unlocked record without writing it first. */
  gone(instanceId: string): void {
    const [nodeId] = [...this.#made].find(([, made]) => made.has(instanceId)) ?? [];
    if (nodeId === undefined || this.#used.has(nodeId) || this.#givenUp.has(nodeId) || this.#late.has(nodeId)) return;
    const isWithdrawn = !this.#checker.requests.has(this.#checker.nodes.get(nodeId)?.allocatedTo ?? '');
    this.#givenUp.set(nodeId, { isWithdrawn, how: 'it is deleted' });
    if (!isWithdrawn) this.#report(`instance ${instanceId} of node ${nodeId} is thrown away: it is deleted`);
  }

  #nodeChanged(before: NodeEntry, after: NodeEntry, who: string): void {
    const { id } = after;
    if (after.state === 'ready') this.#used.add(id);
    const isLetGo = before.allocatedTo !== null && after.allocatedTo === null;
    const isOver = !['init', 'building', 'ready'].includes(after.state);
    if (this.#used.has(id) || this.#givenUp.has(id) || (!isLetGo && !isOver)) return;
    const isWithdrawn = !this.#checker.requests.has(before.allocatedTo ?? '');
    const how = `${who} makes it ${after.state}, allocated to ${after.allocatedTo ?? 'none'}`;
    this.#givenUp.set(id, { isWithdrawn, how });
    if (isWithdrawn) return;
    for (const instance of this.#made.get(id) ?? [])
      this.#report(`instance ${instance} of node ${id} is thrown away: ${how}`);
  }
}
