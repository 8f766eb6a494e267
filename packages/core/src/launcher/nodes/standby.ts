import { backoffMs, isZooKeeperError, type CancelTimer, type RequestRecord } from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import { planStandby } from '../plan/nodes.js';
import { MIN_READY_REQUESTOR } from '../plan/rules.js';
import type { PoolViews } from '../view/pool-views.js';
import { ExpectedNodes } from './expected-nodes.js';
import { StandbyRequests } from './standby-requests.js';

const RETRY = { firstMs: 1_000, longestMs: 300_000 };
/** How long launchers that are not the first leave the first one to act. */
const OTHERS_TURN_MS = 5_000;
/** No node is asked for before no pool has been added for this long: launchers that start together must see each other. */
const REGISTRY_REST_MS = 300;

interface LabelState {
  /** Requests sent that the mirror does not show yet. */
  creating: number;
  failures: number;
  /** Since when nodes are missing that no launcher has asked for. */
  missingSinceMs: number | undefined;
  /** Not before this time. */
  notBeforeMs: number;
  cancel: CancelTimer | undefined;
}

/**
 * Keeps `min-ready` nodes of each label on standby: asks for what is missing as soon as it is missing, counting what
 * others have asked for, and hands the nodes over to everybody when they are ready.
 */
export class MinReady {
  readonly #context: Context;
  readonly #views: PoolViews;
  readonly #requests: StandbyRequests;
  readonly #labels = new Map<string, LabelState>();
  readonly #expected: ExpectedNodes;
  readonly #unsubscribe: readonly (() => void)[];
  #dirty: Set<string> | undefined;
  #stopped = false;
  #poolAddedMs = -Infinity;

  constructor(context: Context, views: PoolViews) {
    this.#context = context;
    this.#views = views;
    this.#requests = new StandbyRequests(context);
    this.#expected = new ExpectedNodes(context);
    const { events, mirror } = context;
    const endListening = mirror.listen({
      onNode: ({ before, after }) => {
        for (const label of before?.labels ?? []) {
          if (before?.state === 'ready' || (before && this.#expected.includes(label, before.id))) this.check(label);
        }
        if (before && !after) for (const label of this.#labels.keys()) this.#hurry(label);
      },
      onRequest: ({ before, after }) => this.#requestChanged(before, after),
    });
    this.#unsubscribe = [
      endListening,
      events.on('providerStarted', () => this.checkAll()),
      events.on('uploadsChanged', () => this.checkAll()),
    ];
  }

  stop(): void {
    this.#stopped = true;
    this.#requests.stop();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const { cancel } of this.#labels.values()) cancel?.();
  }

  /** A pool was added to the registry. */
  poolAdded(): void {
    this.#poolAddedMs = this.#context.clock.now();
  }

  /** Looks at all labels: at the start, after a reload, and periodically in case an event was missed. */
  checkAll(): void {
    for (const label of this.#context.config.now.labels.values()) if (label.minReady > 0) this.check(label.name);
  }

  /**
   * Looks at all labels now, in case an event was missed.
   * @returns how many nodes were missing that no launcher had asked for
   */
  sweep(): number {
    let found = 0;
    for (const label of this.#context.config.now.labels.values())
      if (label.minReady > 0) found += this.#fill(label.name);
    return found;
  }

  /** Whether a node of the label is missing that no launcher has asked for. */
  isMissing(label: string): boolean {
    return this.#missing(label) > 0;
  }

  /** Looks at one label, once for everything that happens in this turn. */
  check(label: string): void {
    if (this.#stopped || (this.#context.config.now.labels.get(label)?.minReady ?? 0) <= 0) return;
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

  /** @returns how many nodes it asks for */
  #fill(label: string): number {
    if (this.#stopped || !this.#context.life.isServing || !this.#views.canLaunch(label)) return 0;
    const state = this.#stateOf(label);
    const missing = this.#missing(label);
    if (missing === 0) {
      state.missingSinceMs = undefined;
      return 0;
    }
    const now = this.#context.clock.now();
    state.missingSinceMs ??= now;
    // launchers that are not the first wait, so that no two ask for the same nodes
    const othersTurnMs = this.#views.isFirstFor(label) ? 0 : state.missingSinceMs + OTHERS_TURN_MS - now;
    const pauseMs = Math.max(state.notBeforeMs - now, this.#registryRestMs(), othersTurnMs);
    if (pauseMs > 0) {
      this.#checkLater(label, pauseMs);
      return 0;
    }
    for (let i = 0; i < missing; i++) void this.#ask(label, state);
    return missing;
  }

  #missing(label: string): number {
    const wanted = this.#context.config.now.labels.get(label)?.minReady ?? 0;
    const free = this.#context.mirror.standbyCount(label);
    return planStandby(wanted, { free, asked: this.#stateOf(label).creating + this.#expected.count(label) });
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
      const id = await this.#requests.ask(label, null);
      this.#expected.requested(label, id);
      logger.info('Asked for a standby node', { requestId: id, label });
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
      logger.warn('Could not ask for a standby node', { label, error });
      this.#failed(label);
    } finally {
      state.creating--;
    }
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
    if (!before) this.check(label); // what was missing may not be missing any more
    if (!this.#requests.isOwn(after)) return;
    if (after.state === 'fulfilled') void this.#handOver(after, label);
    else if (after.state === 'failed') void this.#giveUp(after, label);
  }

  async #handOver(request: RequestRecord, label: string): Promise<void> {
    if (!(await this.#requests.handOver(request))) return;
    const state = this.#stateOf(label);
    state.failures = 0;
    state.notBeforeMs = 0;
  }

  async #giveUp(request: RequestRecord, label: string): Promise<void> {
    this.#failed(label);
    await this.#requests.remove(request);
  }

  #failed(label: string): void {
    const state = this.#stateOf(label);
    const { clock, random } = this.#context;
    const now = clock.now();
    if (state.notBeforeMs > now) return;
    state.notBeforeMs = now + backoffMs(state.failures++, RETRY, random);
  }

  /** A node went: there may be capacity now. */
  #hurry(label: string): void {
    const state = this.#stateOf(label);
    if (state.failures === 0 || !state.cancel) return;
    const latestMs = this.#context.clock.now() + RETRY.firstMs;
    if (state.notBeforeMs <= latestMs) return;
    state.notBeforeMs = latestMs;
    state.cancel();
    state.cancel = undefined;
    this.check(label);
  }

  #registryRestMs(): number {
    return this.#poolAddedMs + REGISTRY_REST_MS - this.#context.clock.now();
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
