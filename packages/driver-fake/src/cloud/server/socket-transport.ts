import { connect, type Socket } from 'node:net';
import { orAbort, type Clock } from '@nodepool/zk-protocol';
import type { CallName, CloudCalls } from '../client/api.js';
import type { CloudTransport, TransportListener } from '../client/client.js';
import { CloudFailure } from '../model/types.js';
import type { ServerAddress } from './address.js';
import { LineReader, type ServerMessage } from './protocol.js';

/** How to reach a server. */
export interface SocketTransportOptions {
  readonly address: ServerAddress;
  readonly clock: Clock;
  /** Called when no server answers at the address, before the next try: starts the server. */
  readonly revive?: (() => void | Promise<void>) | undefined;
  /** Told about lost connections. */
  readonly onLost?: ((reason: Error) => void) | undefined;
}

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  cancel?: () => void;
}

const FIRST_PAUSE_MS = 20;
const LAST_PAUSE_MS = 250;

/** A connection to the server of a cloud, made anew whenever it breaks. Calls fail while there is none. */
export class SocketTransport implements CloudTransport {
  readonly #options: SocketTransportOptions;
  readonly #pending = new Map<number, Pending>();
  #listener: TransportListener | undefined;
  #socket: Socket | undefined;
  #ready: Promise<void>;
  #becomeReady: () => void = () => {};
  #isReady = false;
  #nextId = 1;
  #unsent: string[] = [];
  #pauseMs = FIRST_PAUSE_MS;
  #closed = false;
  #cancelPause: (() => void) | undefined;
  #started = false;

  constructor(options: SocketTransportOptions) {
    this.#options = options;
    this.#ready = new Promise((resolve) => (this.#becomeReady = resolve));
  }

  subscribe(listener: TransportListener): void {
    this.#listener = listener;
  }

  async ready(signal?: AbortSignal): Promise<void> {
    if (!this.#started) {
      this.#started = true;
      this.#open();
    }
    if (this.#isReady) return;
    await (signal ? orAbort(this.#ready, signal) : this.#ready);
  }

  call<Name extends CallName>(
    name: Name,
    args: CloudCalls[Name][0],
    signal?: AbortSignal,
  ): Promise<CloudCalls[Name][1]> {
    if (!this.#isReady) return Promise.reject(new CloudFailure('unavailable', 'there is no connection to the cloud'));
    // The server answers a call of this name with this type.
    return this.request(name, args, signal) as Promise<CloudCalls[Name][1]>;
  }

  /** Makes any call, known or not. Resolves to what the server says. */
  request(name: string, args: unknown, signal?: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const id = this.#nextId++;
      const pending: Pending = { resolve, reject };
      if (signal) {
        const abort = () => {
          this.#pending.delete(id);
          reject(signal.reason as Error);
        };
        signal.addEventListener('abort', abort, { once: true });
        pending.cancel = () => signal.removeEventListener('abort', abort);
      }
      this.#pending.set(id, pending);
      this.#send(JSON.stringify({ id, call: name, args }));
    });
  }

  close(): void {
    this.#closed = true;
    this.#cancelPause?.();
    this.#socket?.destroy();
    this.#fail(new CloudFailure('unavailable', 'the connection to the cloud was closed'));
    this.#becomeReady();
  }

  #open(): void {
    if (this.#closed) return;
    const socket = connect(this.#options.address);
    const lines = new LineReader();
    let connected = false;
    this.#socket = socket;
    socket.setEncoding('utf8').setNoDelay(true);
    socket.once('connect', () => {
      connected = true;
      this.#subscribe();
    });
    socket.on('data', (chunk: string) => {
      try {
        for (const line of lines.read(chunk)) this.#handle(JSON.parse(line) as ServerMessage);
      } catch (error) {
        socket.destroy(error instanceof Error ? error : undefined);
      }
    });
    let reason = new Error('the server closed the connection');
    socket.once('error', (error) => (reason = error));
    socket.once('close', () => void this.#lost(reason, connected));
  }

  #subscribe(): void {
    this.request('subscribe', null).then(
      () => {
        this.#pauseMs = FIRST_PAUSE_MS;
        this.#isReady = true;
        this.#listener?.complete();
        this.#becomeReady();
      },
      () => {}, // The connection is gone again; `close` has begun a new one.
    );
  }

  async #lost(reason: Error, wasConnected: boolean): Promise<void> {
    if (this.#isReady) {
      this.#isReady = false;
      this.#ready = new Promise((resolve) => (this.#becomeReady = resolve));
      if (!this.#closed) this.#options.onLost?.(reason);
    }
    this.#fail(new CloudFailure('reset', `the connection to the cloud was lost: ${reason.message}`));
    if (this.#closed) return;
    try {
      if (!wasConnected) await this.#options.revive?.();
    } catch (error) {
      this.#options.onLost?.(error instanceof Error ? error : new Error(String(error)));
    }
    this.#cancelPause = this.#options.clock.setTimer(this.#pauseMs, () => this.#open());
    this.#pauseMs = Math.min(2 * this.#pauseMs, LAST_PAUSE_MS);
  }

  #fail(failure: CloudFailure): void {
    this.#unsent = [];
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { cancel, reject } of pending) {
      cancel?.();
      reject(failure);
    }
  }

  #handle(message: ServerMessage): void {
    if ('event' in message) return this.#listener?.event(message.event);
    if ('reset' in message) return this.#listener?.reset();
    const pending = this.#pending.get(message.id);
    if (!pending) return; // given up by its caller
    this.#pending.delete(message.id);
    pending.cancel?.();
    if ('error' in message) pending.reject(new CloudFailure(message.error.kind, message.error.message));
    else pending.resolve(message.result);
  }

  /** One write for all calls of a turn. */
  #send(line: string): void {
    if (this.#unsent.push(`${line}\n`) > 1) return;
    queueMicrotask(() => {
      const text = this.#unsent.join('');
      this.#unsent = [];
      if (text !== '') this.#socket?.write(text);
    });
  }
}
