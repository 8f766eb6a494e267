import type { Acl } from '../../client/contract/types.js';
import type { EventTypeNumber } from './constants.js';
import type { ModelConnection } from './connection.js';
import type { Transaction } from './transactions.js';

/** Metadata of a znode for clients. Transaction ids are numbers, as a single server never reaches 2^53. */
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

/** An identity of a connection. */
export interface ClientInfo {
  scheme: string;
  user: string;
}

/** Result of an operation of a multi. */
export type MultiResult =
  | { result: 'create'; path: string }
  | { result: 'create2'; path: string; stat: NodeStat }
  | { result: 'setData'; stat: NodeStat }
  | { result: 'delete' }
  | { result: 'check' }
  | { result: 'error'; error: number };

/** Result of a read of a multiRead. */
export type ReadResult =
  | { result: 'getData'; data: Buffer | null; stat: NodeStat }
  | { result: 'getChildren'; children: string[] }
  | { result: 'error'; error: number };

/** Body of a successful reply. */
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

/** Reply to one request. */
export interface Reply {
  /** Last transaction that the reply includes. */
  zxid: number;
  /** 0, or one of the protocol's error numbers. */
  error: number;
  /** Missing if the request failed or has no result. */
  body?: ReplyBody | undefined;
}

/** A watch event for one connection. */
export interface Notification {
  to: ModelConnection;
  type: EventTypeNumber;
  path: string;
}

/** Outcome of one request, or of one expired session. */
export interface Outcome {
  reply: Reply;
  /** Events in order, sent before the reply. */
  events: Notification[];
  /** Must be durable before the reply and the events are sent; missing if nothing was written. */
  transaction?: Transaction | undefined;
}
