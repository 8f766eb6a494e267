import { setMaxListeners } from 'node:events';
import {
  backoffMs,
  type CancelTimer,
  type Clock,
  type NodeRecord,
  type Resources,
  steadyNow,
} from '@nodepool/zk-protocol';
import type { ProviderContext, QuotaSupport } from '../../contract/driver.js';
import type { PoolConfig } from '../../contract/provider-config.js';
import type { Logger } from '../../contract/logger.js';
import type { InstanceList } from '../operations/instance-list.js';
import { DATABASE_ID_TAG, NODE_ID_TAG, PROVIDER_TAG, type Instance } from '../../contract/instance.js';
import { startDeadline } from '../../async/deadline.js';
import { isOfNode } from '../ownership/ownership.js';
import type { LabelNeeds } from './label-needs.js';
import { QuotaEstimate } from './quota-estimate.js';
import { Refreshed } from './refreshed.js';
import type { Adapter } from './types.js';

/** Sources of a provider's quota. */
export interface ProviderQuotaOptions {
  readonly provider: string;
  readonly databaseId: string | undefined;
  readonly adapter: Adapter;
  readonly instances: InstanceList;
  readonly needs: LabelNeeds;
  /** Whatever else has to be known before launches make sense is known. */
  readonly settled: () => boolean;
  readonly nodes: ProviderContext['nodes'];
  readonly ownNodes: () => Iterable<NodeRecord>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  /** Something is known that waiting requests have waited for. */
  readonly changed: () => void;
}

const LIFE_MS = 300_000;
/** Limits are read again so soon while one node of a label does not fit: they may be raised, or others may leave. */
const SHORT_LIFE_MS = 30_000;
const RETRY = { firstMs: 1_000, longestMs: 60_000 };
/** After a launch ran into the quota: how long nothing is tried; grows while that repeats. */
const PAUSE = { firstMs: 250, longestMs: 30_000 };
/** How long a leaked instance is waited for after it was told to go. */
const RELEASE_TIMEOUT_MS = 600_000;
/** After so long without a list of instances no more are made. */
const BLIND_AFTER_MS = 120_000;

/**
 * Remaining quota for our nodes: the limits of the cloud minus the usage by foreign instances. Refreshed in the background, and
 * when a foreign instance disappears. Unknown after a launch has proved it wrong, so that requests wait.
 */
export class ProviderQuota implements QuotaSupport {
  readonly #options: ProviderQuotaOptions;
  readonly #estimate: Refreshed<QuotaEstimate>;
  readonly #unsubscribe: () => void;
  readonly #stop = new AbortController();
  /** Last fetched estimate; `#estimate` has it a moment later. */
  #latest: QuotaEstimate | undefined;
  #cancelPause: CancelTimer | undefined;
  /** Limits were proved wrong and are being fetched again. */
  #invalid = false;
  #refusals = 0;
  /** A check whether the cloud lists its instances again is running. */
  #isProbing = false;
  /** Counts invalidations: limits read before an invalidation do not end it. */
  #generation = 0;
  #fetchedGeneration = 0;

