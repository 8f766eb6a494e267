import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** A lease as the API describes it. */
type LeaseAnswer = Record<string, unknown> & { id: string; state: string };

/** A call that arrived. */
export interface Arrived {
  /** When, by `performance.now()`. */
  readonly timeMs: number;
  readonly line: string;
  readonly key: string | undefined;
  readonly token: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What a server may do to a call instead of answering it as it should; a promise: to do it only then. */
export type Fault =
  'reset' | 'answer and reset' | Promise<void> | { status: number; code?: string; longest_ttl?: number };

/** Speaks the HTTP API of leases, with faults and states that a test chooses. */
export class LeaseServer {
  readonly calls: Arrived[] = [];
  readonly faults: Fault[] = [];
  /** State of the leases that are requested. */
  state = 'active';
  takesSshKey = false;
  readonly #leases = new Map<string, LeaseAnswer>();
  readonly #streams = new Set<ServerResponse>();
  readonly #server: Server;
  #port = 0;

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<LeaseServer> {
    const server = new LeaseServer();
    await server.listen();
    onTestFinished(() => server.stop());
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** The first words of the calls that arrived. */
  get lines(): string[] {
    return this.calls.map(({ line }) => line);
  }

  get openStreams(): number {
    return this.#streams.size;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  lease(id = 'lease1'): LeaseAnswer {
    const lease = this.#leases.get(id);
    if (!lease) throw new Error(`there is no lease ${id}`);
    return lease;
  }

  /** Changes a lease, and tells those who listen; the stream of a lease that is over ends with it. */
  change(changes: Readonly<Record<string, unknown>>, id = 'lease1'): void {
    Object.assign(this.lease(id), changes);
    for (const stream of this.#streams) {
      send(stream, this.lease(id));
      if (['ended', 'failed'].includes(this.lease(id).state)) stream.end();
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '', headers } = request;
    const timeMs = performance.now();
    const body = JSON.parse((await text(request)) || '{}') as Arrived['body'];
    const key = headers['idempotency-key'];
    this.calls.push({
      ...{ line: `${method} ${url.replace('/api/v1', '')}`, body, token: headers.authorization, timeMs },
      key: typeof key === 'string' ? key : undefined,
    });
    const fault = url.endsWith('/events') ? undefined : this.faults.shift();
    if (fault instanceof Promise) await fault;
    else if (fault === 'reset') return void request.socket.destroy();
    else if (typeof fault === 'object') return refuse(response, fault);
    const answer = this.#serve(method, url, body, response);
    if (fault === 'answer and reset') return void request.socket.destroy();
    if (answer) response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  }

  #serve(method = '', url: string, body: Arrived['body'], response: ServerResponse): unknown {
    const [, id = '', events] = /^\/api\/v1\/leases\/(\w+)(\/events)?/.exec(url) ?? [];
    if (url === '/api/v1/labels') return [{ label: 'small', takes_ssh_key: this.takesSshKey }, { label: 'big' }];
    if (url.startsWith('/explain')) return { summary: url };
    if (id === '') return method === 'POST' ? this.#create(body) : [...this.#leases.values()];
    const lease = this.#leases.get(id);
    if (!lease) return refuse(response, { status: 404, code: 'unknown-lease' });
    if (events !== undefined) {
      response.setHeader('content-type', 'text/event-stream');
      response.write(': here\n\n');
      send(response, lease);
      this.#streams.add(response);
      response.on('close', () => this.#streams.delete(response));
      return undefined;
    }
    if (method === 'DELETE') Object.assign(lease, { state: 'ended', end_reason: 'returned' });
    if (method === 'POST' && lease.state === 'ended') return refuse(response, { status: 409, code: 'over' });
    if (method === 'POST') lease['ttl'] = body['ttl'];
    return lease;
  }

  #create({ labels, ttl }: Arrived['body']): LeaseAnswer {
    const known = this.#leases.get('lease1');
    if (known) return known;
    const times = {
      created_time: 1_700_000_000,
      state_time: 1_700_000_000.5,
      ttl,
      expires: 1_700_000_180,
      gives_up: null,
    };
    const node = {
      id: '0000000001',
      label: 'small',
      host: '192.0.2.7',
      port: 22,
      connection_type: 'ssh',
      host_keys: [],
    };
    const lease = {
      ...{
        id: 'lease1',
        state: this.state,
        owner: 'alice',
        labels,
        reason: '',
        priority: 200,
        request: '200-1',
        ...times,
      },
      ...{ nodes: [{ ...node, known_hosts: ['192.0.2.7 ssh-ed25519 AAAA'] }], end_reason: null },
    };
    this.#leases.set('lease1', lease);
    return lease;
  }
}

function send(stream: ServerResponse, lease: LeaseAnswer): void {
  stream.write(`id: 1\nevent: lease\ndata: ${JSON.stringify(lease)}\n\n`);
}

function refuse(
  response: ServerResponse,
  { status, code, ...facts }: Exclude<Fault, string | Promise<void>>,
): undefined {
  const problem = { type: 'about:blank', title: '', status, code, detail: `refused: ${code}`, ...facts };
  response.writeHead(status).end(code === undefined ? '<h1>Bad gateway</h1>' : JSON.stringify(problem));
}
