import type { Resources } from '@nodepool/zk-protocol';
import type { PoolConfig, QuotaSupport } from '../../driver/types.js';
import type { Complaints } from './complaints.js';

const ONE_INSTANCE: Resources = Object.freeze({ instances: 1 });

/** A driver's quota that never throws: limits that make no sense are not known, so that requests wait. */
export class GuardedQuota implements QuotaSupport {
  readonly #quota: QuotaSupport;
  readonly #complaints: Complaints;
  /** Answers found to be in order: usually the same object is given again. */
  readonly #checked = new WeakSet<object>();

  constructor(quota: QuotaSupport, complaints: Complaints) {
    this.#quota = quota;
    this.#complaints = complaints;
  }

  quotaNeededByLabel(label: string, pool: PoolConfig): Resources {
    const ask = () => this.#quota.quotaNeededByLabel(label, pool);
    return this.#complaints.ask('quotaNeededByLabel', ONE_INSTANCE, ask, (need) => this.#isAmounts(need));
  }

  estimatedNodepoolQuota(): Resources | undefined {
    const ask = () => this.#quota.estimatedNodepoolQuota();
    const isAnswer = (limits: unknown) => limits === undefined || this.#isAmounts(limits);
    return this.#complaints.ask('estimatedNodepoolQuota', undefined, ask, isAnswer);
  }

  invalidateQuotaCache(): void {
    this.#complaints.ask('invalidateQuotaCache', undefined, () => this.#quota.invalidateQuotaCache());
  }

  #isAmounts(value: unknown): boolean {
    if (value === null || typeof value !== 'object') return false;
    if (this.#checked.has(value)) return true;
    if (value instanceof Promise || Array.isArray(value)) return false;
    const isSound = Object.values(value).every((amount) => typeof amount === 'number' && !Number.isNaN(amount));
    if (isSound) this.#checked.add(value);
    return isSound;
  }
}
