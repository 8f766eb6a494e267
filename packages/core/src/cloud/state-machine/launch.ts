import { delay, isNodepoolError, type Clock, type NodeRecord } from '@nodepool/zk-protocol';
import type { LaunchOrder, LaunchResult } from '../../contract/driver.js';
import { CapacityError, LaunchError, statsdKeyOf, TimeoutError } from '../../contract/errors.js';
import { startDeadline, type Deadline } from '../../async/deadline.js';
import type { scanHostKeys } from '../key-scan/scan-host-keys.js';
import type { ScanQueue } from '../key-scan/scan-queue.js';
import { backoffMs } from '../../async/backoff.js';
import type { Logger } from '../../contract/logger.js';
import type { ImageSource } from '../../contract/images.js';
import type { InstanceList } from '../operations/instance-list.js';
import { NODE_ID_TAG, POOL_TAG, PROVIDER_TAG, type Instance } from '../../contract/instance.js';
import type { OperationMetrics } from '../../contract/operation-metrics.js';
import { orAbort } from '../../async/or-abort.js';
import { runMachine, type RunMachineOptions } from '../operations/run-machine.js';
import { readKeys, reportScanFailure } from './key-scan.js';
import { fieldsOfInstance, imageOfLabel, type NodeImage } from './node-fields.js';
import type { Adapter, StateMachineLabelConfig, StateMachinePoolConfig, StateMachineProviderConfig } from './types.js';

/** What launches and deletions of one provider share. */
export interface LaunchServices {
  readonly config: StateMachineProviderConfig;
  readonly adapter: Adapter;
  readonly instances: InstanceList;
  readonly images: ImageSource | undefined;
  readonly scans: ScanQueue;
  readonly scan: typeof scanHostKeys;
  readonly keyScanTimeoutMs: number;
  readonly clock: Clock;
  readonly metrics: OperationMetrics | undefined;
  /** Number in [0, 1). */
  readonly random: () => number;
}

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
/** For the last look at an instance that was not ready in time. */
const LATE_LOOK_MS = 5_000;
/** Errors that say that the cloud made nothing. */
const NOTHING_MADE = ['NODEPOOL_QUOTA', 'NODEPOOL_CAPACITY', 'NODEPOOL_CONFIG', 'NODEPOOL_NOT_FOUND'];

/**
 * Makes one node: attempt after attempt until one succeeds, with what an attempt leaves deleted before the next. There
 * are never two instances for one node.
 */
export class Launch {
  readonly #services: LaunchServices;
  readonly #order: LaunchOrder;
  readonly #label: StateMachineLabelConfig;
  readonly #pool: StateMachinePoolConfig;
  readonly #signal: AbortSignal;
  readonly #logger: Logger;
  #node: NodeRecord;
  #image: NodeImage | undefined;
  /** Instances of earlier attempts that may still exist. */
  #leftovers = new Set<string>();
  /** An earlier attempt ended before the cloud told an id. */
  #mayHaveUnknown = false;
  /** Set when storing the node failed: its lock is lost, nothing may be touched any more. */
  #storeError: Error | undefined;

  constructor(services: LaunchServices, order: LaunchOrder, signal: AbortSignal, logger: Logger) {
    this.#services = services;
    this.#order = order;
    // The pools of a state-machine provider have labels of its own kind.
    this.#label = order.label as StateMachineLabelConfig;
    this.#pool = order.pool as StateMachinePoolConfig;
    this.#signal = signal;
    this.#node = order.node;
    this.#logger = logger.child({ nodeId: order.node.id, pool: order.pool.name });
  }

