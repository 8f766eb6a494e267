import type { CancelTimer, NodeId, NodeState, RequestId } from '@nodepool/zk-protocol';
import type { Services } from '../mirror/services.js';

/** How often to look whether the mirror has read the nodes of a request that went, and how many times at the most. */
const LOOK_MS = 50;
const MOST_LOOKS = 20;
/** States of a node that will be free once the mirror has read it, or once it is given free. */
const COMING: ReadonlySet<string> = new Set<NodeState>(['init', 'building', 'ready']);

/**
 * Standby nodes that will be free without anybody asking for more, by label: one for each standby request of any launcher. A
 * deleted request is seen at once and a changed node is read first: a request that went counts until its nodes are known, and
 * each of them counts until it is free, whatever the record of the request said last.
 */
export class ExpectedNodes {
  readonly #services: Pick<Services, 'mirror' | 'clock'>;
  readonly #changed: (label: string) => void;
  readonly #open = new Map<string, Set<RequestId>>();
  /** Nodes of requests that went, with the request each was made for. */
  readonly #coming = new Map<string, Map<NodeId, RequestId>>();
  /** Requests that went and still count. */
  readonly #leaving = new Map<RequestId, CancelTimer>();

  /** @param changed - a request of the label does not count any more */
  constructor(services: Pick<Services, 'mirror' | 'clock'>, changed: (label: string) => void) {
    this.#services = services;
    this.#changed = changed;
  }

  stop(): void {
    for (const cancel of this.#leaving.values()) cancel();
    this.#leaving.clear();
  }

  /** The request is there. Safe to repeat. */
  requested(label: string, id: RequestId): void {
    const open = this.#open.get(label);
    if (open) open.add(id);
    else this.#open.set(label, new Set([id]));
  }

  /** The request went. */
  requestGone(label: string, id: RequestId, looks = MOST_LOOKS): void {
    const { mirror, clock } = this.#services;
    const isKnown = mirror.nodes.eventQueue + mirror.nodes.playbackQueue === 0;
    if (!isKnown && looks > 0) {
      this.#leaving.set(
        id,
        clock.setTimer(LOOK_MS, () => this.requestGone(label, id, looks - 1)),
      );
      return;
    }
    this.#leaving.delete(id);
    this.#open.get(label)?.delete(id);
    const coming = this.#coming.get(label) ?? new Map<NodeId, RequestId>();
    for (const node of mirror.allocatedTo(id)) coming.set(node, id);
    if (coming.size > 0) this.#coming.set(label, coming);
    this.#changed(label);
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
      const node = this.#services.mirror.nodes.get(id);
      if (node?.allocatedTo !== request || !COMING.has(node.state)) coming.delete(id);
    }
    if (coming.size === 0) this.#coming.delete(label);
    return coming.size;
  }
}
