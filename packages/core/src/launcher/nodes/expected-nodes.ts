import { isZooKeeperError, type NodeId, type NodeState, type RequestId } from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';

/** States of a node that will be free once the mirror has read it, or once it is given free. */
const COMING: ReadonlySet<string> = new Set<NodeState>(['init', 'building', 'ready']);

/**
 * Standby nodes that will be free without anybody asking for more, by label: one for each standby request of any launcher. A
 * deleted request is seen at once and a changed node is read first: a request that went counts until its nodes are known, and
 * each of them counts until it is free, whatever the record of the request said last.
 */
export class ExpectedNodes {
  readonly #context: Pick<Context, 'mirror'>;
  readonly #open = new Map<string, Set<RequestId>>();
  /** Nodes of requests that went, with the request each was made for. */
  readonly #coming = new Map<string, Map<NodeId, RequestId>>();

  constructor(context: Pick<Context, 'mirror'>) {
    this.#context = context;
  }

  /** The request is there. Safe to repeat. */
  requested(label: string, id: RequestId): void {
    const open = this.#open.get(label);
    if (open) open.add(id);
    else this.#open.set(label, new Set([id]));
  }

  /** The request went. Resolves when it does not count any more. */
  async requestGone(label: string, id: RequestId): Promise<void> {
    const { mirror } = this.#context;
    try {
      await mirror.nodes.settle();
    } catch (error) {
      if (!isZooKeeperError(error)) throw error; // without a connection the nodes are read again once there is one
    }
    this.#open.get(label)?.delete(id);
    const coming = this.#coming.get(label) ?? new Map<NodeId, RequestId>();
    for (const node of mirror.allocatedTo(id)) coming.set(node, id);
    if (coming.size > 0) this.#coming.set(label, coming);
  }

  /** How many nodes of the label are expected. */
  count(label: string): number {
    return (this.#open.get(label)?.size ?? 0) + this.#countComing(label);
  }

  /** The node counts, or did until now. */
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
