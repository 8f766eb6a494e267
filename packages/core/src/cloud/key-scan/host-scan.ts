import type { Socket } from 'node:net';
import { backoffMs, delay, type Clock } from '@nodepool/zk-protocol';
import type { Logger } from '../../contract/logger.js';
import type { ConnectionPace } from './connection-pace.js';
import { HandshakeError, KeyScanError, machineSaidOf, messageOf } from './errors.js';
import { methodNames } from './greeting.js';
import { connectError, readHostKey } from './handshake.js';
import type { HandshakeResult } from './handshake.js';
import { KEY_TYPES, typesToScan } from './key-types.js';
import type { KeyType } from './key-types.js';
import { ScanQueue } from '../../async/scan-queue.js';
import { openSocket } from './socket.js';

/** Concurrent connections of one scan; the first runs outside the queue. */
const PARALLEL_HANDSHAKES = 4;
/** Handshakes of one type that may fail after the server has answered, before the type is left out. */
const FAILED_HANDSHAKES = 3;

/** Short and slowly growing, as a booting machine will answer soon. */
const PAUSE = { firstMs: 100, longestMs: 2_000, factor: 1.6 };
/** After a refusal, which a server does not end sooner for being asked. */
const REFUSED_PAUSE_MS = 5_000;

/** Options of a scan of one host with a resolved name. */
export interface HostScanTarget {
  host: string;
  /** Tried in turn until one answers; the first one first. */
  addresses: readonly [string, ...string[]];
  port: number;
  connectTimeoutMs: number;
  clock: Clock;
  logger: Logger;
  random: () => number;
  keyTypes: readonly KeyType[];
  pace: ConnectionPace;
  /** Connections that have had their turn; further ones wait for it. */
  granted: number;
  onFailure: (error: unknown) => void;
}

/**
 * Reads all host keys of one server. The first connection shows that the server is up and which key types it has; then one
 * connection per further type follows. There are no more connections than keys, and at a {@link ConnectionPace}, as servers
 * penalize connections without a login.
 */
export class HostScan {
  /** Last error, for the message of a timeout. */
  lastError: unknown;
  readonly #target: HostScanTarget;
  /** Number of the address in use. Keys are read from one that has answered, as another may be another machine's. */
  #at = 0;
  readonly #queue = new ScanQueue(PARALLEL_HANDSHAKES - 1);
  /** Connections that may be made at once. */
  #left: number;

  constructor(target: HostScanTarget) {
    this.#target = target;
    this.#left = target.granted;
  }

  /** Connections that had their turn and were not made. */
  get unused(): number {
    return this.#left;
  }

  /** Resolves once a TCP connection was made. Rejects only with the signal's reason. */
  async reachPort(signal: AbortSignal): Promise<void> {
    for (let failures = 0; ; failures++) {
      try {
        const socket = await this.#connect(signal);
        socket.destroy();
        return;
      } catch (error) {
        this.#at += 1;
        await this.#pauseAfter(error, failures, signal);
      }
    }
  }

  /** @returns the keys as `<type> <base64>`, in the order of the key types */
  async readKeys(signal: AbortSignal): Promise<string[]> {
    /** Keys of the types after the first; `undefined`: skipped. */
    const others: Promise<string | undefined>[] = [];
    let types: KeyType[] = [];
    const onOffer = (offered: readonly string[]) => {
      types = typesToScan(this.#target.keyTypes, offered);
      for (const type of types.slice(1)) others.push(this.#queueType(type, signal));
    };
    const first = await this.#firstHandshake(onOffer, signal);
    const [firstType] = types;
    if (firstType === undefined) throw this.#noCommonType(first.offered ?? []);
    if (first.key === undefined) others.push(this.#queueType(firstType, signal));
    const keys = [first.key, ...(await Promise.all(others))].filter((key) => key !== undefined);
    if (keys.length === 0) throw this.#noHandshake(types);
    return inOrder(keys);
  }

  /** Retries until the server has sent its key types. */
  async #firstHandshake(onOffer: (offered: readonly string[]) => void, signal: AbortSignal): Promise<HandshakeResult> {
    for (let failures = 0; ; failures++) {
      const result = await this.#handshake(this.#target.keyTypes, onOffer, signal);
      if (isUnknownMethod(result.error)) throw this.#noCommonMethod(result.error);
      if (result.offered !== undefined) return result;
      this.#at += 1;
      await this.#pauseAfter(result.error, failures, signal);
    }
  }

  #queueType(type: KeyType, signal: AbortSignal): Promise<string | undefined> {
    const key = this.#queue.run(() => this.#readType(type, signal), signal);
    // An abort may reject it before it is awaited; the await reports it then.
    key.catch(() => {});
    return key;
  }

  /** @returns `undefined` when the server offers the type but never completes a handshake with it */
  async #readType(type: KeyType, signal: AbortSignal): Promise<string | undefined> {
    let failures = 0;
    for (let pauses = 0; ; pauses++) {
      const result = await this.#handshake([type], () => {}, signal);
      if (result.key !== undefined) return result.key;
      // A server that drops the connection at once has too many; that counts as no answer.
      if (result.offered !== undefined) failures += 1;
      if (failures === FAILED_HANDSHAKES) {
        const { host, port, logger } = this.#target;
        logger.warn('Skipping host key: handshake failed', { host, port, type, error: result.error });
        return undefined;
      }
      await this.#pauseAfter(result.error, pauses, signal);
    }
  }

