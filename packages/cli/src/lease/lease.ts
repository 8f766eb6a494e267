import { decodeNode, encodeNode, isZooKeeperError, nodePath, withNode } from '@nodepool/zk-protocol';
import type { Clock, JsonObject, NodeId, NodeRecord, RequestRecord, ZooKeeper } from '@nodepool/zk-protocol';
import { CliError } from '../errors.js';
import { lockNode } from './node-lock.js';
import type { NodeLock } from './node-lock.js';
import { deleteRequest } from './request.js';

/** Time one node's lock may take; nobody else wants it, so this is only a net. */
const LOCK_TIMEOUT_MS = 30_000;

/** A node that is ours. */
export interface LeasedNode {
  readonly node: NodeRecord;
  /** The label it was asked for by. */
  readonly label: string;
}

interface Holding extends LeasedNode {
  readonly lock: NodeLock;
}

/** Who takes nodes, and where. */
export interface LeaseContext {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  /** Put into the lock, so that others can see who holds it. */
  readonly owner: string;
  /** Stored with the nodes while they are in use. */
  readonly userData: JsonObject;
}

async function readNode({ zk, clock }: LeaseContext, id: NodeId): Promise<NodeRecord | undefined> {
  try {
    const { data, stat } = await zk.getData(nodePath(id));
    return decodeNode(id, data, stat, clock.now());
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) return undefined;
    throw error;
  }
}

async function readAllocated(context: LeaseContext, id: NodeId, request: RequestRecord): Promise<NodeRecord> {
  const node = await readNode(context, id);
  if (node?.allocatedTo === request.id) return node;
  throw new CliError(`Node ${id} is no longer allocated to request ${request.id}; ask again`);
}

async function lockAllocated(
  context: LeaseContext,
  id: NodeId,
  label: string,
  request: RequestRecord,
): Promise<Holding> {
  await readAllocated(context, id, request);
  const lock = await lockNode(context.zk, context.clock, id, { owner: context.owner, timeoutMs: LOCK_TIMEOUT_MS });
  try {
    return { node: await readAllocated(context, id, request), label, lock };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function markInUse(context: LeaseContext, { node, label, lock }: Holding): Promise<Holding> {
  const inUse = withNode(node, { state: 'in-use', userData: context.userData }, context.clock.now(), 'operator');
  const stat = await context.zk.setData(nodePath(node.id), encodeNode(inUse), node.stat?.version);
  return { node: { ...inUse, stat }, label, lock };
}

/** Whatever their state: unlocked, nodes that were marked in use are deleted by a launcher, others are freed. */
async function releaseLocks(holdings: readonly Holding[]): Promise<void> {
  await Promise.allSettled(holdings.map(({ lock }) => lock.release()));
}

/**
 * Nodes taken for use. They stay ours until {@link Lease.release}, or until the session with ZooKeeper ends: then
 * `lost` fires and launchers delete them.
 */
export class Lease {
  readonly requestId: string;
  readonly #context: LeaseContext;
  readonly #holdings: readonly Holding[];
  readonly #lost = new AbortController();
  #released: Promise<void> | undefined;

  private constructor(context: LeaseContext, requestId: string, holdings: readonly Holding[]) {
    this.#context = context;
    this.requestId = requestId;
    this.#holdings = holdings;
    for (const { lock } of holdings) lock.lost.addEventListener('abort', () => this.#onLost(), { once: true });
  }

  /**
   * Takes the nodes of a fulfilled request as Zuul does: in order check, lock, check again; then the request is deleted,
   * in any case, and the nodes become `in-use`.
   * @throws CliError when a node is not ours after all; the others are given back
   */
  static async take(context: LeaseContext, request: RequestRecord): Promise<Lease> {
    const holdings: Holding[] = [];
    try {
      for (const [index, id] of request.nodeIds.entries()) {
        holdings.push(await lockAllocated(context, id, request.labels[index] ?? '', request));
      }
      await deleteRequest(context.zk, request.id);
      return new Lease(context, request.id, await Promise.all(holdings.map((holding) => markInUse(context, holding))));
    } catch (error) {
      await releaseLocks(holdings);
      await deleteRequest(context.zk, request.id);
      throw error;
    }
  }

  /** In the order of the labels asked for. */
  get nodes(): readonly LeasedNode[] {
    return this.#holdings;
  }

  /** Fires when the nodes are no longer ours although they were not released. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Returns the nodes as used and unlocks them. Safe to repeat; what is already gone is fine. */
  release(): Promise<void> {
    this.#released ??= this.#releaseAll();
    return this.#released;
  }

  async #releaseAll(): Promise<void> {
    const results = await Promise.allSettled(this.#holdings.map((holding) => this.#returnNode(holding)));
    await releaseLocks(this.#holdings);
    const failed = results.filter((result) => result.status === 'rejected');
    if (failed.length > 0) {
      const ids = this.#holdings.map(({ node }) => node.id).join(', ');
      throw new CliError(`Could not mark all of the nodes ${ids} as used; a launcher will delete them`, {
        cause: failed[0]?.reason,
      });
    }
  }

  /** An operator may have changed the node meanwhile, e.g. to `hold`: then it is left as it is. */
  async #returnNode({ node, lock }: Holding): Promise<void> {
    const { zk, clock } = this.#context;
    const current = lock.lost.aborted ? undefined : await readNode(this.#context, node.id);
    if (current?.state !== 'in-use') return;
    const used = withNode(current, { state: 'used' }, clock.now(), 'operator');
    await zk.setData(nodePath(node.id), encodeNode(used), current.stat?.version);
  }

  #onLost(): void {
    if (!this.#released) this.#lost.abort();
  }
}
