import { newNode, type NodeId, type NodeRecord, type RequestRecord } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import type { LazyAbort } from '../../async/lazy-abort.js';
import type { LaunchOrder, LaunchResult, NodeRequestHandler } from '../../contract/driver.js';
import { storedPart } from '../../contract/resources.js';
import { LockLostError } from '../../contract/errors.js';
import type { PoolLabelConfig } from '../../contract/provider-config.js';
import { removeAbandonedLocks } from './abandoned.js';
import type { Logger } from '../../contract/logger.js';
import type { HandlerPool } from './handler-pool.js';
import type { PlannedLaunch } from './planned-launch.js';
import { beginBuilding, createNodes } from './new-nodes.js';
import type { Part, RequestParts } from './request-parts.js';
import type { Services } from '../mirror/services.js';
import { storeNode } from './store-node.js';

/** A request for thousands of nodes leaves the process time for other work between so many launches. */
const LAUNCHES_PER_TURN = 50;

/** Whose launches they are. */
export interface LaunchesOptions {
  readonly services: Services;
  readonly pool: HandlerPool;
  readonly parts: RequestParts;
  /** Fires when nothing may be touched any more. */
  readonly end: LazyAbort;
  readonly logger: Logger;
  /** The driver's side of the request, now. */
  readonly driver: () => NodeRequestHandler;
  /** The request has been fulfilled: its nodes are not ours any more. */
  readonly isFulfilled: () => boolean;
  /** Stores a ready node together with the end of the work, if it is the last; `undefined`: store it by itself. */
  readonly fulfilWith: (part: Part, changes: Partial<NodeRecord>) => Promise<NodeRecord | undefined>;
}

/** The launches of one request: makes records, has the driver make machines, stores how each ended. */
export class Launches {
  readonly #options: LaunchesOptions;
  readonly #creating = new Set<Promise<unknown>>();
  /** Zone all nodes of the request share, once chosen. */
  az: string | null = null;

  constructor(options: LaunchesOptions) {
    this.#options = options;
  }

