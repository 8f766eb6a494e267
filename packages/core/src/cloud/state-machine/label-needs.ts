import { isNodepoolError, type Clock, type Resources } from '@nodepool/zk-protocol';
import type { Logger } from '../../contract/logger.js';
import type { FoundCondition } from '../../contract/condition.js';
import { UnusableLabels } from './unusable-labels.js';
import { Refreshed } from './refreshed.js';
import type { Adapter, StateMachineLabelConfig, StateMachinePoolConfig, StateMachineProviderConfig } from './types.js';

/** What the needs of labels are taken from. */
export interface LabelNeedsOptions {
  readonly config: StateMachineProviderConfig;
  readonly adapter: Adapter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  /** A need became known, or a label usable or not. */
  readonly changed: () => void;
}

const ONE_INSTANCE: Resources = Object.freeze({ instances: 1 });
const NOTHING: Resources = Object.freeze({});
/** What makes a label unusable may be corrected at any time. */
const RETRY = { firstMs: 5_000, longestMs: 30_000 };

/**
 * What one node of each label needs. Asked once for each label and pool, and again after a launch that failed for what the
 * cloud lacks; a label that cannot work is an error label, and looked at again every 30 s at the latest.
 */
export class LabelNeeds {
  readonly #options: LabelNeedsOptions;
  /** By pool, then label. */
  readonly #needs = new Map<string, Map<string, Refreshed<Resources>>>();
  readonly #unusable: UnusableLabels;
  /** Labels that the cloud could not be asked for at the last look, which was said. */
  readonly #unknown = new Set<string>();
  #errorLabels: ReadonlySet<string> = new Set();
  #unsettled = 0;

  constructor(options: LabelNeedsOptions) {
    this.#options = options;
    this.#unusable = new UnusableLabels(options.config.name, options.clock);
  }

  /** Begins to ask for the need of every label. */
  start(): void {
    const { adapter, config } = this.#options;
    if (!adapter.getQuotaForLabel) return;
    const all: Refreshed<Resources>[] = [];
    for (const pool of config.pools.values()) {
      const ofPool = new Map<string, Refreshed<Resources>>();
      this.#needs.set(pool.name, ofPool);
      for (const label of pool.labels.values()) {
        const need = this.#makeNeed(pool, label);
        ofPool.set(label.name, need);
        all.push(need);
      }
    }
    this.#unsettled = all.length;
    for (const need of all) need.refresh();
  }

  /** True once each label has been asked for, even without success. */
  get settled(): boolean {
    return this.#unsettled === 0;
  }

  /** Labels that can never work as things are. */
  get errorLabels(): ReadonlySet<string> {
    return this.#errorLabels;
  }

  /** Why they cannot. */
  get conditions(): readonly FoundCondition[] {
    return this.#unusable.all;
  }

  /** Asks for all labels again. */
  refresh(): void {
    for (const need of this.#all()) need.refresh();
  }

  /** What one node of each label needs, as far as it is known. */
  get each(): Resources[] {
    const known = [...this.#all()].map(({ value }) => value ?? ONE_INSTANCE);
    return known.length > 0 ? known : [ONE_INSTANCE];
  }

  /** A launch failed for something that the cloud does not have: asks again. */
  recheck(label: string, pool: string): void {
    this.#needs.get(pool)?.get(label)?.refresh();
  }

  /** Need of one node; one instance while it is not known, nothing for labels that cannot work. */
  of(label: string, pool: string): Resources {
    if (this.#unusable.has(pool, label)) return NOTHING;
    return this.#needs.get(pool)?.get(label)?.value ?? ONE_INSTANCE;
  }

  stop(): void {
    for (const need of this.#all()) need.stop();
  }

  *#all(): Generator<Refreshed<Resources>> {
    for (const ofPool of this.#needs.values()) yield* ofPool.values();
  }

  #makeNeed(pool: StateMachinePoolConfig, label: StateMachineLabelConfig): Refreshed<Resources> {
    const { adapter, clock, random } = this.#options;
    let isFirst = true;
    return new Refreshed<Resources>({
      clock,
      random,
      lifeMs: undefined,
      retry: RETRY,
      fetch: async (signal) => (await adapter.getQuotaForLabel?.(label, pool, signal)) ?? ONE_INSTANCE,
      onFetched: (error) => {
        if (isFirst) this.#unsettled--;
        isFirst = false;
        this.#asked(pool, label, error);
      },
    });
  }

  /** An answer that is no answer leaves what was known of the label. */
  #asked(pool: StateMachinePoolConfig, label: StateMachineLabelConfig, error: unknown): void {
    const { logger, changed } = this.#options;
    const fields = { pool: pool.name, label: label.name };
    const key = JSON.stringify(fields);
    const isUnusable = isNodepoolError(error, 'NODEPOOL_CONFIG');
    if (error !== undefined && !isUnusable) {
      if (!this.#unknown.has(key)) {
        logger.warn('Need of a label is not known; counting one instance', { ...fields, error });
      }
      this.#unknown.add(key);
    } else {
      this.#unknown.delete(key);
      const isNews = this.#unusable.set(pool.name, label.name, isUnusable ? error : undefined);
      if (isNews && isUnusable) logger.error('Label cannot be used; its requests are declined', { ...fields, error });
      else if (isNews) logger.info('Label can be used again', fields);
      this.#errorLabels = new Set(this.#unusable.all.map(({ evidence }) => String(evidence.label)));
    }
    changed();
  }
}
