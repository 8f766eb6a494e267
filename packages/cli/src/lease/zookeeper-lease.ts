import { decodeNode, encodeNode, isZooKeeperError, nodePath, orAbort, withNode } from '@nodepool/zk-protocol';
import type {
  Clock,
  JsonObject,
  NodeFields,
  NodeId,
  NodeRecord,
  RequestRecord,
  ZooKeeper,
} from '@nodepool/zk-protocol';
import { watchSleep } from '@nodepool/client';
import { unfinishedAfter } from '@nodepool/core/service';
import { CliError } from '../command/errors.js';
import { inBatches } from '../connection/fetch-records.js';
import { checkNode } from './check-node.js';
import type { LeasedNode } from './leased-node.js';
import { lockNode } from './node-lock.js';
import type { NodeLock } from './node-lock.js';
import { deleteRequest } from './request.js';

/** Safeguard: no other process locks an allocated node. */
const LOCK_TIMEOUT_MS = 30_000;
/** Time limit for releasing locks on the way out; they end with the session anyway. */
const GIVE_UP_MS = 1_000;
/** How long ZooKeeper may take to confirm the session after this computer has slept. */
const CONFIRM_MS = 5_000;

interface Holding extends LeasedNode {
  readonly lock: NodeLock;
}

/** Who takes nodes, over which connection. */
export interface LeaseContext {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  /** Stored in the lock, to show who holds it. */
  readonly owner: string;
  /** Stored with the nodes while they are in use. */
  readonly userData: JsonObject;
  /** Longest hold that launchers respect, 0: any. */
  readonly maxHoldAgeMs: number;
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

/** Takes the nodes of one request, as long as the signal allows. */
class Taking {
  readonly holdings: Holding[] = [];

  constructor(
    private readonly context: LeaseContext,
    private readonly request: RequestRecord,
    private readonly signal: AbortSignal,
  ) {}

  /** Check, lock, check again, as Zuul does. */
  async lock(id: NodeId, index: number): Promise<void> {
    const { zk, clock, owner } = this.context;
    const { signal } = this;
    await orAbort(readAllocated(this.context, id, this.request), signal);
    const lock = await lockNode(zk, clock, id, { owner, timeoutMs: LOCK_TIMEOUT_MS, signal });
    try {
      const node = await orAbort(readAllocated(this.context, id, this.request), signal);
      checkNode(node);
      this.holdings[index] = { node, label: this.request.labels[index] ?? '', lock };
    } catch (error) {
      await unfinishedAfter(GIVE_UP_MS, clock, new Map([['lock', lock.release()]])).catch(() => undefined);
      throw error;
    }
  }

  async markInUse({ node, label, lock }: Holding): Promise<Holding> {
    const { zk, clock, userData } = this.context;
    const inUse = withNode(node, { state: 'in-use', userData }, clock.now(), 'operator');
    const stat = await orAbort(zk.setData(nodePath(node.id), encodeNode(inUse), node.stat?.version), this.signal);
    return { node: { ...inUse, stat }, label, lock };
  }
}

/** Whatever their state: launchers delete unlocked nodes in use, and free others. */
async function releaseLocks(holdings: readonly Holding[]): Promise<void> {
  await Promise.allSettled(holdings.map(({ lock }) => lock.release()));
}

/**
 * Nodes held for use, until {@link ZooKeeperLease.release} or the end of the ZooKeeper session: then `lost` fires and launchers delete
 * them.
 */
export class ZooKeeperLease {
  readonly requestId: string;
  readonly #context: LeaseContext;
  readonly #holdings: readonly Holding[];
  readonly #lost = new AbortController();
  readonly #ended = new AbortController();
  #released: Promise<void> | undefined;
  #atRelease: NodeFields = { state: 'used' };

