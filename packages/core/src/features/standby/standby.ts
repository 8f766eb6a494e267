import {
  backoffMs,
  isIdle,
  type CancelTimer,
  type NodeRecord,
  type RequestRecord,
  steadyNow,
} from '@nodepool/zk-protocol';
import type { Context } from '../../launcher/state/context.js';
import type { Occasion, Part } from '../../launcher/state/part.js';
import type { FreeNodesExplanation } from '../../launcher/plan/explanation.js';
import { MIN_READY_REQUESTOR } from '../../launcher/plan/candidates.js';
import type { PoolViews } from '../../launcher/view/pool-views.js';
import { ExpectedNodes } from './expected-nodes.js';
import type { Feature } from '../../launcher/nodes/feature.js';
import type { Levels } from './levels.js';
import {
  isOwnRequest,
  releaseOwnRequest,
  removeOwnRequest,
  requestNode,
} from '../../launcher/requests/own-requests.js';

const RETRY = { firstMs: 1_000, longestMs: 300_000 };
/** How long each launcher leaves missing nodes to the one before it, and all to those that do not count requests of others. */
const TURN_MS = 5_000;

interface LabelState {
  /** Number of requests that are being created, and that the mirror does not show yet. */
  creating: number;
  failures: number;
  /** Since when nodes are missing that no launcher has requested. Steady time. */
  missingSinceMs: number | undefined;
  /** The earliest time of the next request. Steady time. */
  notBeforeMs: number;
  cancel: CancelTimer | undefined;
}

/** Whether a request for a standby node of the label has not ended. */
function isWaiting({ requestor, labels, state }: RequestRecord, label: string): boolean {
  return requestor === MIN_READY_REQUESTOR && labels[0] === label && state !== 'fulfilled' && state !== 'failed';
}

/**
 * Keeps the free nodes that {@link Levels} wants: requests missing nodes at once, counting requests of all launchers, and
 * deallocates the nodes when they are ready.
 */
export class Standby implements Part {
  readonly #context: Context;
  readonly #views: PoolViews;
  readonly #levels: Levels;
  readonly #features: readonly Feature[];
  readonly #labels = new Map<string, LabelState>();
  readonly #expected: ExpectedNodes;
  readonly #unsubscribe: readonly (() => void)[];
  #dirty: Set<string> | undefined;
  #stopped = false;

