import type { AdapterContext, NodeRecord } from '@nodepool/core';
import { encodeNode, isFree, isZooKeeperError, nodeLockPath, nodePath, withNode } from '@nodepool/zk-protocol';
import type { Operation } from '@nodepool/zk-protocol';
import { nameOf, type ApiOperation } from './api.js';
import type { ComputeClient } from './client.js';

type Context = Pick<AdapterContext, 'nodes' | 'committer' | 'clock' | 'logger'>;

const REASON = 'Google took the Spot VM away';

/** Notices Spot VMs that Google took away after they became nodes. */
export class Preemptions {
  readonly #provider: string;
  readonly #client: ComputeClient;
  readonly #context: Context;
  /** The newest one of each zone that was reported. */
  readonly #last = new Map<string, string>();
  readonly #since: string;

  constructor(provider: string, client: ComputeClient, context: Context) {
    this.#provider = provider;
    this.#client = client;
    this.#context = context;
    this.#since = new Date(context.clock.now()).toISOString();
  }

  /** Reports those that came since the last time. A node that stands by is withdrawn, so that no job gets it. */
  async report(zones: readonly string[], signal: AbortSignal): Promise<void> {
    for (const zone of zones) {
      const since = this.#last.get(zone) ?? this.#since;
      for (const operation of await this.#client.listPreemptions(zone, since, signal)) {
        await this.#reportOne(zone, operation);
      }
    }
  }

  async #reportOne(zone: string, { targetLink = '', insertTime = '' }: ApiOperation): Promise<void> {
    if (insertTime > (this.#last.get(zone) ?? '')) this.#last.set(zone, insertTime);
    const externalId = nameOf(targetLink);
    const node = this.#context.nodes.get(externalId.replace(/^np/, ''));
    if (node?.provider !== this.#provider || node.externalId !== externalId) return;
    const { id: nodeId, state } = node;
    this.#context.logger.warn(REASON, { nodeId, externalId, zone, state });
    // What is in use is its user's, who holds its lock.
    if (isFree(node)) await this.#withdraw(node);
  }

  /** Writes the record if the lock is free: the directory of the lock can only be deleted while it is empty. */
  async #withdraw(node: NodeRecord): Promise<void> {
    const { nodes, committer, clock, logger } = this.#context;
    const lock = nodeLockPath(node.id);
    const unlocked: Operation[] = nodes.hasLockDirectory(node.id) ? [{ op: 'delete', path: lock }] : [];
    const gone = withNode(node, { state: 'deleting', comment: REASON }, clock.now(), 'launcher');
    const version = node.stat?.version ?? -1;
    try {
      const write: Operation = { op: 'set', path: nodePath(node.id), data: encodeNode(gone), version };
      await committer.commit([...unlocked, { op: 'create', path: lock }, write]);
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NOT_EMPTY', 'ZK_BAD_VERSION', 'ZK_NO_NODE', 'ZK_NODE_EXISTS')) throw error;
      logger.debug('Node is in use after all', { nodeId: node.id });
    }
  }
}