  async #handshake(
    types: readonly KeyType[],
    onOffer: (offered: readonly string[]) => void,
    signal: AbortSignal,
  ): Promise<HandshakeResult> {
    const { clock, connectTimeoutMs } = this.#target;
    try {
      const socket = await this.#connect(signal);
      const cancel = clock.setTimer(connectTimeoutMs, () =>
        socket.destroy(new Error(`no SSH handshake within ${connectTimeoutMs} ms`)),
      );
      const result = await readHostKey(socket, types, onOffer);
      cancel();
      return result;
    } catch (error) {
      return { key: undefined, offered: undefined, error: connectError(error) };
    }
  }

  async #pauseAfter(error: unknown, pauses: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.lastError = error;
    this.#target.onFailure(error);
    const { host, port, logger, clock, random } = this.#target;
    const machineSaid = machineSaidOf(error);
    logger.debug('Host does not answer yet', { host, port, reason: messageOf(error), machineSaid });
    const isRefusal = error instanceof HandshakeError && error.isRefusal;
    await delay(clock, isRefusal ? REFUSED_PAUSE_MS : backoffMs(pauses, PAUSE, random), signal);
  }

  async #connect(signal: AbortSignal): Promise<Socket> {
    const { host, addresses, port, clock, connectTimeoutMs, pace } = this.#target;
    const address = addresses[this.#at % addresses.length] ?? addresses[0];
    if (this.#left > 0) this.#left -= 1;
    else await pace.turn(host, port, 1, signal);
    return openSocket({ address, port, clock, timeoutMs: connectTimeoutMs }, signal);
  }

  #noCommonMethod(cause: HandshakeError): KeyScanError {
    const { host, port } = this.#target;
    this.lastError = cause;
    const message = `${cause.message}: allow an older one in its sshd_config`;
    return new KeyScanError({ host, port, failure: 'no-common-method', message, cause });
  }

  #noCommonType(offered: readonly string[]): KeyScanError {
    const { host, port, keyTypes } = this.#target;
    return new KeyScanError({
      host,
      port,
      failure: 'no-common-key-type',
      message:
        `the server has host keys of the types ${methodNames(offered)} only, ` +
        `wanted is one of ${keyTypes.join(', ')}: give it such a key (ssh-keygen -A makes the usual ones)`,
    });
  }

  #noHandshake(types: readonly KeyType[]): KeyScanError {
    const { host, port } = this.#target;
    return new KeyScanError({
      host,
      port,
      failure: 'protocol',
      message:
        `the server offers host keys of the types ${types.join(', ')}, but no handshake with it succeeds ` +
        `(last: ${messageOf(this.lastError)}): check the server's log`,
      cause: this.lastError,
    });
  }
}

function isUnknownMethod(error: unknown): error is HandshakeError {
  return error instanceof HandshakeError && error.isUnknownMethod;
}

/** Each key once, in the order of the key types. */
function inOrder(keys: readonly string[]): string[] {
  const place = (key: string) => {
    const index = KEY_TYPES.findIndex((type) => key.startsWith(`${type} `));
    return index < 0 ? KEY_TYPES.length : index;
  };
  return [...new Set(keys)].sort((a, b) => place(a) - place(b));
}
