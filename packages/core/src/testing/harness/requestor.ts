import {
  decodeNode,
  encodeNode,
  encodeRequest,
  isZooKeeperError,
  newRequest,
  nodeLockPath,
  nodePath,
  requestCreatePath,
  REQUESTS_ROOT,
  requestPath,
  withNode,
  ZkLock,
  type Clock,
  type NodeFields,
  type NodeId,
  type NodeRecord,
  type RequestFields,
  type RequestId,
  type ZooKeeper,
} from '@nodepool/zk-protocol';

const LOCK_LIMIT_MS = 60_000;

/** Owner name in requests and locks. */
export const REQUESTOR = 'contract';

/** Requests and uses nodes like Zuul. */
export class Requestor {
  readonly #zk: ZooKeeper;
  readonly #clock: Clock;

  constructor(zk: ZooKeeper, clock: Clock) {
    this.#zk = zk;
    this.#clock = clock;
  }

  /** @param fields - in addition to the labels @param priority - first part of the id */
  async submit(labels: readonly string[], fields: RequestFields = {}, priority = 200): Promise<RequestId> {
    await this.#zk.ensurePath(REQUESTS_ROOT);
    const all = { requestor: REQUESTOR, ...fields, labels, createdTimeMs: this.#clock.now() };
    const body = encodeRequest(newRequest(all, this.#clock.now()));
    const path = await this.#zk.create(requestCreatePath(priority), body, { sequential: true });
    return path.slice(REQUESTS_ROOT.length + 1) as RequestId;
  }

  /** Deletes a request, either to withdraw it or after its nodes have been taken. */
  async forget(id: RequestId): Promise<void> {
    await this.#zk.delete(requestPath(id)).catch((error: unknown) => {
      if (!isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
    });
  }

  /** Locks the nodes of a fulfilled request and marks them as in use. */
  async take(id: RequestId, nodes: readonly NodeId[]): Promise<HeldNode[]> {
    const held: HeldNode[] = [];
    for (const node of nodes) {
      const lock = new ZkLock(this.#zk, nodeLockPath(node), { clock: this.#clock, identifier: REQUESTOR });
      await lock.acquire({ timeoutMs: LOCK_LIMIT_MS });
      held.push({ id: node, lock, lose: () => this.#zk.deleteRecursive(nodePath(node)) });
      await this.#store(node, { state: 'in-use' });
    }
    await this.forget(id);
    return held;
  }

  /** Returns nodes after use. */
  async giveBack(held: readonly HeldNode[]): Promise<void> {
    for (const { id, lock } of held) {
      await this.#store(id, { state: 'used' });
      await lock.release();
    }
  }

  /** Deletes a free node like an operator. Rejects if the node is not free. */
  async remove(id: NodeId): Promise<void> {
    const lock = new ZkLock(this.#zk, nodeLockPath(id), { clock: this.#clock, identifier: REQUESTOR });
    if (!(await lock.acquire({ blocking: false }))) throw new Error(`node ${id} is locked`);
    try {
      await this.#store(id, { state: 'deleting' });
    } finally {
      await lock.release();
    }
  }

  async #store(id: NodeId, changes: NodeFields): Promise<NodeRecord> {
    const { data, stat } = await this.#zk.getData(nodePath(id));
    const node = decodeNode(id, data, stat, this.#clock.now());
    if (!node) throw new Error(`node ${id} has no body`);
    const next = withNode(node, changes, this.#clock.now());
    await this.#zk.setData(nodePath(id), encodeNode(next), stat.version);
    return next;
  }
}

/** A node in use. */
export interface HeldNode {
  readonly id: NodeId;
  readonly lock: ZkLock;
  /** Deletes the record, which no process may do: the instance remains without a record. */
  readonly lose: () => Promise<void>;
}
