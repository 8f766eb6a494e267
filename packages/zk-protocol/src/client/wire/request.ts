import { ZooKeeperError } from '../contract/errors.js';
import { serverError, ServerCode } from '../contract/server-errors.js';
import type { Acl, Operation, ReadOperation, WatchListener } from '../contract/types.js';
import { OpCode } from './opcodes.js';
import type { WireReader } from './reader.js';
import type { WireWriter } from './writer.js';

/** Kind of one-shot watch that a read sets. */
export type OneShotKind = 'exists' | 'data' | 'children';

export type Encoder = (writer: WireWriter, request: RequestFields) => void;
export type Decoder<T> = (reader: WireReader, request: RequestFields) => T;

/** Fields of a request for encoders and decoders. Paths include the chroot. */
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

/** A request for the transport. */
export interface PendingRequest extends RequestFields {
  xid: number;
  readonly opCode: number;
  readonly encode: Encoder;
  readonly watcher: WatchListener | undefined;
  /** Number of operations. */
  readonly weight: number;
  /** Number of write operations. */
  readonly writes: number;
  /** Settles the request with the server's reply. */
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

/** A pending call. All requests have the same fields, so that the engine treats them as one shape. */
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
  /** Whether a missing znode resolves with the fallback instead of an error. */
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

  /** Sets the functions that settle the caller's promise. */
  settleWith(resolve: (value: T) => void, reject: (error: Error) => void): void {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  answer(serverCode: number, reader: WireReader): void {
    // A rejected multi has one result per operation, even with an error in its header.
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
      const path = this.clientPath;
      this.fail(new ZooKeeperError('ZK_MARSHALLING', `cannot decode the reply about ${path}`, { path, cause: error }));
      throw error;
    }
    this.#resolve?.(value);
  }

  fail(error: Error): void {
    this.#reject?.(error);
  }

  /** The path without chroot. */
  get clientPath(): string {
    return stripChroot(this.chroot, this.path);
  }
}

/** Removes the chroot from a path of the server. */
export function stripChroot(chroot: string, path: string): string {
  if (chroot === '' || !path.startsWith(chroot)) return path;
  return path.length === chroot.length ? '/' : path.slice(chroot.length);
}
