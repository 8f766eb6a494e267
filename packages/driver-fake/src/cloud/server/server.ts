import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Clock } from '@nodepool/zk-protocol';
import { callCloud, isCallName, type CallName, type CloudCalls } from '../client/calls.js';
import { FakeCloud } from '../model/fake-cloud.js';
import type { Endpoints } from '../model/options.js';
import { CloudFailure } from '../model/types.js';
import type { FailureKind, InstanceEvent } from '../model/types.js';
import type { ServerAddress } from '../client/address.js';
import { Journal } from './journal.js';

/** Options of a server. */
export interface CloudServerOptions {
  /** State directory: must exist and be private to this server. */
  readonly dir: string;
  readonly address: ServerAddress;
  readonly clock: Clock;
  readonly random: () => number;
  readonly endpoints?: Endpoints | undefined;
  /** Stops the server after this time without clients and without SSH instances. Default: never. */
  readonly idleTimeoutMs?: number | undefined;
}

/** Unsent bytes at which an event stream is closed as dead. */
const MAX_UNSENT_BYTES = 64 * 1024 * 1024;
/** Maximum request size; a longer request closes the connection. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

const STATUS: Readonly<Record<Exclude<FailureKind, 'reset'>, number>> = {
  invalid: 400,
  quota: 403,
  'not-found': 404,
  'rate-limited': 429,
  failed: 500,
  unavailable: 503,
  capacity: 507,
};

/**
 * Serves a cloud to other processes over HTTP: `POST /<call>` with the arguments as JSON, and `POST /events`, which
 * streams a line of JSON for each change, with its time. The server outlives its clients. Its instances outlive the server: each change
 * is in the journal before it is reported.
 */
export class CloudServer {
  readonly cloud: FakeCloud;
  /** Resolves when the server has ended. */
  readonly ended: Promise<void>;
  readonly #options: CloudServerOptions;
  readonly #journal: Journal;
  readonly #server: Server;
  readonly #followers = new Set<ServerResponse>();
  #connections = 0;
  #stopping = false;
  #cancelIdle: (() => void) | undefined;

  private constructor(options: CloudServerOptions) {
    this.#options = options;
    this.#journal = new Journal(options.dir);
    this.cloud = new FakeCloud({ ...options, records: this.#journal });
    this.cloud.onChange((event) => this.#emit(event));
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.keepAliveTimeout = 0; // Only clients close connections, so that no call hits a closing one.
    this.#server.on('connection', (socket) => {
      this.#connections++;
      this.#cancelIdle?.();
      socket.once('close', () => {
        this.#connections--;
        this.#watchIdleness();
      });
    });
    this.ended = new Promise((resolve) => this.#server.once('close', resolve));
  }

  /** Its port, if it listens on TCP. */
  get port(): number | undefined {
    const address = this.#server.address();
    return typeof address === 'object' && address ? address.port : undefined;
  }

  /** Loads the cloud and listens. Rejects if the address is in use. */
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

  /** Stops the server. The next server continues with the instances. */
  async stop(): Promise<void> {
    if (this.#stopping) return this.ended;
    this.#stopping = true;
    this.#cancelIdle?.();
    this.cloud.stop();
    this.#journal.close();
    this.#options.endpoints?.close();
    this.#server.close();
    this.#server.closeAllConnections();
    await this.ended;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const name = request.url?.slice(1) ?? '';
    try {
      if (isFromBrowser(request)) throw new CloudFailure('invalid', 'only POST is served, and not to web pages');
      const args: unknown = JSON.parse((await readBody(request)) || 'null');
      if (name === 'events') this.#follow(response);
      else if (name === 'stop') answer(response, 200, null, () => void this.stop());
      else answer(response, 200, await this.#call(name, args));
    } catch (error) {
      const kind = error instanceof CloudFailure ? error.kind : 'invalid';
      const message = error instanceof Error ? error.message : String(error);
      if (kind === 'reset') response.destroy();
      else answer(response, STATUS[kind], { kind, message });
    }
  }

  #call(name: string, args: unknown): unknown {
    if (!isCallName(name)) throw new CloudFailure('invalid', `there is no call "${name}"`);
    // Only clients of this package call, through a directory or port of this user.
    return callCloud(this.cloud, this.#options.clock, name, args as CloudCalls[CallName][0]);
  }

  #follow(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' }).flushHeaders();
    this.#followers.add(response);
    response.once('close', () => this.#followers.delete(response));
  }

  #emit(event: InstanceEvent): void {
    const line = `${JSON.stringify({ ...event, timeMs: this.#options.clock.now() })}\n`;
    for (const follower of this.#followers) {
      follower.write(line);
      if (follower.writableLength > MAX_UNSENT_BYTES) follower.destroy();
    }
  }

  #watchIdleness(): void {
    const { idleTimeoutMs, clock } = this.#options;
    this.#cancelIdle?.();
    if (idleTimeoutMs === undefined || this.#connections > 0 || this.#stopping) return;
    this.#cancelIdle = clock.setTimer(idleTimeoutMs, () => {
      const isInUse = this.cloud.settings.ssh.enabled && this.cloud.usage.instances > 0;
      if (isInUse) this.#watchIdleness();
      else void this.stop();
    });
  }
}

/** Web pages could reach a loopback port; browsers send `Origin` with every POST. */
function isFromBrowser({ method, headers }: IncomingMessage): boolean {
  return method !== 'POST' || headers.origin !== undefined;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new CloudFailure('reset', 'the request is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function answer(response: ServerResponse, status: number, body: unknown, onSent?: () => void): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text, onSent);
}