  /** Resolves with the node in its final state. Never rejects. */
  async run(): Promise<LaunchResult> {
    const { config, clock, random } = this.#services;
    const startedMs = clock.now();
    for (let attempt = 1; ; attempt++) {
      const error = await this.#try(attempt);
      if (error && this.#signal.aborted) return { state: 'failed', node: this.#node, error };
      this.#count(error, startedMs);
      if (!error) {
        this.#logger.info('Node is ready', { attempt, externalId: this.#node.externalId, ms: clock.now() - startedMs });
        return { state: 'ready', node: this.#node };
      }
      if (this.#storeError) return { state: 'failed', node: this.#node, error };
      if (isNodepoolError(error, 'NODEPOOL_QUOTA')) return { state: 'aborted', node: this.#node, error };
      this.#logger.warn('Launch attempt failed', { attempt, of: config.launchRetries, error });
      const isWanted = this.#order.attemptFailed?.(error) ?? true;
      if (!isWanted || attempt >= config.launchRetries || isNodepoolError(error, 'NODEPOOL_CONFIG')) {
        await this.#noteLeftovers();
        return { state: 'failed', node: this.#node, error };
      }
      const pauseMs = this.#isWorthAPause(error) ? backoffMs(attempt - 1, FIRST_RETRY_MS, LONGEST_RETRY_MS, random) : 0;
      await this.#tellFailure(error, attempt, pauseMs);
      if (pauseMs === 0) continue;
      await delay(clock, pauseMs, this.#signal).catch(() => undefined); // an abort is seen by the next attempt
    }
  }

  /** A cloud that does not answer, or has no room, is no better at once. */
  #isWorthAPause(error: Error): boolean {
    if (isNodepoolError(error, 'NODEPOOL_PROVIDER_UNAVAILABLE')) return true;
    return this.#order.attemptFailed !== undefined && isNodepoolError(error, 'NODEPOOL_CAPACITY');
  }

  /** Those who wait for the node can read in its record why it takes longer. */
  async #tellFailure(error: Error, attempt: number, pauseMs: number): Promise<void> {
    const { clock, config } = this.#services;
    const next = pauseMs === 0 ? 'the next one has begun' : `the next one begins at ${isoTime(clock.now() + pauseMs)}`;
    const launchError = `attempt ${attempt} of ${config.launchRetries} failed, ${next}: ${error.message}`;
    await this.#store({ launchError }).catch(() => undefined); // a lost lock is seen by the next attempt
  }

  async #try(attempt: number): Promise<Error | undefined> {
    const { clock, config } = this.#services;
    const timeoutMs = config.launchTimeoutMs;
    const deadline = startDeadline(clock, timeoutMs, this.#signal);
    try {
      await this.#attempt(attempt, deadline);
      return undefined;
    } catch (error) {
      if (this.#storeError) return this.#storeError;
      if (!deadline.expired) return asError(error);
      const message = `the instance was not ready within ${timeoutMs / 1000} s: allow more with launch-timeout`;
      return new TimeoutError(message, { timeoutMs, operation: 'create', cause: error });
    } finally {
      deadline.end();
    }
  }

  async #attempt(attempt: number, deadline: Deadline): Promise<void> {
    const { config, images } = this.#services;
    deadline.signal.throwIfAborted();
    await this.#deleteLeftovers(deadline.signal);
    this.#image = imageOfLabel(config, this.#label, images);
    if (!this.#image) {
      throw new CapacityError(`image "${this.#label.diskimage}" has no ready upload in provider "${config.name}"`, {
        statsdKey: 'error.nodepool',
      });
    }
    try {
      const instance = await this.#create(attempt, this.#image, deadline.signal);
      await this.#makeReady(instance, this.#image, deadline);
    } catch (error) {
      const late = deadline.expired && !this.#storeError ? await this.#readyAfterAll() : undefined;
      if (!late) throw error;
      await this.#useLate(late, this.#image);
    }
  }

  /** An instance whose time is over may have become ready in the meantime: it costs one more look to know. */
  async #readyAfterAll(): Promise<Instance | undefined> {
    const { instances, clock } = this.#services;
    const { externalId } = this.#node;
    if (typeof externalId !== 'string' || !this.#leftovers.has(externalId) || this.#signal.aborted) return undefined;
    const deadline = startDeadline(clock, LATE_LOOK_MS, this.#signal);
    try {
      const instance = await instances.find(externalId, instances.mark(), deadline.signal);
      return instance && instance.ready && !instance.deleted ? instance : undefined;
    } catch {
      return undefined; // the attempt fails as it would have without the look
    } finally {
      deadline.end();
    }
  }

  async #useLate(instance: Instance, image: NodeImage): Promise<void> {
    const { clock, keyScanTimeoutMs } = this.#services;
    this.#logger.info('The instance was ready just after its time was over; it is used', {
      externalId: instance.externalId,
    });
    const deadline = startDeadline(clock, keyScanTimeoutMs + LATE_LOOK_MS, this.#signal);
    try {
      await this.#makeReady(instance, image, deadline);
    } finally {
      deadline.end();
    }
  }

  async #create(attempt: number, image: NodeImage, signal: AbortSignal): Promise<Instance> {
    const { adapter } = this.#services;
    const { request, node } = this.#order;
    const machine = adapter.getCreateStateMachine({
      hostname: `np${node.id}`,
      label: this.#label,
      pool: this.#pool,
      imageExternalId: image.externalId,
      metadata: this.#tags(),
      request,
      node: this.#node,
      az: this.#node.az,
      attempt,
      logger: this.#logger,
    });
    let known = false;
    try {
      const instance = await runMachine(machine, {
        ...this.#runOptions(signal),
        saveExternalId: async (externalId) => {
          known = true;
          this.#leftovers.add(externalId);
          await this.#store({ ...image.fields, externalId });
        },
      });
      if (typeof (instance as Instance | undefined)?.externalId !== 'string') {
        throw new Error(`machine "${machine.name}" ended without an instance: return done(instance)`);
      }
      this.#leftovers.add(instance.externalId);
      return instance;
    } catch (error) {
      if (!known) this.#mayHaveUnknown = !NOTHING_MADE.some((code) => isNodepoolError(error, code));
      throw error;
    }
  }

  async #makeReady(instance: Instance, image: NodeImage, deadline: Deadline): Promise<void> {
    const fields = { ...image.fields, ...fieldsOfInstance(instance, this.#pool) };
    if (!this.#label.hostKeyChecking) {
      await this.#store({ ...fields, launchError: null, state: 'ready' });
      return;
    }
    // The instance is stored while it is being scanned; the end of both is waited for whatever happens.
    const stored = this.#store(fields);
    stored.catch(() => deadline.end()); // the node is not ours any more: no need to scan it
    const [scanned] = await Promise.allSettled([this.#scanKeys(instance, fields, deadline), stored]);
    await stored;
    if (scanned.status === 'rejected') throw scanned.reason;
    const keys = scanned.value;
    checkKnownKeys(instance, keys);
    await this.#store({ ...(keys.length > 0 && { hostKeys: keys }), launchError: null, state: 'ready' });
  }

  async #scanKeys(instance: Instance, fields: Partial<NodeRecord>, deadline: Deadline): Promise<string[]> {
    const target = {
      host: fields.interfaceIp ?? '',
      port: Number(fields.connectionPort ?? this.#node.connectionPort),
      connectionType: fields.connectionType === undefined ? this.#node.connectionType : fields.connectionType,
    };
    try {
      return await readKeys(this.#services, target, this.#logger, deadline.signal);
    } catch (error) {
      if (!deadline.signal.aborted) {
        await reportScanFailure(this.#services, this.#label, instance.externalId, this.#logger, deadline.signal);
      }
      throw error;
    }
  }

  /** Deletes what earlier attempts made. Failures are tried again until the attempt's time is over. */
  async #deleteLeftovers(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#services;
    for (let failures = 0; this.#mayHaveUnknown || this.#leftovers.size > 0; failures++) {
      try {
        if (this.#mayHaveUnknown) await this.#findUnknown(signal);
        for (const externalId of this.#leftovers) await this.#deleteLeftover(externalId, signal);
      } catch (error) {
        if (signal.aborted || this.#storeError) throw error;
        this.#logger.warn('Could not delete what an earlier attempt left; trying again', { error });
        await delay(clock, backoffMs(failures, FIRST_RETRY_MS, LONGEST_RETRY_MS, random), signal);
      }
    }
  }

  async #deleteLeftover(externalId: string, signal: AbortSignal): Promise<void> {
    const { adapter } = this.#services;
    try {
      const order = { externalId, node: this.#node, logger: this.#logger };
      await runMachine(adapter.getDeleteStateMachine(order), this.#runOptions(signal));
    } catch (error) {
      if (!isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) throw error;
    }
    this.#leftovers.delete(externalId);
  }

  /** The cloud may have made an instance without our hearing of it: it carries the node's tags. */
  async #findUnknown(signal: AbortSignal): Promise<void> {
    const { instances, config } = this.#services;
    for (const { externalId, metadata, deleted } of await instances.list(instances.mark(), signal)) {
      if (deleted || metadata[NODE_ID_TAG] !== this.#node.id || metadata[PROVIDER_TAG] !== config.name) continue;
      this.#leftovers.add(externalId);
      if (this.#node.externalId !== externalId) await this.#store({ externalId });
    }
    this.#mayHaveUnknown = false;
  }

  /** After the last attempt: what may be left is to be deleted with the node, and not only found as leaked. */
  async #noteLeftovers(): Promise<void> {
    const deadline = startDeadline(this.#services.clock, LONGEST_RETRY_MS, this.#signal);
    try {
      if (this.#mayHaveUnknown) await orAbort(this.#findUnknown(deadline.signal), deadline.signal);
      const [externalId] = this.#leftovers;
      const isNoted = typeof this.#node.externalId === 'string' && this.#leftovers.has(this.#node.externalId);
      if (externalId !== undefined && !isNoted) await this.#store({ externalId });
    } catch (error) {
      this.#logger.warn('Could not look for what the launch left; it will be found as leaked', { error });
    } finally {
      deadline.end();
    }
  }

  async #store(changes: Partial<NodeRecord>): Promise<void> {
    this.#signal.throwIfAborted();
    try {
      this.#node = await this.#order.store(changes);
    } catch (error) {
      this.#storeError = asError(error);
      throw error;
    }
  }

  #runOptions(signal: AbortSignal): RunMachineOptions {
    const { clock, instances, metrics, config, random } = this.#services;
    return {
      clock,
      instances,
      signal,
      random,
      logger: this.#logger,
      onTransition: (transition) => metrics?.transition?.(config.name, transition),
    };
  }

  #tags(): Record<string, string> {
    return {
      [NODE_ID_TAG]: this.#node.id,
      [POOL_TAG]: this.#pool.name,
      [PROVIDER_TAG]: this.#services.config.name,
    };
  }

  #count(error: Error | undefined, startedMs: number): void {
    const { clock, metrics, config } = this.#services;
    const result = error ? statsdKeyOf(error) : 'ready';
    metrics?.launchEnded?.(result, clock.now() - startedMs, {
      provider: config.name,
      az: this.#node.az,
      requestor: this.#node.requestor,
      image: this.#image?.name ?? null,
    });
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** @throws {LaunchError} somebody answers in the instance's place */
function checkKnownKeys({ externalId, hostKeys, onlyTheseHostKeys }: Instance, scanned: readonly string[]): void {
  if (onlyTheseHostKeys !== true) return;
  const foreign = scanned.filter((key) => hostKeys?.includes(key) !== true);
  if (foreign.length === 0) return;
  const message = `instance ${externalId} showed host keys that it did not print itself: ${foreign.join(', ')}`;
  throw new LaunchError('keyscan', message);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
