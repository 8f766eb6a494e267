export type { ScanHostKeysOptions } from './scan-host-keys.js';
export { checkPort, scanHostKeys } from './scan-host-keys.js';
export { KeyScanError } from './errors.js';
export { ScanQueue } from '../../async/scan-queue.js';
export type { HostLookup, ResolvedAddress } from './resolve.js';
export { hasHostKeys, isFakeHost, systemLookup } from './resolve.js';
export { machineText } from '../../text/machine-text.js';
