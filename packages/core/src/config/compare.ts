import { isDeepStrictEqual } from 'node:util';
import type { ProviderConfig } from '../contract/provider-config.js';

/** Whether a reload can keep the provider: same driver, entry and additional values, in any order of keys. */
export function sameProviderConfig(a: ProviderConfig, b: ProviderConfig): boolean {
  return (
    a.driverName === b.driverName &&
    isDeepStrictEqual(a.entry, b.entry) &&
    isDeepStrictEqual(a.equalityExtra, b.equalityExtra)
  );
}