  constructor(options: ProviderQuotaOptions) {
    setMaxListeners(0, this.#stop.signal); // one for each leaked instance that is waited for
    this.#options = options;
    const { clock, random, logger } = options;
    this.#estimate = new Refreshed<QuotaEstimate>({
      clock,
      random,
      lifeMs: LIFE_MS,
      retry: RETRY,
      fetch: (signal) => this.#fetch(signal),
      onFetched: (error) => {
        if (error !== undefined) logger.error('Quota could not be read', { error });
        else if (this.#isTooLow) this.#estimate.refresh(SHORT_LIFE_MS);
        if (this.#fetchedGeneration === this.#generation) this.#invalid = false;
        options.changed();
      },
    });
    this.#unsubscribe = options.instances.onLearned((externalId) => this.#learned(externalId));
  }

  /** Begins to read the limits. */
  start(): void {
    this.refresh();
  }

  /** Reads the limits again; the present ones are used meanwhile. */
  refresh(): void {
    if (this.#options.adapter.getQuotaLimits) this.#estimate.refresh();
  }

  /** The limits, without what others use, allow no node of one of the labels. */
  get #isTooLow(): boolean {
    return this.#options.needs.each.some((need) => this.#latest?.allows(need) === false);
  }

  stop(): void {
    this.#cancelPause?.();
    this.#unsubscribe();
    this.#stop.abort(new Error('the provider stops'));
    this.#estimate.stop();
  }

  quotaNeededByLabel(label: string, pool: PoolConfig): Resources {
    return this.#options.needs.of(label, pool.name);
  }

  estimatedNodepoolQuota(): Resources | undefined {
    const { adapter, needs, settled } = this.#options;
    if (!needs.settled || !settled() || this.#invalid || this.#isBlind) return undefined;
    return adapter.getQuotaLimits ? this.#estimate.value?.left : UNLIMITED;
  }

  unmanagedQuotaUsed(): Resources {
    return this.#latest?.unmanagedUsed ?? {};
  }

  /**
   * The cloud has not shown its instances for a while: what is launched now could not be seen either. Looked at until it
   * does, as no other part may be looking.
   */
  get #isBlind(): boolean {
    if (this.#options.instances.overdueMs < BLIND_AFTER_MS) return false;
    if (!this.#isProbing) void this.#untilSeen();
    return true;
  }

  async #untilSeen(): Promise<void> {
    const { instances, logger, changed } = this.#options;
    let isSaid = false;
    this.#isProbing = true;
    while (instances.overdueMs > 0 && !this.#stop.signal.aborted) {
      await instances.list(instances.mark(), this.#stop.signal).catch(() => undefined); // seen in `overdueMs`
      if (isSaid || instances.overdueMs === 0 || this.#stop.signal.aborted) continue;
      // not said before a look has failed now: it may be long ago that anybody had to look
      isSaid = true;
      const sinceMs = instances.overdueMs;
      logger.error('The cloud does not show its instances; no new ones are made until it does', { sinceMs });
    }
    this.#isProbing = false;
    if (this.#stop.signal.aborted) return;
    if (isSaid) logger.info('The cloud shows its instances again');
    changed();
  }

  invalidateQuotaCache(): void {
    if (this.#invalid || this.#stop.signal.aborted) return;
    this.#invalid = true;
    this.#generation++;
    const { clock, random, adapter, changed } = this.#options;
    const pauseMs = backoffMs(this.#refusals++, PAUSE, random);
    if (adapter.getQuotaLimits) {
      this.#estimate.refresh(pauseMs);
      return;
    }
    this.#cancelPause = clock.setTimer(pauseMs, () => {
      this.#invalid = false;
      changed();
    });
  }

  /** A launch succeeded: the estimate was not that wrong. */
  launchSucceeded(): void {
    this.#refusals = 0;
  }

  /**
   * A leaked resource was told to go. What an instance used is free when it is seen to be gone, which is looked for; of
   * other resources only the cloud can notify, so it is asked.
   */
  leakDeleted(id: string): void {
    if (!this.#options.adapter.getQuotaLimits || this.#stop.signal.aborted) return;
    if (!isGone(this.#options.instances.lastSeen(id))) void this.#awaitRelease(id);
    else if (!this.#invalid) this.#estimate.refresh();
  }

  /** Keeps an instance under observation until it is gone; what the list learns of it by that is seen in `#learned`. */
  async #awaitRelease(externalId: string): Promise<void> {
    const { clock, instances, logger } = this.#options;
    const sinceMs = steadyNow(clock);
    const deadline = startDeadline(clock, RELEASE_TIMEOUT_MS, this.#stop.signal);
    try {
      while (!isGone(instances.lastSeen(externalId))) await instances.news(externalId, sinceMs, deadline.signal);
    } catch (error) {
      // otherwise the provider stops, and its successor reads the quota
      if (deadline.expired) logger.warn('Leaked instance still exists after its deletion', { externalId, error });
    } finally {
      deadline.end();
    }
  }

  #learned(externalId: string | undefined): void {
    const { instances, changed } = this.#options;
    const estimate = this.#latest;
    if (!estimate) return;
    let isMore = false;
    for (const id of externalId === undefined ? estimate.unmanaged : [externalId]) {
      if (isGone(instances.lastSeen(id)) && estimate.release(id)) isMore = true;
    }
    if (isMore) changed();
  }

  async #fetch(signal: AbortSignal): Promise<QuotaEstimate> {
    const { adapter, instances, nodes, ownNodes } = this.#options;
    this.#fetchedGeneration = this.#generation;
    // A node deleted while the list is on its way was ours all the same.
    const before = new Map<string, NodeRecord>();
    for (const node of ownNodes()) before.set(node.id, node);
    const [limits, listed] = await Promise.all([
      adapter.getQuotaLimits?.(signal),
      instances.list(instances.mark(), signal),
    ]);
    const unmanaged = new Map<string, Resources>();
    for (const instance of listed) {
      const { externalId, resources } = instance;
      if (isGone(instances.lastSeen(externalId))) continue; // it may have gone while the limits were on their way
      if (this.#isOurs(instance, (id) => before.get(id) ?? nodes.get(id))) continue;
      unmanaged.set(externalId, resources ?? { instances: 1 });
    }
    this.#latest = new QuotaEstimate(withoutUnlimited(limits ?? UNLIMITED), unmanaged);
    return this.#latest;
  }

  #isOurs({ metadata }: Instance, recordOf: (nodeId: string) => NodeRecord | undefined): boolean {
    const node = recordOf(metadata[NODE_ID_TAG] ?? '');
    const { provider, databaseId } = this.#options;
    if ((metadata[DATABASE_ID_TAG] ?? databaseId) !== databaseId) return false; // another database has nodes of this number
    return metadata[PROVIDER_TAG] === provider && node !== undefined && isOfNode(metadata, node);
  }
}

function isGone(instance: Instance | undefined): boolean {
  return instance === undefined || instance.deleted;
}

/** Many clouds write -1 where there is no limit. */
function withoutUnlimited(limits: Resources): Resources {
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => !(limit < 0)));
}

const UNLIMITED: Resources = Object.freeze({});
