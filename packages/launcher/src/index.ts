export type { LauncherArguments } from './arguments.js';
export { parseArguments } from './arguments.js';
export { main } from './main.js';
export { createService, launcherRuntime } from './start-service.js';

/* Leases over the web API, without its server */
export { LeaseCertificates } from './certificates/lease-certificates.js';
export { leaseId } from './web/api/lease-calls.js';
export { leaseOperations } from './web/api/lease-operations.js';
export { TokenTrust } from './web/api/token-trust.js';
