export { MemoryServer } from './memory-server.js';
export { MemoryLink } from './memory-link.js';
export { connectInMemory } from './connect-in-memory.js';
export { perfectConditions } from './conditions.js';
export type { LinkConditions } from './conditions.js';
export type { MemoryOptions } from './connect-in-memory.js';
export type { TransactionListener } from './memory-server.js';

/* What a change is */
export type { ModelOptions } from '../model/server-model.js';
export type { Change, Transaction } from '../model/transactions.js';
