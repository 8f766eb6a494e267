import { steadyNow, type Clock, type NodeRecord, type UploadRecord } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import type { LaunchOrder, ProviderContext } from '../../contract/driver.js';
import type { ImageSource, UploadChoice } from '../../contract/images.js';
import { POOL_TAG, PROVIDER_TAG, type Instance } from '../../contract/instance.js';
import type { Logger } from '../../contract/logger.js';
import type { OperationMetrics } from '../../contract/operation-metrics.js';
import type { scanHostKeys } from '../key-scan/scan-host-keys.js';
import type { ScanQueue } from '../../async/scan-queue.js';
import type { InstanceList } from '../operations/instance-list.js';
import type { RunMachineOptions } from '../operations/run-machine.js';
import { databaseTag, isOfNode, nodeTags } from '../ownership/ownership.js';
import { encodeProgress, readProgress, type LaunchProgress } from './launch-progress.js';
import { imageOfNode, type NodeImage } from './node-fields.js';
import type { AddressClaims } from './shared-address.js';
import type { UncertainOrders } from './uncertain-orders.js';
import type {
  Adapter,
  ResumedCreation,
  StateMachineLabelConfig,
  StateMachinePoolConfig,
  StateMachineProviderConfig,
} from './types.js';

/** Name of a state that no driver has. */
const MADE_AT_ONCE = 'made at once';

/** What launches and deletions of one provider share. */
export interface LaunchServices {
  readonly config: StateMachineProviderConfig;
  readonly adapter: Adapter;
  /** Id of the database, which everything carries that is made. */
  readonly databaseId: string | undefined;
  /** The time that all launchers agree about. */
  readonly agreedNow?: (() => number) | undefined;
  /** When a record was made, by that time. */
  readonly madeMs?: ProviderContext['madeMs'];
  readonly instances: InstanceList;
  readonly images: ImageSource | undefined;
  readonly addresses: AddressClaims;
  readonly scans: ScanQueue;
  readonly scan: typeof scanHostKeys;
  readonly keyScanTimeoutMs: number;
  readonly clock: Clock;
  readonly metrics: OperationMetrics | undefined;
  /** Calls that the cloud has not answered for long, in words. */
  readonly unanswered: () => string | undefined;
  readonly uncertain: UncertainOrders;
  /** Number in [0, 1). */
  readonly random: () => number;
}

/** What the stages and attempts of one launch share. */
export class LaunchWork {
  readonly services: LaunchServices;
  readonly order: LaunchOrder;
  readonly label: StateMachineLabelConfig;
  readonly pool: StateMachinePoolConfig;
  /** Fires when nothing may be touched any more. */
  readonly signal: AbortSignal;
  /** Fires when the launch is to end: with {@link signal}, or when no request needs the node any more. */
  readonly end: AbortSignal;
  readonly logger: Logger;
  /** Instances of earlier attempts that may still exist. */
  readonly leftovers = new Set<string>();
  /** When an earlier attempt ended before the cloud told an id; `undefined`: nothing unknown can exist. */
  unknownSinceMs: number | undefined;
  /** Of the attempt at work, once known. */
  image: NodeImage | undefined;
  /** The attempt at work. */
  progress: LaunchProgress;
  #node: NodeRecord;
  /** How far steady time is ahead of ZooKeeper's. */
  #aheadMs: number;
  #storeError: Error | undefined;
  #storing: Promise<unknown> = Promise.resolve();
  #choice: UploadChoice | undefined;
  #mayResume: boolean;
  #mayTry = true;

  constructor(services: LaunchServices, order: LaunchOrder, signal: AbortSignal, logger: Logger) {
    this.services = services;
    this.order = order;
    // The pools of a state-machine provider have labels of its own kind.
    this.label = order.label as StateMachineLabelConfig;
    this.pool = order.pool as StateMachinePoolConfig;
    this.signal = signal;
    this.end = order.unwanted ? AbortSignal.any([signal, order.unwanted]) : signal;
    this.#node = order.node;
    this.logger = logger.child({ nodeId: order.node.id, pool: order.pool.name });
    this.#mayResume = order.isResumed === true;
    // the record was written just before
    const serverMs = services.agreedNow?.() ?? order.node.stat?.mtime ?? services.clock.now();
    this.#aheadMs = steadyNow(services.clock) - serverMs;
    this.progress = order.isResumed
      ? readProgress(order.node, services.clock.now() - serverMs, services.madeMs)
      : { attempt: 1, beganMs: this.serverNowMs };
  }

  /** The time by the clock of ZooKeeper. */
  get serverNowMs(): number {
    return steadyNow(this.services.clock) - this.#aheadMs;
  }

  /** Remaining time of the attempt. */
  get remainingMs(): number {
    const { launchTimeoutMs } = this.services.config;
    const elapsedMs = Math.max(0, this.serverNowMs - this.progress.beganMs);
    return Math.max(0, launchTimeoutMs - elapsedMs);
  }

