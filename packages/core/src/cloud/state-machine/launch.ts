import { backoffMs, delay, isNodepoolError } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import { startDeadline, type Deadline } from '../../async/deadline.js';
import type { LaunchOrder, LaunchResult } from '../../contract/driver.js';
import { statsdKeyOf, TimeoutError } from '../../contract/errors.js';
import type { Instance } from '../../contract/instance.js';
import type { Logger } from '../../contract/logger.js';
import { afterCreation, createInstance } from './launch-creating.js';
import { deleteLeftovers, noteLeftovers } from './launch-delete-leftovers.js';
import { scanInstance } from './launch-scanning.js';
import {
  LaunchWork,
  type LaunchServices,
  type LaunchStage,
  type LaunchStep,
  type LaunchStepTo,
} from './launch-work.js';
import type { NodeImage } from './node-fields.js';

const RETRY = { firstMs: 1_000, longestMs: 30_000 };
/** For the last look at an instance that was not ready in time. */
const LATE_LOOK_MS = 5_000;

/**
 * Makes one node: attempt after attempt until one succeeds, with what an attempt leaves deleted before the next. There
 * are never two instances for one node.
 */
export class Launch {
  readonly #work: LaunchWork;
  /** What the cloud showed at the last look, of an instance that was not ready in time. */
  #lastStatus: string | undefined;

  constructor(services: LaunchServices, order: LaunchOrder, signal: AbortSignal, logger: Logger) {
    this.#work = new LaunchWork(services, order, signal, logger);
  }

  /** Resolves with the node in its final state. Never rejects. */
  async run(): Promise<LaunchResult> {
    const work = this.#work;
    const { config, clock } = work.services;
    const startedMs = clock.now();
    let retries = config.launchRetries;
    for (let attempt = 1; ; attempt++) {
      const error = await this.#try(attempt);
      const mayBeImage = await work.attemptEnded(error);
      if (error && work.signal.aborted) return { state: 'failed', node: work.node, error };
      this.#count(error, startedMs);
      if (!error) {
        const { externalId } = work.node;
        work.logger.info('Node is ready', { attempt, externalId, ms: clock.now() - startedMs });
        return { state: 'ready', node: work.node };
      }
      if (work.storeError) return { state: 'failed', node: work.node, error };
      if (isNodepoolError(error, 'NODEPOOL_QUOTA')) return { state: 'aborted', node: work.node, error };
      if (mayBeImage) retries++; // no job fails because a new build is tried out
      work.logger.warn('Launch attempt failed', { attempt, of: retries, error });
      const isWanted = mayBeImage || this.#isAnotherWanted(error);
      if (!isWanted || attempt >= retries) {
        await noteLeftovers(work);
        return { state: 'failed', node: work.node, error };
      }
      await this.#pauseAfter(error, attempt, retries);
    }
  }

