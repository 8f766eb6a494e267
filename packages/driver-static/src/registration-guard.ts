import { encodeNode, isZooKeeperError, NODE_CREATE_PATH, NODES_ROOT } from '@nodepool/zk-protocol';
import type { Committer, NodeRecord, Operation, RecordCache, ZooKeeper } from '@nodepool/zk-protocol';

/** Records in one transaction, about 100 kB. */
const BATCH = 100;
/** How often the cache is given another round trip to catch up before a registration. */
const CATCH_UP_ROUNDS = 20;

/** One record wanted. Asked again directly before it is written, and again if another launcher came first. */
export interface Registration {
  /** @returns `undefined` when it is no longer wanted, above all because the slot has a record now */
  record(): NodeRecord | undefined;
}

/** What registering needs. */
export interface GuardServices {
  readonly zk: ZooKeeper;
  readonly nodes: RecordCache<NodeRecord>;
  readonly committer: Committer;
}

/**
 * Creates records so that no slot is registered twice, although several launchers may serve one provider and a slot has
 * no name of its own in ZooKeeper. Each transaction rewrites the (empty) body of the nodes' parent, on condition of the
 * version this launcher saw before it looked for empty slots. If anybody registered in between the transaction fails,
 * and the slots are looked at again. Others take no notice of that body.
 */
export class RegistrationGuard {
  readonly #services: GuardServices;
  readonly #queue: Registration[] = [];
  #version: number | undefined;
  #running: Promise<void> | undefined;

  constructor(services: GuardServices) {
    this.#services = services;
  }

  /**
   * Resolves when the queue was worked through. Rejects with what stopped it; what was waiting is dropped then, as it is
   * when the node cache is being rebuilt: the caller looks again once the cache is ready.
   */
  register(registration: Registration): Promise<void> {
    this.#queue.push(registration);
    this.#running ??= this.#work();
    return this.#running;
  }

  async #work(): Promise<void> {
    // One turn later, so that everything asked for in this turn goes into one transaction.
    await Promise.resolve();
    try {
      while (this.#queue.length > 0 && this.#services.nodes.ready) {
        const version = this.#version ?? (await this.#readVersion());
        await this.#catchUp();
        const batch = this.#queue.splice(0, BATCH);
        const records = batch.flatMap((registration) => registration.record() ?? []);
        if (records.length > 0 && !(await this.#commit(version, records))) this.#queue.unshift(...batch);
      }
    } finally {
      this.#queue.length = 0;
      this.#running = undefined;
    }
  }

  /** @returns false when somebody else has registered meanwhile */
  async #commit(version: number, records: readonly NodeRecord[]): Promise<boolean> {
    const creates = records.map((record): Operation => ({
      op: 'create',
      path: NODE_CREATE_PATH,
      sequential: true,
      data: encodeNode(record),
    }));
    this.#version = undefined;
    try {
      await this.#services.committer.commit([{ op: 'set', path: NODES_ROOT, data: '', version }, ...creates]);
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_BAD_VERSION')) return false;
      throw error;
    }
    this.#version = version + 1;
    return true;
  }

  async #readVersion(): Promise<number> {
    const stat = await this.#services.zk.exists(NODES_ROOT);
    if (stat !== undefined) return stat.version;
    await this.#services.zk.ensurePath(NODES_ROOT);
    return (await this.#services.zk.exists(NODES_ROOT))?.version ?? 0;
  }

  /** Everything others registered before the version was read has been reported; waits until it has also been read. */
  async #catchUp(): Promise<void> {
    const { nodes, zk } = this.#services;
    for (let round = 0; round < CATCH_UP_ROUNDS && nodes.eventQueue + nodes.playbackQueue > 0; round += 1) {
      await zk.exists(NODES_ROOT);
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
