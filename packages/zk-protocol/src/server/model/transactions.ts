import type { Acl } from '../../client/contract/types.js';

/** A planned change of the tree or of the sessions, which is applied without checks. */
export type Change =
  | { change: 'create'; path: string; data: Buffer | null; acl: readonly Acl[]; owner: bigint }
  | { change: 'delete'; path: string }
  | { change: 'setData'; path: string; data: Buffer | null; version: number }
  | { change: 'setAcl'; path: string; acl: readonly Acl[]; version: number }
  | { change: 'createSession'; sessionId: bigint; timeoutMs: number; password: Buffer }
  | { change: 'closeSession'; sessionId: bigint };

/** Changes that are applied together or not at all. A rejected write is a transaction without changes. */
export interface Transaction {
  zxid: number;
  timeMs: number;
  changes: readonly Change[];
}
