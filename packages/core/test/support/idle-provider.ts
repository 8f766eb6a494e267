import type { Provider, ProviderConfig } from '../../src/index.js';

/** A provider whose nodes have no instances, with the given changes. */
export function idleProvider(config: ProviderConfig, changes: Partial<Provider> = {}): Provider {
  return {
    config,
    start: () => Promise.resolve(),
    idle() {},
    stop() {},
    join: () => Promise.resolve(),
    labelReady: () => true,
    getRequestHandler: () => ({ imagesAvailable: () => true }),
    startNodeCleanup: () => undefined,
    cleanupLeakedResources: () => Promise.resolve(),
    errorLabels: () => new Set(),
    ...changes,
  };
}
