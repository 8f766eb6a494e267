import type { Acl } from '../../client/contract/types.js';
import type { EventTypeNumber } from './constants.js';
import type { ModelConnection } from './connection.js';
import type { Transaction } from './transactions.js';

/** Metadata of a znode as clients see it. Transaction ids are numbers here: a single server never reaches 2^53. */
export interface NodeStat {
  czxid: number;
  mzxid: number;
  ctime: number;
  mtime: number;
  version: number;
  cversion: number;
  aversion: number;
  ephemeralOwner: bigint;
  dataLength: number;
  numChildren: number;
  pzxid: number;
}

/** Who a connection is: scheme and user name. */
export interface ClientInfo {
  scheme: string;
  user: string;
}

/** Result of one part of a multi. */
export type MultiResult =
  | { result: 'create'; path: string }
  | { result: 'create2'; path: string; stat: NodeStat }
  | { result: 'setData'; stat: NodeStat }
  | { result: 'delete' }
  | { result: 'check' }
  | { result: 'error'; error: number };

/** Result of one part of a multiRead. */
export type ReadResult =
  | { result: 'getData'; data: Buffer | null; stat: NodeStat }
  | { result: 'getChildren'; children: string[] }
  | { result: 'error'; error: number };

/** What a successful reply carries. */
export type ReplyBody =
  | { kind: 'path'; path: string }
  | { kind: 'path-stat'; path: string; stat: NodeStat }
  | { kind: 'stat'; stat: NodeStat }
  | { kind: 'data'; data: Buffer | null; stat: NodeStat }
  | { kind: 'acl'; acl: readonly Acl[]; stat: NodeStat }
  | { kind: 'strings'; strings: string[] }
  | { kind: 'strings-stat'; strings: string[]; stat: NodeStat }
  | { kind: 'multi'; results: (MultiResult | ReadResult)[] }
  | { kind: 'count'; count: number }
  | { kind: 'clients'; clients: ClientInfo[] };

/** Answer to one request. */
export interface Reply {
  /** Last transaction the answer includes. */
  zxid: number;
  /** 0, or one of the protocol's error numbers. */
  error: number;
  /** Absent when the call failed, or has nothing to say. */
  body?: ReplyBody | undefined;
}

/** A watch event for one connection. */
export interface Notification {
  to: ModelConnection;
  type: EventTypeNumber;
  path: string;
}

/** What one request, or one expired session, did. */
export interface Outcome {
  reply: Reply;
  /** In order; they reach their connections before the reply does. */
  events: Notification[];
  /** What must be durable before the reply or any of the events is sent; absent when nothing was written. */
  transaction?: Transaction | undefined;
}
