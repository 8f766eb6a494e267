import { isZooKeeperError, NODES_ROOT } from '@nodepool/zk-protocol';
import type { Committer, NodeRecord, Operation, RecordCache, ZooKeeper } from '@nodepool/zk-protocol';

/** Maximum changes in one transaction, about 100 kB. */
const BATCH = 100;
/** Maximum round trips to wait until the cache has read all reported changes. */
const CATCH_UP_ROUNDS = 20;

/**
 * A change of the slots of one host: a new record, another slot number, or the removal of a record without a slot. Valid
 * only while no other launcher has changed the records of the host.
 */
export interface SlotChange {
  /** A number that differs after every change of a record of the host. */
  revision(): number;
  /** Called directly before writing. @returns `undefined` if the change is no longer wanted */
  operations(): readonly Operation[] | undefined;
  /** Whether the operations need their own transaction, because they may be refused for their own reasons. */
  readonly alone: boolean;
}

/** `unwanted`: the change was no longer needed. `refused`: another process holds or waits for the lock of the record. */
export type SlotChangeOutcome = 'written' | 'unwanted' | 'refused' | 'dropped';

/** Dependencies of the guard. */
export interface GuardServices {
  readonly zk: ZooKeeper;
  readonly nodes: RecordCache<NodeRecord>;
  readonly committer: Committer;
}

interface Pending {
  readonly change: SlotChange;
  readonly resolve: (outcome: SlotChangeOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Writes slot changes so that no two records have the same slot number, although several launchers may serve one provider
 * and ZooKeeper has no node per slot. Each transaction rewrites the (empty) data of the nodes' parent, conditional on the
 * version that this launcher read before it computed the change. If another launcher changed slots in between, the
 * transaction fails, and the change is computed again. Nothing else uses that data.
 *
 * A successor that is created in the transaction that deletes its predecessor changes no slot and needs no guard. But the
 * cache may show the deletion and the successor in either order. So a change is written only after a round trip to
 * ZooKeeper during which no record of its host changed: then the cache has seen both.
 */
export class RegistrationGuard {
  readonly #services: GuardServices;
  readonly #queue: Pending[] = [];
  #running = false;

  constructor(services: GuardServices) {
    this.#services = services;
  }

  /**
   * Resolves once the change is written or no longer wanted. `dropped`: the node cache is being rebuilt; submit again
   * when it is ready. Rejects with the error of the transaction.
   */
  submit(change: SlotChange): Promise<SlotChangeOutcome> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ change, resolve, reject });
      if (this.#running) return;
      this.#running = true;
      void this.#work();
    });
  }

  async #work(): Promise<void> {
    // Wait one turn, so that all changes submitted in this turn share a transaction.
    await Promise.resolve();
    while (this.#queue.length > 0 && this.#services.nodes.ready) {
      const batch = this.#takeBatch();
      try {
        await this.#workOn(batch);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#running = false;
    for (const { resolve } of this.#queue.splice(0)) resolve('dropped');
  }

  #takeBatch(): Pending[] {
    const firstAlone = this.#queue.findIndex(({ change }) => change.alone);
    return this.#queue.splice(0, firstAlone < 0 ? BATCH : Math.min(BATCH, Math.max(1, firstAlone)));
  }

  /** Settles each change of the batch or requeues it. */
  async #workOn(batch: readonly Pending[]): Promise<void> {
    const version = await this.#readVersion(); // not one that is known from before: another database may count it again
    const revisions = batch.map(({ change }) => change.revision());
    await this.#catchUp();
    const changed = batch.filter(({ change }, index) => change.revision() !== revisions[index]);
    this.#queue.push(...changed);
    if (!this.#services.nodes.ready) {
      this.#queue.push(...batch.filter((pending) => !changed.includes(pending)));
      return;
    }
    const wanted: Pending[] = [];
    const operations: Operation[] = [];
    for (const pending of batch) {
      if (changed.includes(pending)) continue;
      const own = pending.change.operations();
      if (own === undefined) pending.resolve('unwanted');
      else {
        wanted.push(pending);
        operations.push(...own);
      }
    }
    if (wanted.length > 0) await this.#commit(version, wanted, operations);
  }

  async #commit(version: number, wanted: readonly Pending[], operations: readonly Operation[]): Promise<void> {
    try {
      await this.#services.committer.commit([{ op: 'set', path: NODES_ROOT, data: '', version }, ...operations]);
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_BAD_VERSION')) this.#queue.unshift(...wanted);
      else if (!isZooKeeperError(error, 'ZK_NOT_EMPTY', 'ZK_NO_NODE', 'ZK_NODE_EXISTS')) throw error;
      else for (const { resolve } of wanted) resolve('refused');
      return;
    }
    for (const { resolve } of wanted) resolve('written');
  }

  async #readVersion(): Promise<number> {
    const stat = await this.#services.zk.exists(NODES_ROOT);
    if (stat !== undefined) return stat.version;
    await this.#services.zk.ensurePath(NODES_ROOT);
    return (await this.#services.zk.exists(NODES_ROOT))?.version ?? 0;
  }

  /**
   * Waits until the cache has read every change that was reported before the answer of a round trip. A session answers in
   * the order of its calls, so a few rounds suffice regardless of other reads.
   */
  async #catchUp(): Promise<void> {
    const { nodes, zk } = this.#services;
    for (let round = 0; round < CATCH_UP_ROUNDS; round += 1) {
      await zk.exists(NODES_ROOT);
      if (nodes.eventQueue + nodes.playbackQueue === 0) return;
    }
  }
}

const guards = new WeakMap<ZooKeeper, RegistrationGuard>();

/** The guard of a session. All providers of the process share it, so that their transactions do not conflict. */
export function guardOf(services: GuardServices): RegistrationGuard {
  let guard = guards.get(services.zk);
  if (guard === undefined) {
    guard = new RegistrationGuard(services);
    guards.set(services.zk, guard);
  }
  return guard;
}
