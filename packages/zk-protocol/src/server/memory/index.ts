export { MemoryServer } from './memory-server.js';
export { connectInMemory, MemoryLink, perfectConditions } from './memory-link.js';
export type { LinkConditions, MemoryOptions } from './memory-link.js';
export type { DatabaseCopy, TransactionListener } from './memory-server.js';

/* The transactions that a TransactionListener receives */
export type { ModelOptions } from '../model/server-model.js';
export type { Change, Transaction } from '../model/transactions.js';
