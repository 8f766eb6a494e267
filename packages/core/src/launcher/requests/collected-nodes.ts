import type { NodeId, RequestRecord } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import type { LazyAbort } from '../../async/lazy-abort.js';
import type { NodeRequestHandler } from '../../contract/driver.js';
import type { Logger } from '../../contract/logger.js';
import type { Services } from '../mirror/services.js';
import { allocate, NODES_PER_TRANSACTION, type Subject } from './allocation.js';
import { releaseNodes, type NodeFate } from './release.js';
import { recordsOf, type Part, type RequestParts } from './request-parts.js';
import { Transaction } from './transaction.js';

/** A node that another launcher was quicker to take, or that did not answer, is left out this long. */
const BUSY_NODE_PAUSE_MS = 50;
/** Keeps the transaction that fulfils a request far below ZooKeeper's limit of 1 MiB. */
const UNLOCKS_PER_TRANSACTION = 1_000;

/** Whose nodes they are. */
export interface CollectedNodesOptions {
  readonly services: Services;
  readonly parts: RequestParts;
  readonly logger: Logger;
  /** Who has claimed the nodes in the mirror. */
  readonly claimant: object;
  /** Aborted when nothing may be touched any more. */
  readonly end: LazyAbort;
  /** The driver's side of the request, now. */
  readonly driver: () => NodeRequestHandler;
  /** A part has reached its end, or is missing again. */
  readonly wake: () => void;
  /** Nothing may be written any more. */
  readonly abandon: (cause: Error) => void;
}

/** The ready nodes that a request is given: locked, checked by the driver, given back. */
export class CollectedNodes {
  readonly #options: CollectedNodesOptions;

  constructor(options: CollectedNodesOptions) {
    this.#options = options;
  }

  /** Whether the driver would have a node serve the request. */
  isAccepted(node: RequestNode): boolean {
    return this.#options.driver().acceptsNode?.(node) ?? true;
  }

  /** Locks and allocates further nodes of an accepted request; those that others took are missing again. */
  async take(request: RequestRecord, parts: readonly Part[]): Promise<void> {
    let rest = [...parts];
    while (rest.length > 0) {
      const batch = rest.slice(0, NODES_PER_TRANSACTION);
      const result = await allocate(this.#options.services, request, recordsOf(batch), { acceptRequest: false });
      if (!('conflict' in result)) {
        this.hold(batch, result.nodeEntries);
        rest = rest.slice(batch.length);
        continue;
      }
      this.keepAway(result.subject);
      rest = rest.filter((part) => part.state === 'working');
    }
  }

  /** Nodes have been locked: the driver checks them. */
  hold(parts: readonly Part[], entries: ReadonlyMap<NodeId, string>): void {
    const { services, end, wake, driver } = this.#options;
    for (const part of parts) {
      if (!part.node) continue;
      part.entry = entries.get(part.node.id);
      part.node = services.mirror.nodes.get(part.node.id) ?? part.node;
      if (!this.isAccepted(part.node)) {
        void this.#reject(part, 'Node does not go with the others of the request').then(wake);
        continue;
      }
      driver().nodeReusedNotification?.(part.node);
      const { node } = part;
      const answer = driver().checkReusableNode?.(node, end.signal) ?? true;
      if (answer === true) part.state = 'ready';
      else void this.#awaitCheck(part, answer);
    }
  }

  async #awaitCheck(part: Part, answer: boolean | Promise<boolean>): Promise<void> {
    const { services, end, logger, wake, driver } = this.#options;
    const { node } = part;
    let usable = false;
    try {
      usable = await answer;
    } catch (error) {
      logger.warn('Could not check a node', { nodeId: part.node?.id, error });
    }
    if (end.cause) return;
    if (usable) part.state = 'ready';
    else {
      await this.#reject(part, 'Node does not answer; trying another');
      if (part.node === undefined && node)
        driver().nodeRejectedNotification?.(services.mirror.nodes.get(node.id) ?? node);
    }
    wake();
  }

  /** A node that is of no use goes back. */
  async #reject(part: Part, why: string): Promise<void> {
    const { services, parts, logger, abandon } = this.#options;
    const { node, entry } = part;
    if (!node || entry === undefined) return;
    logger.warn(why, { nodeId: node.id });
    try {
      await releaseNodes(services, [{ node, entry }], logger);
    } catch (error) {
      abandon(asError(error));
      return;
    }
    parts.lose(part);
    this.#unclaimLater(node.id);
  }

  /** A node that was to be ours is locked or changed: it is left out for a moment. */
  keepAway(subject: Subject): void {
    if (subject.kind !== 'node') return;
    const { parts } = this.#options;
    const part = parts.ofNode(subject.id);
    if (part) parts.lose(part);
    this.#unclaimLater(subject.id);
  }

  #unclaimLater(id: NodeId): void {
    const { services, claimant } = this.#options;
    services.clock.setTimer(BUSY_NODE_PAUSE_MS, () => services.mirror.unclaim(id, claimant));
  }

  /** Our entry was removed from a node's lock: that node is not ours any more. @param entry - path of our entry */
  loseLock(entry: string): void {
    const { services, parts, logger, claimant } = this.#options;
    const part = parts.all.find((candidate) => candidate.entry === entry);
    if (!part) return;
    logger.warn('Lock of a node was taken away', { nodeId: part.node?.id });
    if (part.node) services.mirror.unclaim(part.node.id, claimant);
    parts.lose(part);
  }

  /** Unlocks nodes ahead of the last transaction where they are too many for one. @returns the unlocking of the rest */
  async unlockMost(): Promise<Transaction<'node'>> {
    const { services, parts } = this.#options;
    for (;;) {
      const held = parts.all.filter((part) => part.entry !== undefined);
      const batch = held.slice(0, UNLOCKS_PER_TRANSACTION);
      const unlocks = new Transaction<'node'>();
      for (const { entry } of batch) unlocks.add('node', { op: 'delete', path: entry ?? '' });
      if (batch.length === held.length) return unlocks;
      await unlocks.commit(services.committer);
      for (const part of batch) part.entry = undefined;
    }
  }

  /** Gives all locked nodes back. */
  async releaseAll(fate: NodeFate): Promise<void> {
    const { services, parts, logger } = this.#options;
    const held = parts.held();
    for (const part of parts.all) part.entry = undefined;
    await releaseNodes(services, held, logger, fate);
  }

  /** Gives all claims in the mirror back. */
  unclaimAll(): void {
    const { services, parts, claimant } = this.#options;
    for (const id of parts.nodeIds()) services.mirror.unclaim(id, claimant);
  }
}

type RequestNode = Parameters<NonNullable<NodeRequestHandler['acceptsNode']>>[0];