  #isAnotherWanted(error: Error): boolean {
    const isWanted = this.#work.order.attemptFailed?.(error) ?? true;
    return isWanted && !isNodepoolError(error, 'NODEPOOL_CONFIG');
  }

  /** A cloud that does not answer, or has no capacity, is no better at once. */
  async #pauseAfter(error: Error, attempt: number, retries: number): Promise<void> {
    const { clock, random } = this.#work.services;
    const isWorthAPause =
      isNodepoolError(error, 'NODEPOOL_PROVIDER_UNAVAILABLE') ||
      (this.#work.order.attemptFailed !== undefined && isNodepoolError(error, 'NODEPOOL_CAPACITY'));
    const pauseMs = isWorthAPause ? backoffMs(attempt - 1, RETRY, random) : 0;
    await this.#tellFailure(error, attempt, retries, pauseMs);
    if (pauseMs === 0) return;
    await delay(clock, pauseMs, this.#work.signal).catch(() => undefined); // an abort is seen by the next attempt
  }

  /** Stores the failure in the record of the node, where `explain` finds it. */
  async #tellFailure(error: Error, attempt: number, retries: number, pauseMs: number): Promise<void> {
    const { clock } = this.#work.services;
    const next = pauseMs === 0 ? 'the next one has begun' : `the next one begins at ${isoTime(clock.now() + pauseMs)}`;
    const launchError = `attempt ${attempt} of ${retries} failed, ${next}: ${error.message}`;
    await this.#work.store({ launchError }).catch(() => undefined); // a lost lock is seen by the next attempt
  }

  async #try(attempt: number): Promise<Error | undefined> {
    const { clock, config } = this.#work.services;
    const timeoutMs = config.launchTimeoutMs;
    const deadline = startDeadline(clock, timeoutMs, this.#work.signal);
    try {
      await this.#attempt(attempt, deadline);
      return undefined;
    } catch (error) {
      if (this.#work.storeError) return this.#work.storeError;
      if (!deadline.expired) return asError(error);
      const shown = this.#lastStatus === undefined ? '' : `, the cloud shows it as ${this.#lastStatus}`;
      const message = `the instance was not ready within ${timeoutMs / 1000} s${shown}: allow more with launch-timeout`;
      return new TimeoutError(message, { timeoutMs, operation: 'create', cause: error });
    } finally {
      deadline.end();
    }
  }

  async #attempt(attempt: number, deadline: Deadline): Promise<void> {
    this.#lastStatus = undefined;
    deadline.signal.throwIfAborted();
    let step: LaunchStep = { name: 'delete-leftovers', attempt };
    let image: NodeImage | undefined;
    try {
      while (step.name !== 'ready') {
        this.#work.order.stageBegan?.(step.name);
        step = await runLaunchStage(step, this.#work, deadline);
        if (step.name === 'creating') image = step.image;
      }
    } catch (error) {
      const isLate = image !== undefined && deadline.expired && !this.#work.storeError;
      const seen = isLate ? await this.#lookAgain() : undefined;
      this.#lastStatus = seen?.status;
      if (!seen?.ready || !image) throw error;
      await this.#useLate(seen, image);
    }
  }

  /** An instance whose time is over may have become ready in the meantime, or its status says what it waits for. */
  async #lookAgain(): Promise<Instance | undefined> {
    const { services, node, leftovers, signal } = this.#work;
    const { instances, clock } = services;
    const { externalId } = node;
    if (typeof externalId !== 'string' || !leftovers.has(externalId) || signal.aborted) return undefined;
    const deadline = startDeadline(clock, LATE_LOOK_MS, signal);
    try {
      const instance = await instances.find(externalId, instances.mark(), deadline.signal);
      return instance && !instance.deleted && this.#work.isOwn(instance) ? instance : undefined;
    } catch {
      return undefined; // the attempt fails as it would have without the look
    } finally {
      deadline.end();
    }
  }

  async #useLate(instance: Instance, image: NodeImage): Promise<void> {
    const { services, signal, logger } = this.#work;
    logger.info('The instance was ready just after its time was over; it is used', { externalId: instance.externalId });
    const deadline = startDeadline(services.clock, services.keyScanTimeoutMs + LATE_LOOK_MS, signal);
    try {
      let step: LaunchStep = afterCreation(this.#work, instance, image);
      while (step.name !== 'ready') step = await runLaunchStage(step, this.#work, deadline);
    } finally {
      deadline.end();
    }
  }

  #count(error: Error | undefined, startedMs: number): void {
    const { services, node, image } = this.#work;
    const { clock, metrics, config } = services;
    const result = error ? statsdKeyOf(error) : 'ready';
    metrics?.launchEnded?.(result, clock.now() - startedMs, {
      provider: config.name,
      az: node.az,
      requestor: node.requestor,
      image: image?.name ?? null,
    });
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** One row of the table: what is done in a stage, and to which steps it may lead. */
interface StageRow<Of extends LaunchStage, Next extends LaunchStep['name']> {
  readonly next: readonly Next[];
  run(work: LaunchWork, stage: Of, deadline: Deadline): Promise<LaunchStepTo<Next>>;
}

/** A stage that leads to another step than its row names does not compile. */
function row<Of extends LaunchStage, const Next extends LaunchStep['name']>(
  next: readonly Next[],
  run: StageRow<Of, NoInfer<Next>>['run'],
): StageRow<Of, Next> {
  return { next, run };
}

/** One attempt to launch a node, stage by stage. `docs/state-machines.md` has the picture. */
export const LAUNCH_STAGES = {
  'delete-leftovers': row<LaunchStepTo<'delete-leftovers'>, 'creating'>(['creating'], deleteLeftovers),
  creating: row<LaunchStepTo<'creating'>, 'scanning' | 'storing'>(['scanning', 'storing'], createInstance),
  scanning: row<LaunchStepTo<'scanning'>, 'storing'>(['storing'], scanInstance),
  storing: row<LaunchStepTo<'storing'>, 'ready'>(['ready'], storeReady),
} satisfies Record<LaunchStage['name'], unknown>;

/** Does what a stage asks for. @throws the attempt has failed */
function runLaunchStage(stage: LaunchStage, work: LaunchWork, deadline: Deadline): Promise<LaunchStep> {
  switch (stage.name) {
    case 'delete-leftovers':
      return LAUNCH_STAGES['delete-leftovers'].run(work, stage, deadline);
    case 'creating':
      return LAUNCH_STAGES.creating.run(work, stage, deadline);
    case 'scanning':
      return LAUNCH_STAGES.scanning.run(work, stage, deadline);
    case 'storing':
      return LAUNCH_STAGES.storing.run(work, stage, deadline);
  }
}

/** Stores the node as `ready`. */
async function storeReady(work: LaunchWork, { fields }: LaunchStepTo<'storing'>): Promise<LaunchStepTo<'ready'>> {
  await work.store({ ...fields, launchError: null, state: 'ready' });
  return { name: 'ready' };
}
