import { isNodepoolError, type Clock } from '@nodepool/zk-protocol';
import { ConfigError } from '../../contract/errors.js';
import type { Logger } from '../../contract/logger.js';
import type { ImageSource } from '../../contract/images.js';
import { NEVER_ABORTED } from '../../async/never-aborted.js';
import type { FoundCondition } from '../../contract/condition.js';
import { UnusableLabels } from './unusable-labels.js';
import { imageOfLabel } from './node-fields.js';
import { Refreshed } from './refreshed.js';
import type { Adapter, StateMachineLabelConfig, StateMachinePoolConfig, StateMachineProviderConfig } from './types.js';

const LIFE_MS = 300_000;
/** What a label lacks may be there at any time. */
const RETRY = { firstMs: 5_000, longestMs: 30_000 };

/** What the readiness of labels is taken from. */
export interface LabelReadinessOptions {
  readonly config: StateMachineProviderConfig;
  readonly adapter: Adapter;
  readonly images: ImageSource | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  /** A label may have become ready. */
  readonly changed: () => void;
}

/**
 * Whether the prerequisites of labels exist. An adapter that has to ask its cloud is asked in the background: a label is
 * ready until the answer is no, and asked for again while it is not.
 */
export class LabelReadiness {
  readonly #options: LabelReadinessOptions;
  readonly #answers = new Map<string, Refreshed<boolean>>();
  readonly #missing: UnusableLabels;

  constructor(options: LabelReadinessOptions) {
    this.#options = options;
    this.#missing = new UnusableLabels(options.config.name, options.clock);
  }

  /** Labels whose prerequisites do not exist. */
  get conditions(): readonly FoundCondition[] {
    return this.#missing.all;
  }

  isReady(poolName: string, labelName: string): boolean {
    const { config, images, adapter } = this.#options;
    const pool = config.pools.get(poolName);
    const label = pool?.labels.get(labelName);
    if (!pool || !label) return false;
    if (label.diskimage !== undefined && !imageOfLabel(config, label, images)) return false;
    return adapter.labelReady ? this.#ask(pool, label) : true;
  }

  /** Asks for all labels again. */
  refresh(): void {
    for (const answer of this.#answers.values()) answer.refresh();
  }

  /** A launch failed for something that the cloud does not have: asks again. */
  recheck(label: string, pool: string): void {
    this.#answers.get(keyOf(pool, label))?.refresh();
  }

  stop(): void {
    for (const answer of this.#answers.values()) answer.stop();
  }

  #ask(pool: StateMachinePoolConfig, label: StateMachineLabelConfig): boolean {
    const key = keyOf(pool.name, label.name);
    const known = this.#answers.get(key);
    if (known) {
      void known.value;
      return !this.#missing.has(pool.name, label.name);
    }
    const first = this.#options.adapter.labelReady?.(label, pool, NEVER_ABORTED) ?? true;
    if (typeof first === 'boolean') return first;
    this.#follow(key, pool, label, first);
    return true;
  }

  #follow(key: string, pool: StateMachinePoolConfig, label: StateMachineLabelConfig, first: Promise<boolean>): void {
    const { adapter, clock, random, logger, changed } = this.#options;
    let pending: Promise<boolean> | undefined = first;
    let wasUnanswered = false;
    const answer = new Refreshed<boolean>({
      clock,
      random,
      lifeMs: LIFE_MS,
      retry: RETRY,
      fetch: async (signal) => {
        const asked = pending ?? adapter.labelReady?.(label, pool, signal) ?? true;
        pending = undefined;
        if (!(await asked)) throw new ConfigError(`what label "${label.name}" needs does not exist in the cloud`);
        return true;
      },
      onFetched: (error) => {
        const isMissing = isNodepoolError(error, 'NODEPOOL_CONFIG');
        const isUnanswered = error !== undefined && !isMissing;
        if (isUnanswered && !wasUnanswered) {
          logger.warn('Failed to find out whether a label is ready', { pool: pool.name, label: label.name, error });
        }
        wasUnanswered = isUnanswered;
        if (isUnanswered) return;
        const wasMissing = this.#missing.has(pool.name, label.name);
        const isNews = this.#missing.set(pool.name, label.name, isMissing ? error : undefined);
        const fields = { pool: pool.name, label: label.name };
        if (isNews && isMissing) logger.warn('Label is not ready', { ...fields, error });
        else if (isNews) logger.info('Label is ready again', fields);
        if (wasMissing !== isMissing) changed();
      },
    });
    this.#answers.set(key, answer);
    answer.refresh();
  }
}

function keyOf(pool: string, label: string): string {
  return JSON.stringify([pool, label]);
}