  private constructor(context: LeaseContext, requestId: string, holdings: readonly Holding[]) {
    this.#context = context;
    this.requestId = requestId;
    this.#holdings = holdings;
    for (const { lock } of holdings) {
      if (lock.lost.aborted) this.#onLost();
      else lock.lost.addEventListener('abort', () => this.#onLost(), { once: true });
    }
    void watchSleep(() => void this.#confirm(), this.#ended.signal);
  }

  /**
   * Takes the nodes of a fulfilled request as Zuul does: in order check, lock, check again; then the request is deleted,
   * in any case, and the nodes become `in-use`.
   * @param signal - ends the taking at any step; what was taken is given back
   * @throws CliError when a node is not allocated to the request; the others are given back. The signal's reason
   */
  static async take(context: LeaseContext, request: RequestRecord, signal: AbortSignal): Promise<ZooKeeperLease> {
    const { zk, clock } = context;
    const taking = new Taking(context, request, signal);
    try {
      await inBatches(request.nodeIds, (id, index) => taking.lock(id, index));
      await orAbort(deleteRequest(zk, request.id), signal);
      const inUse = await inBatches(taking.holdings, (holding) => taking.markInUse(holding));
      signal.throwIfAborted();
      return new ZooKeeperLease(context, request.id, inUse);
    } catch (error) {
      const undo = new Map<string, Promise<unknown>>([
        ['locks', releaseLocks(taking.holdings.filter(Boolean))],
        ['request', deleteRequest(zk, request.id)],
      ]);
      await unfinishedAfter(GIVE_UP_MS, clock, undo).catch(() => undefined);
      throw error;
    }
  }

  /** In the order of the labels asked for. */
  get nodes(): readonly LeasedNode[] {
    return this.#holdings;
  }

  /** Fires, with a {@link CliError}, when the nodes are lost before they were released. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Nothing is left to remove. */
  dispose(): Promise<void> {
    return Promise.resolve();
  }

  /** Makes {@link release} hold the nodes for a person, instead of returning them. @returns for how long */
  hold(comment: string, ms: number): Promise<number> {
    const most = this.#context.maxHoldAgeMs;
    const holdExpirationMs = Math.ceil((most > 0 ? Math.min(most, ms) : ms) / 1000) * 1000;
    this.#atRelease = { state: 'hold', comment, holdExpirationMs };
    return Promise.resolve(holdExpirationMs);
  }

  /** The command that ends the hold of one of the nodes. */
  endHoldCommand(node: string): string {
    return `nodepool delete ${node}`;
  }

  /** What happens to nodes that could not be returned in time. */
  get lateText(): string {
    return 'ZooKeeper did not answer while returning the nodes; they are deleted when the session ends';
  }

  /** Returns the nodes as used and unlocks them. Idempotent; nodes that are gone are ignored. */
  release(): Promise<void> {
    this.#ended.abort();
    this.#released ??= this.#releaseAll();
    return this.#released;
  }

  async #releaseAll(): Promise<void> {
    const results = await Promise.allSettled(this.#holdings.map((holding) => this.#returnNode(holding)));
    await releaseLocks(this.#holdings);
    const failed = results.filter((result) => result.status === 'rejected');
    if (failed.length > 0) {
      const ids = this.#holdings.map(({ node }) => node.id).join(', ');
      throw new CliError(
        `Could not mark all of the nodes ${ids} as ${this.#atRelease.state}; a launcher will delete them`,
        {
          cause: failed[0]?.reason,
        },
      );
    }
  }

  /** Leaves a node unchanged that an operator has changed meanwhile, e.g. to `hold`. */
  async #returnNode({ node, lock }: Holding): Promise<void> {
    const { zk, clock } = this.#context;
    const current = lock.lost.aborted ? undefined : await readNode(this.#context, node.id);
    if (current?.state !== 'in-use') return;
    const used = withNode(current, this.#atRelease, clock.now(), 'operator');
    await zk.setData(nodePath(node.id), encodeNode(used), current.stat?.version);
  }

  /** The session may be over since long, or only the time was set: an answer in the session says that it lasts. */
  async #confirm(): Promise<void> {
    const { zk, clock } = this.#context;
    const answers = this.#holdings.map(({ node }) => [node.id, zk.exists(nodePath(node.id))] as const);
    const late = await unfinishedAfter(CONFIRM_MS, clock, new Map(answers)).catch(() => answers);
    if (late.length > 0) this.#onLost('this computer slept, and ZooKeeper does not confirm that the session lasts');
  }

  #onLost(why = 'a lock or the ZooKeeper session is gone'): void {
    if (this.#released) return;
    this.#ended.abort();
    this.#lost.abort(new CliError(`The nodes are lost: ${why}`));
  }
}
