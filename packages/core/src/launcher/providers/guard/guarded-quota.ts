import type { Resources } from '@nodepool/zk-protocol';
import type { QuotaSupport } from '../../../contract/driver.js';
import type { PoolConfig } from '../../../contract/provider-config.js';
import type { ContractViolationLog } from './contract-violation-log.js';

const ONE_INSTANCE: Resources = Object.freeze({ instances: 1 });

/**
 * A driver's quota that never throws: limits that make no sense are not known, so that requests wait. Limits are what is
 * left of them after others' use, so they may be negative: others have taken more than there is. A need may not.
 */
export class GuardedQuota implements QuotaSupport {
  readonly #quota: QuotaSupport;
  readonly #violations: ContractViolationLog;
  /** Answers found to be in order: usually the same object is given again. */
  readonly #soundNeeds = new WeakSet<object>();
  readonly #soundLimits = new WeakSet<object>();

  constructor(quota: QuotaSupport, violations: ContractViolationLog) {
    this.#quota = quota;
    this.#violations = violations;
  }

  quotaNeededByLabel(label: string, pool: PoolConfig): Resources {
    const ask = () => this.#quota.quotaNeededByLabel(label, pool);
    return this.#violations.ask('quotaNeededByLabel', ONE_INSTANCE, ask, (need) =>
      isAmounts(need, this.#soundNeeds, isNeed),
    );
  }

  estimatedNodepoolQuota(): Resources | undefined {
    const ask = () => this.#quota.estimatedNodepoolQuota();
    const isAnswer = (limits: unknown) => limits === undefined || isAmounts(limits, this.#soundLimits, isLimit);
    return this.#violations.ask('estimatedNodepoolQuota', undefined, ask, isAnswer);
  }

  invalidateQuotaCache(): void {
    this.#violations.ask('invalidateQuotaCache', undefined, () => this.#quota.invalidateQuotaCache());
  }
}

const isNeed = (amount: number) => Number.isFinite(amount) && amount >= 0;
const isLimit = (amount: number) => amount > -Infinity;

/** @param sound - answers that need not be looked at again */
function isAmounts(value: unknown, sound: WeakSet<object>, isAmount: (amount: number) => boolean): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (sound.has(value)) return true;
  if (value instanceof Promise || Array.isArray(value)) return false;
  const isSound = Object.values(value).every((amount) => typeof amount === 'number' && isAmount(amount));
  if (isSound) sound.add(value);
  return isSound;
}
