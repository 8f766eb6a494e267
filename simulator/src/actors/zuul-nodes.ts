import {
  decodeNode,
  delay,
  encodeNode,
  isZooKeeperError,
  nodeLockPath,
  nodePath,
  RecordError,
  withNode,
  ZkLock,
  type NodeFields,
  type NodeId,
  type NodeRecord,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { SimulatedProcess } from '../world/process.js';
import type { Trace } from '../world/trace.js';

const LOCK_LIMIT_MS = 30_000;

/** A node that the client has locked. */
export interface HeldNode {
  node: NodeRecord;
  readonly lock: ZkLock;
}

/** Use of nodes by a job. */
export interface NodeUse {
  readonly useMs: number;
  /** Time for which a person holds the nodes afterwards; `undefined` for no hold. */
  readonly holdMs: number | undefined;
}

/** The nodes of one job: locks, uses and returns them, as Zuul's executor does. */
export class ZuulNodes {
  readonly #process: SimulatedProcess;
  readonly #name: string;
  readonly #trace: Trace;

  /** @param name - client name in lock entries */
  constructor(process: SimulatedProcess, name: string, trace: Trace) {
    this.#process = process;
    this.#name = name;
    this.#trace = trace;
  }

  /** Locks every node. @returns `undefined` if another client took one; then none is locked */
  async accept(request: RequestRecord): Promise<HeldNode[] | undefined> {
    const { zk, clock } = this.#process;
    const held: HeldNode[] = [];
    try {
      for (const id of request.nodeIds) {
        await this.#readOwn(id, request);
        const lock = new ZkLock(zk, nodeLockPath(id), { clock, identifier: this.#name });
        await lock.acquire({ timeoutMs: LOCK_LIMIT_MS });
        try {
          held.push({ node: await this.#readOwn(id, request), lock });
        } catch (error) {
          await lock.release();
          throw error;
        }
      }
      return held;
    } catch (error) {
      this.#trace.add(this.#name, () => `cannot accept ${request.id}: ${String(error)}`);
      await Promise.all(held.map(({ lock }) => lock.release()));
      return undefined;
    }
  }

  async #readOwn(id: NodeId, request: RequestRecord): Promise<NodeRecord> {
    const { data, stat } = await this.#process.zk.getData(nodePath(id));
    const node = decodeNode(id, data, stat, this.#process.clock.now());
    if (node?.allocatedTo !== request.id)
      throw new Error(`node ${id} is not allocated to the request: ${String(node?.allocatedTo)}`);
    return node;
  }

  async use(held: HeldNode[], plan: NodeUse): Promise<void> {
    const { clock } = this.#process;
    await Promise.all(held.map((item) => this.#store(item, { state: 'in-use', userData: {} })));
    await delay(clock, plan.useMs);
    await Promise.all(
      held.map(async (item) => {
        if (plan.holdMs === undefined) await this.#store(item, { state: 'used' });
        else await this.#store(item, { state: 'hold', holdJob: 'job', comment: 'autohold' });
        await item.lock.release();
      }),
    );
    if (plan.holdMs === undefined) return;
    await delay(clock, plan.holdMs);
    await Promise.all(held.map((item) => this.#releaseHeld(item)));
  }

  /** Zuul abandons a node after losing its lock. */
  async #store(item: HeldNode, changes: NodeFields): Promise<void> {
    const { zk, clock } = this.#process;
    for (let attempt = 0; item.lock.held && attempt < 5; attempt++) {
      try {
        const next = withNode(item.node, changes, clock.now());
        const stat = await zk.setData(nodePath(item.node.id), encodeNode(next), item.node.stat?.version);
        item.node = { ...next, stat };
        return;
      } catch (error) {
        if (!isZooKeeperError(error)) throw error;
        if (isZooKeeperError(error, 'ZK_NO_NODE')) return;
        item.node = (await this.#read(item.node.id)) ?? item.node;
      }
    }
  }

  /** @returns `undefined` if it cannot be read */
  async #read(id: NodeId): Promise<NodeRecord | undefined> {
    try {
      const { data, stat } = await this.#process.zk.getData(nodePath(id));
      return decodeNode(id, data, stat, this.#process.clock.now());
    } catch (error) {
      if (!isZooKeeperError(error) && !(error instanceof RecordError)) throw error;
      return undefined;
    }
  }

  async #releaseHeld({ node }: HeldNode): Promise<void> {
    const { zk, clock } = this.#process;
    const lock = new ZkLock(zk, nodeLockPath(node.id), { clock, identifier: this.#name });
    try {
      const current = await this.#read(node.id);
      const isAnother = current?.createdTimeMs !== node.createdTimeMs; // in another database numbers repeat
      if (current?.state !== 'hold' || isAnother || !(await lock.acquire({ blocking: false })) || !lock.held) return;
      await zk.setData(
        nodePath(node.id),
        encodeNode(withNode(current, { state: 'used' }, clock.now())),
        current.stat?.version,
      );
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
    } finally {
      await lock.release();
    }
  }
}
