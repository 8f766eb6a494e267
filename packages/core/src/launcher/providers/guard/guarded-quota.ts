import type { Resources } from '@nodepool/zk-protocol';
import type { QuotaSupport } from '../../../contract/driver.js';
import type { DriverScope } from './driver-scope.js';

const ONE_INSTANCE: Resources = Object.freeze({ instances: 1 });
const NOTHING: Resources = Object.freeze({});

/**
 * A driver's quota that never throws. Invalid limits count as unknown, so that requests wait. Limits may be negative, since
 * they are net of foreign use, which can exceed the quota; a need may not.
 */
export function guardQuota(quota: QuotaSupport, scope: DriverScope): QuotaSupport {
  // answers that were checked before: drivers usually return the same object again
  const validNeeds = new WeakSet<object>();
  const validLimits = new WeakSet<object>();
  const isNeeds = (needs: unknown) => isAmounts(needs, validNeeds, isNeed);
  const isLimits = (limits: unknown) => limits === undefined || isAmounts(limits, validLimits, isLimit);
  return {
    quotaNeededByLabel: (label, pool) =>
      scope.ask('quotaNeededByLabel', ONE_INSTANCE, () => quota.quotaNeededByLabel(label, pool), isNeeds),
    estimatedNodepoolQuota: () =>
      scope.ask('estimatedNodepoolQuota', undefined, () => quota.estimatedNodepoolQuota(), isLimits),
    ...(quota.unmanagedQuotaUsed && {
      unmanagedQuotaUsed: () =>
        scope.ask('unmanagedQuotaUsed', NOTHING, () => quota.unmanagedQuotaUsed?.() ?? NOTHING, isNeeds),
    }),
    invalidateQuotaCache: () => scope.ask('invalidateQuotaCache', undefined, () => quota.invalidateQuotaCache()),
  };
}

const isNeed = (amount: number) => Number.isFinite(amount) && amount >= 0;
const isLimit = (amount: number) => amount > -Infinity;

/** @param valid - answers that were found valid before */
function isAmounts(value: unknown, valid: WeakSet<object>, isAmount: (amount: number) => boolean): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (valid.has(value)) return true;
  if (value instanceof Promise || Array.isArray(value)) return false;
  const isValid = Object.values(value).every((amount) => typeof amount === 'number' && isAmount(amount));
  if (isValid) valid.add(value);
  return isValid;
}
