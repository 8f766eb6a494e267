import { ZooKeeperError } from '../contract/errors.js';
import { serverError, ServerCode } from '../contract/server-errors.js';
import type { Acl, Operation, ReadOperation, WatchListener } from '../contract/types.js';
import { OpCode } from './opcodes.js';
import type { WireReader } from './reader.js';
import type { WireWriter } from './writer.js';

/** Which kind of one-shot watch a read leaves behind. */
export type OneShotKind = 'exists' | 'data' | 'children';

export type Encoder = (writer: WireWriter, request: RequestFields) => void;
export type Decoder<T> = (reader: WireReader, request: RequestFields) => T;

/** What encoders and decoders see of a request. Paths include the chroot. */
export interface RequestFields {
  readonly path: string;
  data: string | Uint8Array;
  version: number;
  flags: number;
  ttlMs: number;
  acl: readonly Acl[];
  operations: readonly Operation[];
  reads: readonly ReadOperation[];
  watchKind: OneShotKind | undefined;
  readonly chroot: string;
}

/** A request as the transport sees it. */
export interface PendingRequest extends RequestFields {
  xid: number;
  readonly opCode: number;
  readonly encode: Encoder;
  readonly watcher: WatchListener | undefined;
  /** Number of operations it stands for. */
  readonly weight: number;
  /** How many of them change something. */
  readonly writes: number;
  /** Settles the request with the server's answer. */
  answer(serverCode: number, reader: WireReader): void;
  fail(error: Error): void;
}

const WRITES: ReadonlySet<number> = new Set<number>([
  ...[OpCode.CREATE, OpCode.CREATE2, OpCode.CREATE_CONTAINER, OpCode.CREATE_TTL],
  ...[OpCode.DELETE, OpCode.SET_DATA, OpCode.SET_ACL],
]);
const NO_ACL: readonly Acl[] = [];
const NO_OPERATIONS: readonly Operation[] = [];
const NO_READS: readonly ReadOperation[] = [];

/** One call on its way. All requests have the same fields, so that the engine treats them as one shape. */
export class Request<T> implements PendingRequest {
  xid = 0;
  data: string | Uint8Array = '';
  version = -1;
  flags = 0;
  ttlMs = 0;
  acl = NO_ACL;
  operations = NO_OPERATIONS;
  reads = NO_READS;
  watchKind: OneShotKind | undefined = undefined;
  watcher: WatchListener | undefined = undefined;
  /** The answer when the node does not exist; by default that is an error. */
  hasFallback = false;
  #resolve: ((value: T) => void) | undefined = undefined;
  #reject: ((error: Error) => void) | undefined = undefined;

  constructor(
    readonly opCode: number,
    readonly path: string,
    readonly chroot: string,
    readonly encode: Encoder,
    private readonly decode: Decoder<T>,
    private readonly fallback?: T,
  ) {}

  get weight(): number {
    return this.operations.length + this.reads.length || 1;
  }

  get writes(): number {
    return this.operations.length || (WRITES.has(this.opCode) ? 1 : 0);
  }

  /** Tells where the answer goes. */
  settleWith(resolve: (value: T) => void, reject: (error: Error) => void): void {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  answer(serverCode: number, reader: WireReader): void {
    // A refused multi carries one result per part, whatever its header says.
    if (serverCode !== 0 && !(this.operations.length > 0 && reader.remaining > 0)) {
      if (serverCode === ServerCode.NO_NODE && this.hasFallback) this.#resolve?.(this.fallback as T);
      else this.fail(serverError(serverCode, this.clientPath, this.opCode));
      return;
    }
    let value: T;
    try {
      value = this.decode(reader, this);
    } catch (error) {
      if (error instanceof ZooKeeperError) {
        this.fail(error);
        return;
      }
      this.fail(
        new ZooKeeperError('ZK_MARSHALLING', `cannot read the answer about ${this.clientPath}`, { cause: error }),
      );
      throw error;
    }
    this.#resolve?.(value);
  }

  fail(error: Error): void {
    this.#reject?.(error);
  }

  /** The path as the caller knows it. */
  get clientPath(): string {
    return stripChroot(this.chroot, this.path);
  }
}

/** Removes the chroot from a path the server sent. */
export function stripChroot(chroot: string, path: string): string {
  if (chroot === '' || !path.startsWith(chroot)) return path;
  return path.length === chroot.length ? '/' : path.slice(chroot.length);
}
