import type { ProviderContext } from '@nodepool/core';
import type { RequestId } from '@nodepool/zk-protocol';
import type { BackingNode } from './backing-node.js';
import type { SlotIndex } from './slot-index.js';
import { ClaimWriter } from './claim-writer.js';
import type { SlotClaim } from './slot-claim.js';

/** What the allocator leaves to others. */
export interface AllocatorHost {
  /** Reads the host keys of a backing node for a claim, and notes them there. Rejects when that fails. */
  scanKeys(claim: SlotClaim, backing: BackingNode): Promise<void>;
  /** The label's launches were served as far as possible. */
  served(label: string): void;
}

/** Gives the launches of this process slots: first come, first served, on the fullest backing node that has one. */
export class Allocator {
  readonly #context: ProviderContext;
  readonly #slots: SlotIndex;
  readonly #host: AllocatorHost;
  readonly #writer: ClaimWriter;
  /** Launches without a slot, by label. */
  readonly #waiting = new Map<string, SlotClaim[]>();
  readonly #dirty = new Set<string>();
  #scheduled = false;

  constructor(context: ProviderContext, slots: SlotIndex, host: AllocatorHost) {
    this.#context = context;
    this.#slots = slots;
    this.#host = host;
    this.#writer = new ClaimWriter(context, slots, (claim) => this.#putBack(claim));
  }

  /** Queues a launch. */
  add(claim: SlotClaim): void {
    this.#queueOf(claim.label).push(claim);
    this.schedule(claim.label);
  }

  /** Takes a launch that has ended out of the queue; one that is being written is left to end. */
  remove(claim: SlotClaim): void {
    claim.isOver = true;
    const queue = this.#queueOf(claim.label);
    const index = queue.indexOf(claim);
    if (index >= 0) queue.splice(index, 1);
    this.schedule(claim.label);
  }

  /** Launches of this process that wait for a slot, oldest first. */
  waitingFor(label: string): readonly SlotClaim[] {
    return this.#waiting.get(label) ?? [];
  }

  /** Launches whose request is gone. */
  *waitingOf(request: RequestId): Generator<SlotClaim> {
    for (const queue of this.#waiting.values()) {
      for (const claim of queue) if (claim.request === request) yield claim;
    }
  }

  /** Looks at a label, once for everything that happens in this turn. */
  schedule(label: string): void {
    this.#dirty.add(label);
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      const labels = [...this.#dirty];
      this.#dirty.clear();
      for (const each of labels) this.#serve(each);
    });
  }

  /** Resolves when nothing is being written. */
  settled(): Promise<void> {
    return this.#writer.settled();
  }

  #serve(label: string): void {
    // While the cache is rebuilt nothing can be written; once it is ready every backing node is looked at again.
    if (!this.#context.nodes.ready) return;
    const queue = this.#queueOf(label);
    const supply = this.#slots.label(label);
    let taken = 0;
    for (let backing = supply.fullest(); backing && taken < queue.length; backing = supply.fullest()) {
      const claim = queue[taken++];
      if (claim) this.#promise(claim, backing);
    }
    queue.splice(0, taken);
    this.#host.served(label);
  }

  #promise(claim: SlotClaim, backing: BackingNode): void {
    this.#slots.reserve(backing, 1);
    if (claim.scansKeys) void this.#scan(claim, backing);
    else this.#writer.add(claim, backing);
  }

  async #scan(claim: SlotClaim, backing: BackingNode): Promise<void> {
    try {
      await this.#host.scanKeys(claim, backing);
    } catch (error) {
      this.#slots.reserve(backing, -1);
      claim.failed(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    this.#writer.add(claim, backing);
  }

  /** Others were quicker: the claim keeps its place. */
  #putBack(claim: SlotClaim): void {
    if (claim.isOver) return;
    this.#queueOf(claim.label).unshift(claim);
    this.schedule(claim.label);
  }

  #queueOf(label: string): SlotClaim[] {
    let queue = this.#waiting.get(label);
    if (!queue) this.#waiting.set(label, (queue = []));
    return queue;
  }
}
