import { decodeNode, encodeNode, isZooKeeperError, MultiError, nodePath, withNode } from '@nodepool/zk-protocol';
import type { JsonObject, NodeFields, NodeId, NodeRecord, Operation } from '@nodepool/zk-protocol';
import { LockLostError, NODE_ID_TAG, POOL_TAG, PROVIDER_TAG } from '@nodepool/core';
import type { PoolConfig, ProviderContext } from '@nodepool/core';
import type { BackingNode } from './backing-node.js';
import type { SlotIndex } from './slot-index.js';
import type { SlotClaim } from './slot-claim.js';
import { formatBackingData, placeOf } from './user-data.js';

/** Maximum slot nodes in one transaction. */
const BATCH = 40;

interface PlannedClaim {
  readonly claim: SlotClaim;
  readonly slot: number;
}

/**
 * Claims slots. One transaction makes the slot node ready and adds it to the backing node's record; it fails if another
 * process has written that record. So two launchers never assign the same slot, and no backing node is returned while
 * one of its slots is being claimed. Concurrent claims on one backing node share a transaction.
 */
export class ClaimWriter {
  readonly #context: ProviderContext;
  readonly #slots: SlotIndex;
  /** Requeues a claim that got no slot, for another backing node. */
  readonly #requeue: (claim: SlotClaim) => void;
  readonly #running = new Set<Promise<void>>();

  constructor(context: ProviderContext, slots: SlotIndex, requeue: (claim: SlotClaim) => void) {
    this.#context = context;
    this.#slots = slots;
    this.#requeue = requeue;
  }

  /** Queues a claim with a reserved slot. It ends with `done` or `failed`, or is requeued. */
  add(claim: SlotClaim, backing: BackingNode): void {
    backing.queue.push(claim);
    if (backing.isWriting) return;
    backing.isWriting = true;
    const run = this.#write(backing).finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  /** Resolves when no write is pending. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #write(backing: BackingNode): Promise<void> {
    // Wait one turn, so that all claims of this turn share a transaction.
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
      else await this.#reconcile(backing, planned, error);
      return;
    }
    for (const { claim } of planned) {
      const node = this.#context.nodes.get(claim.node.id);
      if (node) claim.done(node);
      else claim.failed(lockLost(claim, 'its record is gone', undefined));
    }
  }

  /** Assigns a slot to each claim. Skips claims without a free slot, and claims whose lock is lost. */
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
      else this.#requeue(claim);
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

  /** Handles a refused transaction: nothing was written. */
  #refused(backing: BackingNode, version: number, planned: readonly PlannedClaim[], error: MultiError): void {
    const rejected = planned[error.failedIndex]?.claim;
    if (rejected) rejected.failed(lockLost(rejected, 'another process wrote or removed it', error));
    else backing.staleVersion = Math.max(backing.staleVersion, version);
    for (const { claim } of planned) if (claim !== rejected) this.#requeue(claim);
  }

  /** After a lost connection, reads from the records which claims took effect. Locks live as long as the session. */
  async #reconcile(backing: BackingNode, planned: readonly PlannedClaim[], cause: unknown): Promise<void> {
    if (!isZooKeeperError(cause)) throw cause;
    const { zk } = this.#context;
    await zk.whenConnected();
    for (const { claim } of planned) {
      const stored = claim.epoch === zk.sessionEpoch ? await this.#read(claim.node.id) : undefined;
      if (stored && placeOf(stored)?.backingNode === backing.id) claim.done(stored);
      else if (stored && stored.stat?.version === claim.node.stat?.version) this.#requeue(claim);
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

/** Writes a record, conditional on the version that was read. */
/** Writes a node's record, unless another process has written it since it was read. */
export function setNode(node: NodeRecord): Operation {
  return { op: 'set', path: nodePath(node.id), data: encodeNode(node), version: node.stat?.version ?? -1 };
}

function lockLost(claim: SlotClaim, why: string, cause: unknown): LockLostError {
  return new LockLostError(`node ${claim.node.id}: assigning a slot failed: ${why}`, { cause });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** Fields of a ready slot node, most of them copied from its backing node. */
function readySlotFields(
  node: NodeRecord,
  backing: NodeRecord,
  slot: number,
  pool: PoolConfig,
  hostKeys: readonly string[] | undefined,
): NodeFields {
  const { interfaceIp, publicIpv4, publicIpv6, privateIpv4, az, region, cloud } = backing;
  const { username, pythonPath, shellType, connectionPort, connectionType } = backing;
  return {
    ...{ interfaceIp, publicIpv4, publicIpv6, privateIpv4, az, region, cloud },
    ...{ username, pythonPath, shellType, connectionPort, connectionType },
    state: 'ready',
    externalId: node.id,
    hostId: null,
    imageId: 'unused',
    hostKeys: hostKeys ?? backing.hostKeys,
    attributes: mergeAttributes(backing.attributes, pool.nodeAttributes),
    resources: { cores: 0, instances: 1, ram: 0 },
    slot,
    driverData: {
      metadata: {
        [NODE_ID_TAG]: node.id,
        [POOL_TAG]: pool.name,
        [PROVIDER_TAG]: node.provider ?? '',
      },
      backing_node: backing.id,
      slot,
      node: node.id,
    },
  };
}

/** Attributes of the slot's pool override those of the backing node, by top-level key. */
function mergeAttributes(defaults: JsonObject | null, own: JsonObject | null): JsonObject | null {
  if (defaults === null) return own;
  return own === null ? defaults : { ...defaults, ...own };
}
