import type { Driver } from '../driver/types.js';

/** The driver behind a provider entry. */
export interface LoadedProvider {
  readonly driver: Driver;
}
