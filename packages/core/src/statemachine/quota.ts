import type { CancelTimer, Clock, NodeRecord, Resources } from '@nodepool/zk-protocol';
import type { PoolConfig, ProviderContext, QuotaSupport } from '../driver/types.js';
import type { Logger } from '../logger.js';
import { backoffMs } from '../lifecycle/backoff.js';
import type { InstanceList } from '../operations/instance-list.js';
import { NODE_ID_TAG, PROVIDER_TAG, type Instance } from '../operations/instance.js';
import { accumulate, subtractFromLimit } from '../plan/resources.js';
import type { LabelNeeds } from './label-needs.js';
import { Refreshed } from './refreshed.js';
import type { Adapter } from './types.js';

/** What the quota of a provider is made of. */
export interface ProviderQuotaOptions {
  readonly provider: string;
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
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
/** After a launch ran into the quota: how long nothing is tried; grows while it goes on like that. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

/**
 * What is left of a cloud's limits for our nodes: the limits minus the use by instances that are not ours. Refreshed in
 * the background; while a launch has just proved it wrong it is unknown, so that requests wait.
 */
export class ProviderQuota implements QuotaSupport {
  readonly #options: ProviderQuotaOptions;
  readonly #estimate: Refreshed<Resources>;
  #cancelPause: CancelTimer | undefined;
  /** Limits were proved wrong and are being fetched again. */
  #invalid = false;
  #refusals = 0;
  #stopped = false;
  /** Counts invalidations: limits read before one do not end it. */
  #generation = 0;
  #fetchedGeneration = 0;

  constructor(options: ProviderQuotaOptions) {
    this.#options = options;
    const { clock, random, logger } = options;
    this.#estimate = new Refreshed<Resources>({
      clock,
      random,
      lifeMs: LIFE_MS,
      firstRetryMs: FIRST_RETRY_MS,
      longestRetryMs: LONGEST_RETRY_MS,
      fetch: (signal) => this.#fetch(signal),
      onFetched: (error) => {
        if (error !== undefined) logger.error('Quota could not be read', { error });
        if (this.#fetchedGeneration === this.#generation) this.#invalid = false;
        options.changed();
      },
    });
  }

  /** Begins to read the limits. */
  start(): void {
    if (this.#options.adapter.getQuotaLimits) this.#estimate.refresh();
  }

  stop(): void {
    this.#cancelPause?.();
    this.#stopped = true;
    this.#estimate.stop();
  }

  quotaNeededByLabel(label: string, pool: PoolConfig): Resources {
    return this.#options.needs.of(label, pool.name);
  }

  estimatedNodepoolQuota(): Resources | undefined {
    const { adapter, needs, settled } = this.#options;
    if (!needs.settled || !settled() || this.#invalid) return undefined;
    return adapter.getQuotaLimits ? this.#estimate.value : UNLIMITED;
  }

  invalidateQuotaCache(): void {
    if (this.#invalid || this.#stopped) return;
    this.#invalid = true;
    this.#generation++;
    const { clock, random, adapter, changed } = this.#options;
    const pauseMs = backoffMs(this.#refusals++, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, random);
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

  async #fetch(signal: AbortSignal): Promise<Resources> {
    const { adapter, instances, nodes, ownNodes } = this.#options;
    this.#fetchedGeneration = this.#generation;
    // A node deleted while the list is on its way was ours all the same.
    const before = new Set<string>();
    for (const node of ownNodes()) before.add(node.id);
    const [limits, listed] = await Promise.all([
      adapter.getQuotaLimits?.(signal),
      instances.list(instances.mark(), signal),
    ]);
    const unmanaged: Resources = {};
    for (const instance of listed) {
      if (instance.deleted || this.#isOurs(instance, (id) => before.has(id) || nodes.get(id) !== undefined)) continue;
      accumulate(unmanaged, instance.resources ?? { instances: 1 });
    }
    return subtractFromLimit(limits ?? UNLIMITED, unmanaged);
  }

  #isOurs({ metadata }: Instance, isKnown: (nodeId: string) => boolean): boolean {
    const nodeId = metadata[NODE_ID_TAG];
    return metadata[PROVIDER_TAG] === this.#options.provider && nodeId !== undefined && isKnown(nodeId);
  }
}

const UNLIMITED: Resources = Object.freeze({});
