import { decodeNode, encodeNode, isZooKeeperError, MultiError, nodePath, withNode } from '@nodepool/zk-protocol';
import type { NodeId, NodeRecord, Operation } from '@nodepool/zk-protocol';
import { LockLostError } from '@nodepool/core';
import type { ProviderContext } from '@nodepool/core';
import type { BackingNode } from './backing-node.js';
import type { SlotIndex } from './slot-index.js';
import type { SlotClaim } from './slot-claim.js';
import { readySlotFields } from './slot-fields.js';
import { formatBackingData, placeOf } from './user-data.js';

/** Slot nodes written in one transaction. */
const BATCH = 40;

interface PlannedClaim {
  readonly claim: SlotClaim;
  readonly slot: number;
}

/**
 * Takes slots: the slot node becomes ready and the backing node's record names it, in one transaction that is refused
 * when anybody has written the backing node's record meanwhile. So two launchers never give out one slot, and a backing
 * node is never given back while a slot of it is being taken. Claims on one backing node that come together are
 * written together.
 */
export class ClaimWriter {
  readonly #context: ProviderContext;
  readonly #slots: SlotIndex;
  /** Has a claim that got no slot look for another backing node. */
  readonly #again: (claim: SlotClaim) => void;
  readonly #running = new Set<Promise<void>>();

  constructor(context: ProviderContext, slots: SlotIndex, again: (claim: SlotClaim) => void) {
    this.#context = context;
    this.#slots = slots;
    this.#again = again;
  }

  /** Queues a claim whose slot is promised. It ends with `done` or `failed`, or is handed back. */
  add(claim: SlotClaim, backing: BackingNode): void {
    backing.queue.push(claim);
    if (backing.isWriting) return;
    backing.isWriting = true;
    const run = this.#write(backing).finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #write(backing: BackingNode): Promise<void> {
    // One turn later, so that everything promised in this turn goes into one transaction.
    await Promise.resolve();
    try {
      while (backing.queue.length > 0) {
        const batch = backing.queue.splice(0, BATCH);
        try {
          await this.#writeBatch(backing, batch);
        } catch (error) {
          for (const claim of batch) claim.failed(asError(error));
        } finally {
          this.#slots.reserve(backing, -batch.length);
        }
      }
    } finally {
      backing.isWriting = false;
    }
  }

  async #writeBatch(backing: BackingNode, batch: readonly SlotClaim[]): Promise<void> {
    const planned = this.#plan(backing, batch);
    if (planned.length === 0) return;
    const operations = this.#operations(backing, planned);
    const version = backing.record.stat?.version ?? -1;
    try {
      await this.#context.committer.commit(operations);
    } catch (error) {
      if (error instanceof MultiError) this.#refused(backing, version, planned, error);
      else await this.#findOut(backing, planned, error);
      return;
    }
    for (const { claim } of planned) {
      const node = this.#context.nodes.get(claim.node.id);
      if (node) claim.done(node);
      else claim.failed(lockLost(claim, 'its record is gone', undefined));
    }
  }

  /** Gives each claim a slot of its own; those for which none is left, or whose lock is lost, are not written. */
  #plan(backing: BackingNode, batch: readonly SlotClaim[]): PlannedClaim[] {
    const { zk, nodes } = this.#context;
    const isUsable =
      this.#slots.get(backing.id) === backing &&
      backing.ownership === 'ours' &&
      !backing.isClosed &&
      nodes.ready &&
      (backing.record.stat?.version ?? -1) > backing.staleVersion;
    const planned: PlannedClaim[] = [];
    let slot = 0;
    for (const claim of batch) {
      if (claim.isOver) continue;
      if (claim.epoch !== zk.sessionEpoch) {
        claim.failed(lockLost(claim, 'the session ended', undefined));
        continue;
      }
      while (backing.occupied.has(slot)) slot++;
      if (isUsable && slot < backing.data.slots) planned.push({ claim, slot: slot++ });
      else this.#again(claim);
    }
    return planned;
  }

  #operations(backing: BackingNode, planned: readonly PlannedClaim[]): Operation[] {
    const now = this.#context.clock.now();
    const claims = new Map(backing.occupied);
    const operations: Operation[] = [];
    for (const { claim, slot } of planned) {
      const { node, pool, hostKeys } = claim;
      claims.set(slot, node.id);
      const ready = withNode(node, readySlotFields(node, backing.record, slot, pool, hostKeys), now, 'launcher');
      operations.push(setNode(ready));
    }
    const userData = formatBackingData({ ...backing.data, claims });
    operations.push(setNode(withNode(backing.record, { userData }, now)));
    return operations;
  }

  /** Nothing was written. */
  #refused(backing: BackingNode, version: number, planned: readonly PlannedClaim[], error: MultiError): void {
    const culprit = planned[error.failedIndex]?.claim;
    if (culprit) culprit.failed(lockLost(culprit, 'another process wrote or removed it', error));
    else backing.staleVersion = Math.max(backing.staleVersion, version);
    for (const { claim } of planned) if (claim !== culprit) this.#again(claim);
  }

  /** The connection broke: while the session lives so do the locks, and the records tell what took effect. */
  async #findOut(backing: BackingNode, planned: readonly PlannedClaim[], cause: unknown): Promise<void> {
    if (!isZooKeeperError(cause)) throw cause;
    const { zk } = this.#context;
    await zk.whenConnected();
    for (const { claim } of planned) {
      const stored = claim.epoch === zk.sessionEpoch ? await this.#read(claim.node.id) : undefined;
      if (stored && placeOf(stored)?.backingNode === backing.id) claim.done(stored);
      else if (stored && stored.stat?.version === claim.node.stat?.version) this.#again(claim);
      else claim.failed(lockLost(claim, 'the session ended or its record is gone', cause));
    }
  }

  async #read(id: NodeId): Promise<NodeRecord | undefined> {
    try {
      const { data, stat } = await this.#context.zk.getData(nodePath(id));
      return decodeNode(id, data, stat, this.#context.clock.now());
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_NO_NODE')) return undefined;
      throw error;
    }
  }
}

/** Writes a record unless another process has written it since it was read. */
function setNode(node: NodeRecord): Operation {
  return { op: 'set', path: nodePath(node.id), data: encodeNode(node), version: node.stat?.version ?? -1 };
}

function lockLost(claim: SlotClaim, why: string, cause: unknown): LockLostError {
  return new LockLostError(`node ${claim.node.id}: could not give it a slot, ${why}`, { cause });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
