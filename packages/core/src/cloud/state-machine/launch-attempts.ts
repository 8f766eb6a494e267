import { backoffMs, delay, isNodepoolError, steadyNow } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import { startDeadline, type Deadline } from '../../async/deadline.js';
import type { LaunchOrder, LaunchResult } from '../../contract/driver.js';
import { statsdKeyOf, TimeoutError } from '../../contract/errors.js';
import type { Instance } from '../../contract/instance.js';
import type { Logger } from '../../contract/logger.js';
import { runMachine } from '../operations/run-machine.js';
import { prepareAttempt, noteLeftovers } from './launch-preparation.js';
import { noteSilence } from './launch-silence.js';
import { scanInstance } from './launch-scanning.js';
import { LaunchWork, type LaunchServices } from './launch-work.js';
import { fieldsOfInstance, type NodeImage } from './node-fields.js';
import type { Adapter, ResumedCreation } from './types.js';

/** Stages of an attempt to launch a node, in order; an instance without host keys to check is not scanned. */
export const LAUNCH_STAGES = ['delete-leftovers', 'creating', 'booting', 'scanning', 'storing'] as const;
type LaunchStage = (typeof LAUNCH_STAGES)[number];

/** Errors that say that the cloud made nothing. */
const NOTHING_MADE = ['NODEPOOL_QUOTA', 'NODEPOOL_CAPACITY', 'NODEPOOL_CONFIG', 'NODEPOOL_NOT_FOUND'];
const RETRY = { firstMs: 1_000, longestMs: 30_000 };
/** For the last look at an instance that was not ready in time. */
const LATE_LOOK_MS = 5_000;

/**
 * Makes one node: attempt after attempt until one succeeds, with what an attempt leaves deleted before the next. There
 * are never two instances for one node. A launch that another launcher began continues in its attempt, with its deadline.
 */
export class LaunchAttempts {
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
    const startedMs = steadyNow(clock);
    let retries = config.launchRetries;
    for (let { attempt } = work.progress; ; attempt++) {
      const failure = await this.#try(attempt);
      const error = failure && (await work.noteFailure(failure));
      const mayBeImage = work.attemptEnded(error);
      if (error && work.end.aborted) {
        if (!work.signal.aborted) await noteLeftovers(work);
        return { state: 'failed', node: work.node, error };
      }
      this.#count(error, startedMs);
      if (!error) {
        const { externalId } = work.node;
        work.logger.info('Node is ready', { attempt, externalId, ms: steadyNow(clock) - startedMs });
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
    await delay(clock, pauseMs, this.#work.end).catch(() => undefined); // an abort is seen by the next attempt
  }

  /** Stores the failure in the record of the node, where `explain` finds it. */
  async #tellFailure(error: Error, attempt: number, retries: number, pauseMs: number): Promise<void> {
    const { clock } = this.#work.services;
    const next = pauseMs === 0 ? 'the next one has begun' : `the next one begins at ${isoTime(clock.now() + pauseMs)}`;
    const launchError = `attempt ${attempt} of ${retries} failed, ${next}: ${error.message}`;
    const work = this.#work;
    work.progress = { attempt: attempt + 1, beganMs: work.serverNowMs + pauseMs };
    await work.store({ launchError, ...work.progressFields }).catch(() => undefined); // a lost lock is seen by the next attempt
  }

  async #try(attempt: number): Promise<Error | undefined> {
    const { clock, config } = this.#work.services;
    const timeoutMs = config.launchTimeoutMs;
    const deadline = startDeadline(clock, this.#work.remainingMs, this.#work.end);
    let unanswered: string | undefined;
    const note = () => deadline.expired && (unanswered = this.#work.services.unanswered());
    deadline.signal.addEventListener('abort', note, { once: true }); // before the calls are ended
    try {
      await this.#attempt(attempt, deadline);
      return undefined;
    } catch (error) {
      if (this.#work.storeError) return this.#work.storeError;
      if (!deadline.expired) return asError(error);
      const shown = this.#lastStatus === undefined ? '' : `, the cloud shows it as ${this.#lastStatus}`;
      const why = unanswered ?? 'allow more with launch-timeout';
      const message = `the instance was not ready within ${timeoutMs / 1000} s${shown}: ${why}`;
      return new TimeoutError(message, { timeoutMs, operation: 'create', cause: error });
    } finally {
      deadline.end();
    }
  }

  async #attempt(attempt: number, deadline: Deadline): Promise<void> {
    const work = this.#work;
    this.#lastStatus = undefined;
    work.end.throwIfAborted();
    const resumed = work.takeResumed();
    const endNotes = noteSilence(work);
    let image = resumed?.image;
    try {
      this.#begin('delete-leftovers');
      image ??= await prepareAttempt(work, deadline.signal);
      this.#begin('creating');
      const instance = await createInstance(work, attempt, image, deadline.signal, resumed).finally(endNotes);
      await this.#finish(instance, image, deadline);
    } catch (error) {
      const seen = deadline.expired && !this.#work.storeError ? await this.#lookAgain() : undefined;
      this.#lastStatus = seen?.status;
      if (!seen?.ready || !image) throw error;
      await this.#useLate(seen, image);
    } finally {
      endNotes();
    }
  }

  /** Reads the host keys of a running instance where the label asks for it, and stores the node as `ready`. */
  async #finish(instance: Instance, image: NodeImage, deadline: Deadline): Promise<void> {
    const work = this.#work;
    let fields = { ...image.fields, ...fieldsOfInstance(instance, work.pool, image) };
    const endClaim = work.services.addresses.claim({ ...work.node, ...fields });
    try {
      if (work.label.hostKeyChecking && typeof fields.interfaceIp === 'string') {
        this.#begin('scanning');
        fields = await scanInstance(work, instance, fields, deadline);
      }
      this.#begin('storing');
      await work.store({ ...fields, launchError: null, launchState: null, state: 'ready' });
    } finally {
      endClaim();
    }
  }

  #begin(stage: LaunchStage): void {
    this.#work.order.stageBegan?.(stage);
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
    const deadline = startDeadline(services.clock, services.keyScanTimeoutMs + 2 * LATE_LOOK_MS, signal);
    try {
      await this.#finish(instance, image, deadline);
    } finally {
      deadline.end();
    }
  }

