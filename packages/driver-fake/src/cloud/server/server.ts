import { createServer, type Server, type Socket } from 'node:net';
import type { Clock } from '@nodepool/zk-protocol';
import { callCloud, isCallName, type CloudCalls, type CallName } from '../client/api.js';
import { FakeCloud } from '../model/fake-cloud.js';
import type { Endpoints } from '../model/options.js';
import { emptyState } from '../model/state.js';
import { CloudFailure } from '../model/types.js';
import type { InstanceEvent } from '../model/types.js';
import { Journal } from './journal.js';
import { LineReader, readCall, type ServerMessage } from './protocol.js';
import type { ServerAddress } from './address.js';

/** Options of a server. */
export interface CloudServerOptions {
  /** Directory of its state: must exist and belong to this server alone. */
  readonly dir: string;
  readonly address: ServerAddress;
  readonly clock: Clock;
  readonly random: () => number;
  readonly endpoints?: Endpoints | undefined;
  /** Ends the server when no client has been connected for so long and no instance needs it. Default: never. */
  readonly idleTimeoutMs?: number | undefined;
}

/** Unsent bytes at which a client counts as dead. */
const MAX_UNSENT_BYTES = 64 * 1024 * 1024;

/**
 * A cloud that other processes use. It outlives them, and its instances outlive it: everything is in its journal before
 * anybody is told.
 */
export class CloudServer {
  readonly cloud: FakeCloud;
  /** Resolves when the server has ended. */
  readonly ended: Promise<void>;
  readonly #options: CloudServerOptions;
  readonly #journal: Journal;
  readonly #server: Server;
  readonly #clients = new Set<Client>();
  #flushing = false;
  #stopping = false;
  #closed = false;
  #cancelIdle: (() => void) | undefined;

  private constructor(options: CloudServerOptions) {
    this.#options = options;
    const { journal, state = emptyState(options.random) } = Journal.open(options.dir);
    this.#journal = journal;
    this.cloud = new FakeCloud({
      ...options,
      state,
      save: (entry) => {
        journal.add(entry);
        this.#flushSoon();
      },
    });
    journal.rewrite(this.cloud.state);
    this.cloud.onChange((event) => {
      for (const client of this.#clients) client.notify(event);
    });
    this.#server = createServer((socket) => this.#accept(socket));
    this.ended = new Promise((resolve) => this.#server.once('close', resolve));
  }

  /** Where it listens, when that is TCP. */
  get port(): number | undefined {
    const address = this.#server.address();
    return typeof address === 'object' && address ? address.port : undefined;
  }

  /** Loads the cloud and begins to listen. Rejects when the address is taken. */
  static async start(options: CloudServerOptions): Promise<CloudServer> {
    const server = new CloudServer(options);
    await new Promise<void>((resolve, reject) => {
      server.#server.once('error', reject);
      server.#server.listen(options.address, () => {
        server.#server.off('error', reject);
        resolve();
      });
    });
    server.#watchIdleness();
    return server;
  }

