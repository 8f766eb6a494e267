import { isZooKeeperError, NODES_ROOT } from '@nodepool/zk-protocol';
import type { Committer, NodeRecord, Operation, RecordCache, ZooKeeper } from '@nodepool/zk-protocol';

/** Changes in one transaction, about 100 kB. */
const BATCH = 100;
/** Round trips that the cache is given at the most to read what was reported to it. */
const CATCH_UP_ROUNDS = 20;

/**
 * A change of the slots of one host: a new record, another slot number, or the removal of a record that has no slot. It
 * is right only while no other launcher has changed the records of the host.
 */
export interface SlotChange {
  /** A number that is another one after every change of a record of the host. */
  revision(): number;
  /** Asked directly before writing. @returns `undefined` when the change is not wanted any more */
  operations(): readonly Operation[] | undefined;
  /** Whether the operations may be refused for reasons of their own, so that they share no transaction. */
  readonly alone: boolean;
}

/** `unwanted`: nothing was to be written any more. `refused`: another process has or wants the lock of the record. */
export type SlotChangeOutcome = 'written' | 'unwanted' | 'refused' | 'dropped';

/** What the guard works with. */
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
 * Writes changes of slots so that no slot number is ever given to two records, although several launchers may serve one
 * provider and a slot has no name of its own in ZooKeeper. Each transaction rewrites the (empty) body of the nodes'
 * parent, on condition of the version that this launcher saw before it looked at the slots. If another launcher changed
 * slots in between, the transaction fails, and the slots are looked at again. Others take no notice of that body.
 *
 * The successor that replaces a record in the transaction of its deletion changes no slot and needs no guard. But the
 * cache may show such a deletion before the successor, or the successor before the deletion. So a change is written only
 * after a round trip to ZooKeeper during which no record of its host changed: then both have been seen.
 */
export class RegistrationGuard {
  readonly #services: GuardServices;
  readonly #queue: Pending[] = [];
  #version: number | undefined;
  #running = false;

  constructor(services: GuardServices) {
    this.#services = services;
  }

  /**
   * Resolves when the change was written, or was not wanted any more. `dropped`: the node cache is being rebuilt, so the
   * caller looks again once the cache is ready. Rejects with what stopped the transaction.
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
    // One turn later, so that everything asked for in this turn goes into one transaction.
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

  /** Settles each change of the batch, or puts it back into the queue. */
  async #workOn(batch: readonly Pending[]): Promise<void> {
    const version = this.#version ?? (await this.#readVersion());
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
    this.#version = undefined;
    try {
      await this.#services.committer.commit([{ op: 'set', path: NODES_ROOT, data: '', version }, ...operations]);
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_BAD_VERSION')) this.#queue.unshift(...wanted);
      else if (!isZooKeeperError(error, 'ZK_NOT_EMPTY', 'ZK_NO_NODE', 'ZK_NODE_EXISTS')) throw error;
      else for (const { resolve } of wanted) resolve('refused');
      return;
    }
    this.#version = version + 1;
    for (const { resolve } of wanted) resolve('written');
  }

  async #readVersion(): Promise<number> {
    const stat = await this.#services.zk.exists(NODES_ROOT);
    if (stat !== undefined) return stat.version;
    await this.#services.zk.ensurePath(NODES_ROOT);
    return (await this.#services.zk.exists(NODES_ROOT))?.version ?? 0;
  }

  /**
   * What others wrote before a round trip was reported before its answer; waits until it has also been read. The answers
   * of a session come in the order of its calls, so that few rounds do however much else is being read.
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

/** The guard of a session, shared by all providers of the process, so that they do not get into each other's way. */
export function guardOf(services: GuardServices): RegistrationGuard {
  let guard = guards.get(services.zk);
  if (guard === undefined) {
    guard = new RegistrationGuard(services);
    guards.set(services.zk, guard);
  }
  return guard;
}