  #count(error: Error | undefined, startedMs: number): void {
    const { services, node, image } = this.#work;
    const { clock, metrics, config } = services;
    const result = error ? statsdKeyOf(error) : 'ready';
    metrics?.launchEnded?.(result, steadyNow(clock) - startedMs, {
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

function madeNothing(error: unknown): boolean {
  return NOTHING_MADE.some((code) => isNodepoolError(error, code));
}

/** Runs the driver's state machine that makes an instance. Its id is stored in the node as soon as the cloud tells it. */
async function createInstance(
  work: LaunchWork,
  attempt: number,
  image: NodeImage,
  signal: AbortSignal,
  resumed?: ResumedCreation,
): Promise<Instance> {
  const machine = creationOf(work, attempt, image, resumed);
  let known = machine.state.externalId;
  try {
    const instance = await runMachine(machine, {
      ...work.runOptions(signal),
      saveExternalId: async (externalId, state) => {
        known = externalId;
        work.services.uncertain.end();
        work.order.created?.();
        // a launcher that is gone may have ordered it long ago
        if (!resumed) work.order.stageBegan?.('booting' satisfies LaunchStage);
        work.leftovers.add(externalId);
        work.progress = { ...work.progress, state, imageExternalId: image.externalId };
        await work.store({ ...image.fields, externalId, ...work.progressFields });
      },
    });
    if (typeof (instance as Instance | undefined)?.externalId !== 'string') {
      throw new Error(`machine "${machine.name}" ended without an instance: return done(instance)`);
    }
    work.leftovers.add(instance.externalId);
    if (known === undefined) work.madeAtOnce(instance, image);
    return instance;
  } catch (error) {
    if (known === undefined) work.unknownSinceMs = madeNothing(error) ? undefined : steadyNow(work.services.clock);
    else if (machine.state.externalId === undefined && machine.complete) await forgetInstance(work, known);
    throw error;
  }
}

/** The driver's state machine that makes an instance for the node. */
function creationOf(
  work: LaunchWork,
  attempt: number,
  image: NodeImage,
  resumed: ResumedCreation | undefined,
): ReturnType<Adapter['getCreateStateMachine']> {
  const { order, node, label, pool, logger } = work;
  return work.services.adapter.getCreateStateMachine({
    hostname: `np${order.node.id}`,
    label,
    pool,
    imageExternalId: image.externalId,
    metadata: work.tags(),
    request: order.request,
    node,
    az: node.az,
    attempt: resumed ? Math.max(2, attempt) : attempt,
    resumed: resumed && { state: resumed.state, orderedMs: resumed.orderedMs },
    logger,
  });
}

/** The cloud has an instance of this id that is not the node's, or none: it must not be deleted with the node. */
async function forgetInstance(work: LaunchWork, externalId: string): Promise<void> {
  work.leftovers.delete(externalId);
  work.progress = { ...work.progress, state: undefined };
  if (!work.storeError) await work.store({ externalId: null, ...work.progressFields });
}
