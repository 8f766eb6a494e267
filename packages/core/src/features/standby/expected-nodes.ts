import { isZooKeeperError, type NodeId, type NodeState, type RequestId } from '@nodepool/zk-protocol';
import type { Context } from '../../launcher/state/context.js';
import { isUnreadable } from '../../launcher/state/unreadable.js';

/** States of a node that will be free once it is deallocated, or once the mirror has read its change. */
const COMING: ReadonlySet<string> = new Set<NodeState>(['init', 'building', 'ready']);

/**
 * Standby nodes that are already requested, by label: one for each standby request of any launcher. The mirror shows the end
 * of a request at once, but a changed node only after a read. So a removed request counts until its nodes have been read,
 * and each of them counts until it is free.
 */
export class ExpectedNodes {
  readonly #context: Pick<Context, 'mirror'>;
  readonly #open = new Map<string, Set<RequestId>>();
  /** Removed requests that still count. */
  readonly #ending = new Set<RequestId>();
  /** Nodes of removed requests, with the request that each was made for. */
  readonly #coming = new Map<string, Map<NodeId, RequestId>>();

  constructor(context: Pick<Context, 'mirror'>) {
    this.#context = context;
  }

  /** A request exists. Safe to repeat. */
  requested(label: string, id: RequestId): void {
    const open = this.#open.get(label);
    if (open) open.add(id);
    else this.#open.set(label, new Set([id]));
  }

  /** A request was removed. Resolves when it does not count any more. */
  async requestGone(label: string, id: RequestId): Promise<void> {
    const { mirror } = this.#context;
    this.#ending.add(id);
    try {
      await mirror.nodes.settle();
    } catch (error) {
      if (!isZooKeeperError(error)) throw error; // after a lost connection all nodes are read again
    }
    this.#ending.delete(id);
    this.#open.get(label)?.delete(id);
    const coming = this.#coming.get(label) ?? new Map<NodeId, RequestId>();
    for (const node of mirror.allocatedTo(id)) coming.set(node, id);
    if (coming.size > 0) this.#coming.set(label, coming);
  }

  /** Forgets requests that ended with their session before they were read, so that nothing told of their end. */
  async forgetUnread(): Promise<void> {
    const { requests } = this.#context.mirror;
    const asked = [...this.#open].map(([label, ids]) => [label, [...ids]] as const);
    await requests.settle();
    for (const [label, ids] of asked)
      for (const id of ids)
        if (!requests.get(id) && !isUnreadable(requests, id) && !this.#ending.has(id))
          this.#open.get(label)?.delete(id);
  }

  /** The number of expected nodes of the label. */
  count(label: string): number {
    return (this.#open.get(label)?.size ?? 0) + this.#countComing(label);
  }

  /** Whether the node counts, or has counted until now. */
  includes(label: string, node: NodeId): boolean {
    return this.#coming.get(label)?.has(node) ?? false;
  }

  #countComing(label: string): number {
    const coming = this.#coming.get(label);
    if (!coming) return 0;
    for (const [id, request] of coming) {
      const node = this.#context.mirror.nodes.get(id);
      if (node?.allocatedTo !== request || !COMING.has(node.state)) coming.delete(id);
    }
    if (coming.size === 0) this.#coming.delete(label);
    return coming.size;
  }
}
