import { isZooKeeperError, type NodeRecord, type RequestRecord } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import type { NodeRequestHandler } from '../../contract/driver.js';
import type { RequestOutcome } from '../../contract/request-outcome.js';
import type { Services } from '../mirror/services.js';
import type { PausedRequest } from '../plan/plan-pool.js';
import { reason } from '../plan/candidates.js';
import { isProbe } from '../plan/health-rules.js';
import type { Assignment } from '../plan/types.js';
import { decline } from './decline.js';
import { fulfilWith } from './fulfil.js';
import type { HandlerPool } from './handler-pool.js';
import { RequestWork } from './request-work.js';
import type { Step } from './stage.js';
import { runStage } from './stages.js';

/** Works one request for one pool, stage by stage: collects its nodes and fulfils it. */
export class RequestHandler {
  /** The session everything of this handler belongs to. */
  readonly epoch: number;
  readonly #work: RequestWork;

  /** @param driver - the running provider's side of the request */
  constructor(services: Services, pool: HandlerPool, request: RequestRecord, driver: NodeRequestHandler) {
    this.epoch = services.zk.sessionEpoch;
    this.#work = new RequestWork(services, pool, request, driver, this, fulfilWith);
  }

  /** The request as last written or read. */
  get request(): RequestRecord {
    return this.#work.request;
  }

  /** Whether the driver would have a node serve this request. */
  acceptsNode(node: NodeRecord): boolean {
    return this.#work.nodes.isAccepted(node);
  }

  /** What the request still lacks while it waits for capacity. */
  get paused(): PausedRequest | undefined {
    const { isPaused, request, parts, launches } = this.#work;
    return isPaused ? { request, missing: parts.missingLabels(), az: launches.az } : undefined;
  }

  /** The process stops: a request that waits for capacity is better served by another launcher. */
  putBackIfPaused(): void {
    this.#work.tell('draining');
  }

  /** Nothing the request waits for will ever come: it is put back, to be judged anew. */
  giveUp(): void {
    this.#work.tell('hopeless');
  }

  /** The request's znode is gone. Of a probe nothing is kept: its launch is broken off. */
  requestGone(): void {
    const work = this.#work;
    const isBrokenOff = isProbe(work.request) && work.parts.has('working') && !work.isFulfilled;
    if (isBrokenOff) work.abandon(new Error('the probe was withdrawn'));
    else work.tell('gone');
  }

  /** Capacity for a paused request. Nodes named must be claimed in the mirror by the caller. */
  resume(assignment: Assignment): void {
    this.#work.resume(assignment);
  }

  /** The session is over, or the process ends now: stop without touching anything. */
  abandon(cause: Error): void {
    this.#work.abandon(cause);
  }

  /**
   * Does the work. Never rejects. Nodes named by the assignment must be claimed in the mirror by the caller, in the name
   * of this handler; the handler gives the claims back.
   */
  async run(assignment: Assignment): Promise<RequestOutcome> {
    try {
      let step: Step = { name: 'accepting', assignment };
      while (step.name !== 'ended') step = await runStage(step, this.#work);
      return step.outcome;
    } catch (error) {
      return await this.#escape(error);
    } finally {
      this.#work.close();
    }
  }

  async #escape(error: unknown): Promise<RequestOutcome> {
    const work = this.#work;
    const { abandonedFor, logger } = work;
    if (work.isFulfilled) return 'fulfilled'; // whatever came after it
    if (abandonedFor || isZooKeeperError(error)) {
      const cause = abandonedFor ?? error;
      logger.warn('Abandoned request', { error: cause });
      work.abandon(cause as Error);
      await work.launches.settled();
      return 'abandoned';
    }
    logger.error('Declining request after an unexpected error', { error });
    if (!work.isHeld) return 'busy';
    work.abandon(asError(error)); // what is being made is made, and given back with the rest
    if (!(await work.launches.settled())) return 'abandoned';
    try {
      const text = `unexpected error: ${asError(error).message}`;
      const why = reason('label-unavailable', text, "see the launcher's log");
      return (await decline(work, why, null)).outcome;
    } catch (second) {
      logger.error('Could not decline request', { error: second });
      return 'abandoned';
    }
  }
}