  /** Writes what is left and ends. The instances stay, and continue when the next server begins. */
  async stop(): Promise<void> {
    if (this.#stopping) return this.ended;
    this.#stopping = true;
    this.#cancelIdle?.();
    this.cloud.stop();
    this.#flush();
    this.#closed = true;
    this.#journal.close();
    for (const { instance } of this.cloud.state.instances.values()) this.#options.endpoints?.close(instance.id, false);
    this.#server.close();
    for (const client of this.#clients) client.end();
    await this.ended;
  }

  #accept(socket: Socket): void {
    const client = new Client(socket, {
      call: (name, args) => this.#call(name, args),
      instances: () => this.cloud.list(),
      flushSoon: () => this.#flushSoon(),
      gone: () => {
        this.#clients.delete(client);
        this.#watchIdleness();
      },
    });
    this.#clients.add(client);
    this.#cancelIdle?.();
  }

  #call(name: string, args: unknown): unknown {
    if (name === 'stop') {
      setImmediate(() => void this.stop()); // after the answer
      return null;
    }
    if (!isCallName(name)) throw new CloudFailure('invalid', `there is no call "${name}"`);
    // The only client that speaks this protocol is ours, in a directory or port of this user.
    return callCloud(this.cloud, this.#options.clock, name, args as CloudCalls[CallName][0]);
  }

  /** One write to the journal and one to each client for all that happens in a turn of the event loop. */
  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#flushing = false;
    if (this.#closed) return;
    this.#journal.flush(this.cloud);
    for (const client of this.#clients) client.flush();
  }

  #watchIdleness(): void {
    const { idleTimeoutMs, clock } = this.#options;
    this.#cancelIdle?.();
    if (idleTimeoutMs === undefined || this.#clients.size > 0 || this.#stopping) return;
    this.#cancelIdle = clock.setTimer(idleTimeoutMs, () => {
      const isNeeded = this.cloud.settings.ssh.enabled && this.cloud.usage.instances > 0;
      if (isNeeded) this.#watchIdleness();
      else void this.stop();
    });
  }
}

interface ClientServices {
  call(name: string, args: unknown): unknown;
  instances(): Iterable<NonNullable<InstanceEvent['instance']>>;
  flushSoon(): void;
  gone(): void;
}

/** One connection. */
class Client {
  readonly #socket: Socket;
  readonly #services: ClientServices;
  readonly #lines = new LineReader();
  #unsent: string[] = [];
  #subscribed = false;

  constructor(socket: Socket, services: ClientServices) {
    this.#socket = socket;
    this.#services = services;
    socket.setEncoding('utf8').setNoDelay(true);
    socket.on('data', (chunk: string) => this.#read(chunk));
    socket.on('error', () => socket.destroy()); // A client that is gone needs no answer; `close` follows.
    socket.on('close', () => services.gone());
  }

  notify(event: InstanceEvent): void {
    if (!this.#subscribed) return;
    this.#send({ event });
    this.#services.flushSoon();
  }

  flush(): void {
    if (this.#unsent.length === 0 || this.#socket.destroyed) return;
    this.#socket.write(this.#unsent.join(''));
    this.#unsent = [];
    if (this.#socket.writableLength > MAX_UNSENT_BYTES) this.#socket.destroy();
  }

  end(): void {
    this.flush();
    this.#socket.end();
    this.#socket.destroySoon();
  }

  #read(chunk: string): void {
    try {
      for (const line of this.#lines.read(chunk)) this.#handle(line);
    } catch (error) {
      this.#socket.destroy(error instanceof Error ? error : undefined);
    }
    this.#services.flushSoon();
  }

  #handle(line: string): void {
    const message = readCall(line);
    if (!message) {
      this.#socket.destroy();
      return;
    }
    const { id, call, args } = message;
    if (call === 'subscribe') {
      this.#subscribed = true;
      this.#send({ reset: true });
      for (const instance of this.#services.instances()) this.#send({ event: { id: instance.id, instance } });
      return this.#send({ id, result: null });
    }
    try {
      const result = this.#services.call(call, args);
      if (!(result instanceof Promise)) return this.#send({ id, result });
      result.then(
        (value: unknown) => this.#answerLater({ id, result: value }),
        (error: unknown) => this.#answerLater({ id, error: describeFailure(error) }),
      );
    } catch (error) {
      this.#send({ id, error: describeFailure(error) });
    }
  }

  #answerLater(message: ServerMessage): void {
    this.#send(message);
    this.#services.flushSoon();
  }

  #send(message: ServerMessage): void {
    this.#unsent.push(`${JSON.stringify(message)}\n`);
  }
}

function describeFailure(error: unknown): { kind: CloudFailure['kind']; message: string } {
  if (error instanceof CloudFailure) return { kind: error.kind, message: error.message };
  return { kind: 'invalid', message: error instanceof Error ? error.message : String(error) };
}