  constructor(context: Context, views: PoolViews, levels: Levels, features: readonly Feature[]) {
    this.#context = context;
    this.#views = views;
    this.#levels = levels;
    this.#features = features;
    this.#expected = new ExpectedNodes(context);
    const { events } = context;
    this.#unsubscribe = [
      events.on('nodeChanged', ({ before, after }) => this.#nodeChanged(before, after)),
      events.on('requestChanged', ({ before, after }) => this.#requestChanged(before, after)),
      events.on('providerStarted', () => this.reconsider()),
      events.on('imageChanged', ({ provider }) => provider !== undefined && this.reconsider()),
      events.on('poolChanged', ({ before, after }) => {
        if (!before || !after) this.reconsider();
      }),
    ];
  }

  stop(): void {
    this.#stopped = true;
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const { cancel } of this.#labels.values()) cancel?.();
  }

  /** Checks all labels; each minute at once, to count the missing nodes that no launcher had requested. */
  reconsider(occasion?: Occasion): void {
    const labels = [...this.#context.config.now.labels.keys()];
    if (occasion !== 'minute') return labels.forEach((label) => this.check(label));
    const wanted = labels.filter((label) => this.#levels.wanted(label) > 0);
    const found = wanted.reduce((sum, label) => sum + this.#fill(label), 0);
    this.#context.metrics?.sweepFound('standby-node', found);
    void this.#expected
      .forgetUnread()
      .catch((error: unknown) =>
        this.#context.logger.debug('Could not compare the requests of standby nodes', { error }),
      );
  }

  /** Why so many nodes of a label are kept, for what is noteworthy: `standby`, what features say, and nodes that are requested. */
  explain(label: string): FreeNodesExplanation | undefined {
    const { mirror, config } = this.#context;
    const level = this.#levels.level(label);
    const notes = this.#features.flatMap((feature) => feature.explain?.(label) ?? []);
    const [asked, more] = [...mirror.requests.values()].filter((each) => isWaiting(each, label));
    if (asked)
      notes.push(`${more ? 'some are' : 'one is'} requested: nodepool explain ${asked.id} says what it waits for`);
    if (!level || (!config.now.labels.get(label)?.standby && notes.length === 0)) return undefined;
    return {
      ...{ label, ...level, decides: this.#levels.decides(label) },
      ready: mirror.idleCount(label),
      reason: [level.reason, ...notes].join('; '),
    };
  }

  /** Whether a node of the label is missing that no launcher has requested. */
  isMissing(label: string): boolean {
    return this.#missing(label) > 0;
  }

  /** Checks one label, once for all changes of a turn. */
  check(label: string): void {
    if (this.#stopped || this.#levels.wanted(label) <= 0) return;
    if (this.#dirty) {
      this.#dirty.add(label);
      return;
    }
    this.#dirty = new Set([label]);
    queueMicrotask(() => {
      const labels = this.#dirty ?? [];
      this.#dirty = undefined;
      for (const name of labels) this.#fill(name);
    });
  }

  /** @returns the number of nodes it requests */
  #fill(label: string): number {
    const state = this.#stateOf(label);
    const mayAsk = !this.#stopped && this.#context.life.isServing && this.#views.canLaunch(label);
    const missing = mayAsk ? this.#missing(label) : 0;
    if (missing === 0) {
      state.missingSinceMs = undefined;
      return 0;
    }
    const now = steadyNow(this.#context.clock);
    state.missingSinceMs ??= now;
    // launchers wake at the same moment, e.g. when a node is deleted: each gives those before it a turn, so that no two ask for one node
    const turns = this.#views.rankFor(label) + (this.#views.sharers(label).original ? 1 : 0);
    const pauseMs = Math.max(state.notBeforeMs, state.missingSinceMs) + turns * TURN_MS - now;
    if (pauseMs > 0) {
      this.#checkLater(label, pauseMs);
      return 0;
    }
    for (let i = 0; i < missing; i++) void this.#ask(label, state);
    return missing;
  }

  #missing(label: string): number {
    if (this.#levels.isLeftToOriginal(label)) return 0;
    const requested = this.#stateOf(label).creating + this.#expected.count(label);
    return Math.max(0, this.#levels.wanted(label) - this.#context.mirror.idleCount(label) - requested);
  }

  #checkLater(label: string, pauseMs: number): void {
    const state = this.#stateOf(label);
    if (state.cancel) return;
    state.cancel = this.#context.clock.setTimer(pauseMs, () => {
      state.cancel = undefined;
      this.check(label);
    });
  }

  async #ask(label: string, state: LabelState): Promise<void> {
    const { logger } = this.#context;
    state.creating++;
    try {
      const id = await requestNode(this.#context, label, null);
      this.#expected.requested(label, id);
      logger[state.failures === 0 ? 'info' : 'debug']('Asked for a standby node', { requestId: id, label });
    } catch (error) {
      logger.warn('Could not ask for a standby node', { label, error });
      this.#failed(label);
    } finally {
      state.creating--;
    }
  }

  #nodeChanged(before: NodeRecord | undefined, after: NodeRecord | undefined): void {
    if (!before) return;
    for (const label of before.labels) {
      if (isIdle(before) || this.#expected.includes(label, before.id)) this.check(label);
    }
    if (after || before.launchError !== null) return; // a launch that failed leaves no capacity behind
    for (const label of this.#labels.keys()) this.#retrySoon(label);
  }

  #requestChanged(before: RequestRecord | undefined, after: RequestRecord | undefined): void {
    const request = after ?? before;
    if (request?.requestor !== MIN_READY_REQUESTOR || request.provider !== null) return;
    const label = request.labels[0];
    if (label === undefined) return;
    if (!after) {
      void this.#expected.requestGone(label, request.id).then(() => this.check(label));
      return;
    }
    this.#expected.requested(label, request.id);
    if (!before) this.check(label); // it may supply the missing node
    if (!isOwnRequest(this.#context, after)) return;
    if (after.state === 'fulfilled') void this.#release(after, label);
    else if (after.state === 'failed') {
      this.#failed(label);
      void removeOwnRequest(this.#context, after);
    }
  }

  async #release(request: RequestRecord, label: string): Promise<void> {
    if (!(await releaseOwnRequest(this.#context, request))) return;
    const state = this.#stateOf(label);
    state.failures = 0;
    state.notBeforeMs = 0;
  }

  #failed(label: string): void {
    const state = this.#stateOf(label);
    const { clock, random } = this.#context;
    const now = steadyNow(clock);
    if (state.notBeforeMs > now) return;
    state.notBeforeMs = now + backoffMs(state.failures++, RETRY, random);
  }

  /** A node is gone, so there may be capacity: shortens a long pause. */
  #retrySoon(label: string): void {
    const state = this.#stateOf(label);
    if (state.failures === 0 || !state.cancel) return;
    const latestMs = steadyNow(this.#context.clock) + RETRY.firstMs;
    if (state.notBeforeMs <= latestMs) return;
    state.notBeforeMs = latestMs;
    state.cancel();
    state.cancel = undefined;
    this.check(label);
  }

  #stateOf(label: string): LabelState {
    let state = this.#labels.get(label);
    if (!state) {
      state = { creating: 0, failures: 0, missingSinceMs: undefined, notBeforeMs: 0, cancel: undefined };
      this.#labels.set(label, state);
    }
    return state;
  }
}
