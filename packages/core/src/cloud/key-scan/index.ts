export { scanHostKeys, checkPort } from './scan-host-keys.js';
export type { ScanHostKeysOptions, CheckPortOptions } from './scan-host-keys.js';
export { KeyScanError } from './errors.js';
export type { KeyScanFailure } from './errors.js';
export { ScanQueue } from './scan-queue.js';
export { KEY_TYPES } from './key-types.js';
export type { KeyType } from './key-types.js';
export { hasHostKeys, isFakeHost, systemLookup } from './resolve.js';
export type { HostLookup, ResolvedAddress } from './resolve.js';