  /**
   * Makes a node for each part, all at once but for a pause after so many. Resolves when every one of them is `ready`,
   * `failed`, or `missing` again (aborted for lack of quota). Rejects when their records could not be written.
   * @param stored - the records of the parts, where they have been stored already
   * @param settled - called each time a part has reached its end
   */
  async run(
    request: RequestRecord,
    parts: readonly Part[],
    stored: readonly NodeId[] | undefined,
    settled: () => void,
  ): Promise<void> {
    const services = this.#options.services;
    const epoch = services.zk.sessionEpoch;
    const making = stored ? beginBuilding(services, stored) : createNodes(services, this.draft(request, parts));
    const made = await this.#track(making);
    const recorded = made.flatMap(({ node, entry }, i) => {
      const part = parts[i];
      return part ? [Object.assign(part, { node, entry })] : [];
    });
    if (this.#options.end.cause) return; // the clean-up after the handler deletes the new nodes
    await this.#launchAll(recorded, async (part) => {
      const { node, planned } = part;
      part.planned = undefined;
      planned?.recorded(node.az);
      const result = await this.#launch(request, part, node, planned);
      planned?.ended(result);
      await this.#launched(part, result, epoch);
      settled();
    });
  }

  async #launchAll<T extends Part>(parts: readonly T[], launch: (part: T) => Promise<void>): Promise<void> {
    const first = Promise.all(parts.slice(0, LAUNCHES_PER_TURN).map(launch));
    const rest = parts.slice(LAUNCHES_PER_TURN);
    await Promise.all(rest.length > 0 ? [first, this.#launchNextTurn(rest, launch)] : [first]);
  }

  async #launchNextTurn<T extends Part>(parts: readonly T[], launch: (part: T) => Promise<void>): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (!this.#options.end.cause) await this.#launchAll(parts, launch);
  }

  /** The records of nodes to be made for the parts, in state `init`. */
  draft(request: RequestRecord, parts: readonly Part[]): NodeRecord[] {
    return parts.map(({ label, planned }) =>
      this.#draft(request, label, planned?.need ?? this.#options.pool.needOf(label)),
    );
  }

  /**
   * Resolves when no record is being made any more, so that all there will be can be seen.
   * @returns whether all that was being made is known to the parts
   */
  async settled(): Promise<boolean> {
    let isKnown = true;
    while (this.#creating.size > 0) {
      const ended = await Promise.allSettled(this.#creating);
      isKnown &&= ended.every(({ status }) => status === 'fulfilled');
    }
    return isKnown;
  }

  #track<T>(creation: Promise<T>): Promise<T> {
    this.#creating.add(creation);
    const done = () => void this.#creating.delete(creation);
    creation.then(done, done);
    return creation;
  }

  #draft(request: RequestRecord, label: string, resources: Record<string, number>): NodeRecord {
    const { pool, providerName, launcherId } = this.#options.pool;
    const draft = newNode(
      {
        state: 'init',
        labels: [label],
        provider: providerName,
        pool: pool.name,
        launcher: launcherId,
        allocatedTo: request.id,
        tenantName: request.tenantName,
        requestor: request.requestor,
        attributes: pool.nodeAttributes,
        az: this.az,
        resources: storedPart(resources),
      },
      this.#options.services.clock.now(),
    );
    const completed = this.#options.driver().setNodeMetadata?.(draft) ?? draft;
    this.az ??= completed.az;
    return completed;
  }

  /** Never rejects. */
  async #launch(
    request: RequestRecord,
    part: Part,
    node: NodeRecord,
    planned: PlannedLaunch | undefined,
  ): Promise<LaunchResult> {
    const label = this.#options.pool.pool.labels.get(part.label);
    const driver = this.#options.driver();
    if (!label || !driver.launch) {
      const error = new Error(`pool "${this.#options.pool.pool.name}" no longer launches label "${part.label}"`);
      return { state: 'failed', node, error };
    }
    try {
      const { attemptFailed, created } = planned ?? {};
      const steering = { ...(attemptFailed && { attemptFailed }), ...(created && { created }) };
      return await driver.launch({ ...this.#order(request, part, node, label), ...steering }, this.#options.end.signal);
    } catch (error) {
      return { state: 'failed', node: part.node ?? node, error: asError(error) };
    }
  }

  #order(request: RequestRecord, part: Part, node: NodeRecord, label: PoolLabelConfig): LaunchOrder {
    return {
      node,
      label,
      pool: this.#options.pool.pool,
      request,
      store: (changes) => this.#store(part, part.node ?? node, changes),
      stageBegan: (stage) => this.#options.services.events.emit('launchStageBegan', { node: node.id, stage }),
    };
  }

  async #store(part: Part, node: NodeRecord, changes: Partial<NodeRecord>): Promise<NodeRecord> {
    const { services, end, isFulfilled, fulfilWith } = this.#options;
    if (isFulfilled())
      throw new LockLostError(`node ${node.id}: could not store it, it was handed over when stored as ready`);
    const handedOver = changes.state === 'ready' ? await fulfilWith(part, changes) : undefined;
    part.node = handedOver ?? (await storeNode(services, node, changes, end.signal));
    return part.node;
  }

  async #launched(part: Part, result: LaunchResult, epoch: number): Promise<void> {
    if (this.#options.end.cause) return;
    const isDone = this.#options.isFulfilled();
    if (result.state === 'ready' || isDone) part.state = 'ready';
    if (result.state === 'ready') return;
    const about = { nodeId: part.node?.id, result: result.state, error: result.error };
    this.#options.logger.warn(
      isDone ? 'Launch failed after its node was handed over' : 'Launch did not succeed',
      about,
    );
    if (isDone) return;
    part.error = result.error;
    try {
      await this.#storeEnd(part, result);
    } catch (error) {
      this.#options.logger.warn('Could not store how a launch ended', { nodeId: part.node?.id, error });
      // an aborted node belongs to no request from now on: its lock must not stay
      if (part.node && result.state === 'aborted') {
        await removeAbandonedLocks(this.#options.services, { nodes: [part.node.id] }, epoch, this.#options.end.signal);
      }
    }
    if (result.state === 'aborted') this.#options.parts.lose(part);
    else part.state = 'failed';
  }

  /** Stores `failed` or `aborted`; an aborted node is let go at once, so that it is deleted while another is made. */
  async #storeEnd(part: Part, result: LaunchResult): Promise<void> {
    if (!part.node) return;
    const launchError = result.error?.message ?? null;
    const changes = part.node.state === result.state ? { launchError } : { launchError, state: result.state };
    part.node = await storeNode(this.#options.services, part.node, changes, this.#options.end.signal);
    if (result.state === 'aborted' && part.entry !== undefined) {
      await this.#options.services.committer.commit([{ op: 'delete', path: part.entry }]);
    }
  }
}
