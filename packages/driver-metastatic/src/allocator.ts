import type { ProviderContext } from '@nodepool/core';
import type { RequestId } from '@nodepool/zk-protocol';
import type { BackingNode } from './backing-node.js';
import type { SlotIndex } from './slot-index.js';
import { ClaimWriter } from './claim-writer.js';
import type { SlotClaim } from './slot-claim.js';

/** Callbacks of the allocator. */
export interface AllocatorHost {
  /** Reads the host keys of a backing node into a claim. Rejects on failure. */
  scanKeys(claim: SlotClaim, backing: BackingNode): Promise<void>;
  /** All possible launches of the label have a slot; the others need new backing nodes. */
  served(label: string): void;
}

/** Assigns slots to the launches of this process: first come, first served, on the fullest backing node. */
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

  /** Removes an ended launch from the queue. A pending write is not interrupted. */
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

  /** Serves a label at the end of this turn, once for all changes of the turn. */
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

  /** Resolves when no write is pending. */
  settled(): Promise<void> {
    return this.#writer.settled();
  }

  #serve(label: string): void {
    // No writes while the cache is being rebuilt; once it is ready, every backing node is checked again.
    if (!this.#context.nodes.ready) return;
    const queue = this.#queueOf(label);
    const supply = this.#slots.label(label);
    let taken = 0;
    for (let backing = supply.fullest(); backing && taken < queue.length; backing = supply.fullest()) {
      const claim = queue[taken++];
      if (claim) this.#reserve(claim, backing);
    }
    queue.splice(0, taken);
    this.#host.served(label);
  }

  #reserve(claim: SlotClaim, backing: BackingNode): void {
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

  /** Another launcher was faster: requeue the claim at its place. */
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
