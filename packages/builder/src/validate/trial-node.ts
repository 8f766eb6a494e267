import {
  decodeNode,
  encodeNode,
  isZooKeeperError,
  lockOps,
  NODE_CREATE_PATH,
  nodeLockPath,
  nodePath,
  NODES_ROOT,
  withNode,
  type NodeId,
  type NodeRecord,
} from '@nodepool/zk-protocol';
import { LockLostError } from '@nodepool/core';
import type { BuilderContext } from '../context/builder-context.js';

type TrialContext = Pick<BuilderContext, 'zk' | 'clock' | 'logger' | 'hostname'>;

/**
 * A node that a builder launches to test an image. The builder keeps it locked and `building`. When the lock is
 * released or expires, any launcher, including older versions, removes the node and its instance. The node is
 * never `ready`, so no launcher allocates it.
 */
export class TrialNode {
  #node: NodeRecord;

  private constructor(
    private readonly context: TrialContext,
    made: NodeRecord,
    private readonly entryPath: string,
  ) {
    this.#node = made;
  }

  /** Node record as last stored. */
  get current(): NodeRecord {
    return this.#node;
  }

  /**
   * Creates the record and locks it. Until then the record is empty, so that launchers remove it if the builder ends.
   * @param draft - in state `init`, without an id
   */
  static async create(context: TrialContext, draft: NodeRecord): Promise<TrialNode> {
    const { zk, logger } = context;
    await zk.ensurePath(NODES_ROOT);
    const path = await zk.create(NODE_CREATE_PATH, undefined, { sequential: true });
    try {
      return await TrialNode.#lock(context, path, draft);
    } catch (error) {
      // The lock may exist if its answer was lost. The node has no instance yet.
      await zk
        .whenConnected()
        .then(() => zk.deleteRecursive(path))
        .catch((problem: unknown) =>
          logger.debug('A node that was not used stays until the session ends', { path, error: problem }),
        );
      throw error;
    }
  }

  static async #lock(context: TrialContext, path: string, draft: NodeRecord): Promise<TrialNode> {
    const { zk, clock, hostname } = context;
    const id = path.slice(NODE_CREATE_PATH.length) as NodeId;
    const building = withNode({ ...draft, id }, { state: 'building' }, clock.now(), 'launcher');
    const { ops, entryIndex } = lockOps(nodeLockPath(id), { directoryExists: false, identifier: hostname });
    const results = await zk.multi([...ops, { op: 'set', path, data: encodeNode(building), version: 0 }]);
    const [entry, stored] = [results[entryIndex], results.at(-1)];
    if (entry?.op !== 'create' || stored?.op !== 'set') throw new Error(`node ${id} could not be locked`);
    return new TrialNode(context, { ...building, stat: stored.stat }, entry.path);
  }

  /**
   * Stores changed fields except the state.
   * @returns the record with the requested state
   * @throws LockLostError if the lock is lost
   */
  async store({ state, ...changes }: Partial<NodeRecord>): Promise<NodeRecord> {
    const { zk, clock } = this.context;
    const next = withNode(this.#node, changes, clock.now());
    const path = nodePath(next.id);
    try {
      const results = await zk.multi([
        { op: 'check', path: this.entryPath },
        { op: 'set', path, data: encodeNode(next), version: next.stat?.version ?? -1 },
      ]);
      const stored = results[1];
      this.#node = { ...next, stat: stored?.op === 'set' ? stored.stat : undefined };
    } catch (error) {
      throw new LockLostError(`node ${next.id}, which tests an image, could not be stored`, { cause: error });
    }
    return state === undefined ? this.#node : { ...this.#node, state };
  }

  /** Releases the node for removal by launchers. Waits for the connection if necessary; never rejects. */
  async giveAway(): Promise<void> {
    const { zk, logger } = this.context;
    for (;;) {
      try {
        await this.#markAndUnlock();
        return;
      } catch (error) {
        if (isZooKeeperError(error, 'ZK_BAD_VERSION')) continue; // another process wrote without the lock
        if (isZooKeeperError(error, 'ZK_CONNECTION_LOSS')) {
          const isBack = await zk.whenConnected().then(
            () => true,
            () => false,
          );
          if (isBack) continue;
        }
        // The lock expires with the session; then launchers remove the node.
        logger.debug('Node that tested an image is not locked any more', { nodeId: this.#node.id, error });
        return;
      }
    }
  }

  async #markAndUnlock(): Promise<void> {
    const { zk, clock } = this.context;
    const { id } = this.#node;
    const { data, stat } = await zk.getData(nodePath(id));
    const stored = decodeNode(id, data, stat, clock.now()) ?? this.#node;
    const deleting = encodeNode(withNode(stored, { state: 'deleting' }, clock.now(), 'operator'));
    await zk.multi([
      { op: 'check', path: this.entryPath },
      { op: 'set', path: nodePath(id), data: deleting, version: stat.version },
      { op: 'delete', path: this.entryPath },
    ]);
  }
}