  /**
   * What a launcher that is gone has left for the next attempt of this launch; `undefined`: nothing, or it was taken before. Its
   * instance continues, as does one that the cloud may be about to make. An instance of an attempt that had failed is deleted.
   */
  takeResumed(): (ResumedCreation & { readonly image: NodeImage | undefined }) | undefined {
    if (!this.#mayResume) return undefined;
    this.#mayResume = false;
    const { externalId } = this.#node;
    const { attempt, state, imageExternalId, isStart } = this.progress;
    if (typeof externalId === 'string') this.leftovers.add(externalId);
    const what = isStart === true ? 'Starting a stopped instance' : 'Continuing a launch that another launcher began';
    this.logger.info(what, { attempt, state: state?.name, externalId });
    if (state) this.image = imageOfNode(this.#node, this.label, imageExternalId);
    return { state, orderedMs: this.#orderedMs, image: this.image };
  }

  get #orderedMs(): number | undefined {
    const { attempt, beganMs } = this.progress;
    if (attempt === 1) return beganMs + this.#aheadMs;
    return beganMs > this.serverNowMs ? undefined : steadyNow(this.services.clock);
  }

  /**
   * The machine ended without a state that has an id, which could be stored. Another launcher finds the instance by its tags, and
   * must not take it for one of an attempt that had failed.
   */
  madeAtOnce({ externalId }: Instance, { externalId: imageExternalId }: NodeImage): void {
    this.progress = { ...this.progress, state: { name: MADE_AT_ONCE, externalId }, imageExternalId };
  }

  /** Host keys that a started instance must show, as it did before it was stopped; `undefined`: any. */
  get knownHostKeys(): readonly string[] | undefined {
    return this.progress.isStart === true ? this.#node.hostKeys : undefined;
  }

  /** The progress, to store with other fields of the node. Nothing for nodes whose launch another launcher cannot continue. */
  get progressFields(): Partial<NodeRecord> {
    return this.#node.launchState === null ? {} : { launchState: encodeProgress(this.progress) };
  }

  /** The node as last stored. */
  get node(): NodeRecord {
    return this.#node;
  }

  /** Set when storing the node failed: its lock is lost, nothing may be touched any more. */
  get storeError(): Error | undefined {
    return this.#storeError;
  }

  /** Stores changed fields of the node, after what is being stored. */
  async store(changes: Partial<NodeRecord>): Promise<void> {
    const before = this.#storing;
    const stored = before.then(() => this.#storeNow(changes));
    this.#storing = stored.catch(() => undefined);
    await stored;
  }

  async #storeNow(changes: Partial<NodeRecord>): Promise<void> {
    this.signal.throwIfAborted();
    try {
      this.#node = await this.order.store(changes);
    } catch (error) {
      this.#storeError = asError(error);
      throw error;
    }
  }

  /**
   * Stores why an attempt failed. A process that was stopped for a while may have lost the node without knowing it; what it then
   * sees, such as an instance that vanished, says nothing of the cloud.
   * @returns the failure, or why it could not be stored
   */
  async noteFailure(failure: Error): Promise<Error> {
    if (this.end.aborted || this.#storeError) return failure;
    await this.store({ launchError: failure.message }).catch(() => undefined);
    return this.#storeError ?? failure;
  }

  /** The upload for the next attempt, where a new build of the image is being tried out; `undefined`: there is no choice. */
  chooseUpload(): UploadRecord | undefined {
    const { config, images } = this.services;
    const { diskimage } = this.label;
    if (diskimage === undefined || !config.managesImages) return undefined;
    const attempt = { provider: config.name, node: this.node.id, mayTry: this.#mayTry };
    this.#choice = images?.chooseUpload?.(diskimage, attempt);
    return this.#choice?.upload;
  }

  /**
   * Tells how an attempt ended. @param error - `undefined`: the node is ready
   * @returns whether only the build that was tried out may be at fault: then another attempt uses the one before it
   */
  attemptEnded(error: Error | undefined): boolean {
    const choice = this.#choice;
    this.#choice = undefined;
    const wasTried = choice?.ended(this.end.aborted && error ? abandoned(error) : error) === true;
    if (wasTried) this.#mayTry = false;
    return wasTried;
  }

  /** How to run a state machine of the driver. */
  runOptions(signal: AbortSignal): RunMachineOptions {
    const { clock, instances, metrics, config, random } = this.services;
    return {
      clock,
      instances,
      signal,
      random,
      logger: this.logger,
      ordering: this.order.ordering,
      note: (launchError) => {
        this.services.uncertain.add(launchError);
        return this.store({ launchError });
      },
      onTransition: (transition) => metrics?.transition?.(config.name, transition),
      onOutage: (isAway) => this.order.stageBegan?.(isAway ? 'cloud-away' : 'waiting'),
    };
  }

  /** Whether an instance carries the node's tags. */
  isOwn({ metadata }: Pick<Instance, 'metadata'>): boolean {
    const shared = Object.entries(this.#sharedTags);
    return isOfNode(metadata, this.#node) && shared.every(([tag, value]) => metadata[tag] === value);
  }

  /** By which an instance is known as the node's. */
  tags(): Record<string, string> {
    return { ...nodeTags(this.#node), ...this.#sharedTags };
  }

  /** Tags of all nodes of the pool. */
  get #sharedTags(): Record<string, string> {
    const { config, databaseId } = this.services;
    return { [POOL_TAG]: this.pool.name, [PROVIDER_TAG]: config.name, ...databaseTag(databaseId) };
  }
}

/** The launch was ended from outside, so it says nothing. */
function abandoned(cause: Error): Error {
  return Object.assign(new Error('the launch was ended', { cause }), { name: 'AbortError' });
}
