import {
  decodeNode,
  encodeNode,
  isZooKeeperError,
  nodeLockPath,
  nodePath,
  RecordError,
  withNode,
  ZkLock,
  type NodeId,
} from '@nodepool/zk-protocol';
import { leaseOfNode } from '../world/lease-checks.js';
import { SimulatedProcess } from '../world/process.js';
import type { World } from '../world/world.js';

const LOCK_LIMIT_MS = 5_000;

/** An operator with a command line. */
export class Operator {
  readonly #process: SimulatedProcess;
  readonly #world: World;
  active = 0;

  constructor(world: World) {
    this.#world = world;
    this.#process = new SimulatedProcess(world, 'operator', world.server);
  }

  /** `nodepool delete`. */
  deleteNode(id: string): Promise<void> {
    return this.#mark(id, 'deleting');
  }

  /** `nodepool hold`. */
  holdNode(id: string): Promise<void> {
    return this.#mark(id, 'hold');
  }

  /** Releases all held nodes, except those of leases. */
  async clearHeld(): Promise<void> {
    const held = [...this.#world.checker.nodes.values()].filter((node) => node.state === 'hold' && !leaseOfNode(node));
    await Promise.all(held.map(({ id }) => this.deleteNode(id)));
  }

  async #mark(id: string, state: 'deleting' | 'hold'): Promise<void> {
    const { zk, clock } = this.#process;
    this.#world.trace.add('operator', `wants node ${id} to be ${state}`);
    this.active++;
    const lock = new ZkLock(zk, nodeLockPath(id as NodeId), { clock, identifier: 'operator' });
    try {
      await zk.getData(nodePath(id as NodeId));
      await lock.acquire({ timeoutMs: LOCK_LIMIT_MS });
      const { data, stat } = await zk.getData(nodePath(id as NodeId));
      const node = decodeNode(id as NodeId, data, stat, clock.now());
      if (node && lock.held)
        await zk.setData(nodePath(node.id), encodeNode(withNode(node, { state }, clock.now())), stat.version);
    } catch (error) {
      const isUsual = isZooKeeperError(error) || error instanceof RecordError || String(error).includes('LockTimeout');
      if (!isUsual) throw error;
      this.#world.trace.add('operator', () => `cannot have node ${id}: ${String(error)}`);
    } finally {
      await lock.release();
      this.active--;
    }
  }
}
