import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { delay, systemClock, type Clock, type Json, type JsonObject } from '@nodepool/zk-protocol';
import { compute } from './compute.js';
import { object, Refusal, text, type FakeAnswer, type FakeRequest } from './http.js';
import { network } from './network.js';
import { FakeCloudState } from './state.js';
import { image, volume } from './storage.js';

/** What a call meets with instead of, or beside, its usual answer. */
export interface Fault {
  /** E.g. `POST`; any without. */
  readonly method?: string;
  /** Searched in service and path, e.g. `compute/servers$`. */
  readonly path?: RegExp;
  /** How many times; without it, always. */
  times?: number;
  /** The service does what is asked first. */
  readonly after?: boolean;
  readonly delayMs?: number;
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** Cut the connection instead of answering. */
  readonly reset?: boolean;
  /** Never answer. */
  readonly silent?: boolean;
  /** Answer with text that never ends; over HTTP alone. */
  readonly endless?: boolean;
}

/** One call that arrived. */
export interface SeenCall {
  readonly service: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly atMs: number;
}

type Handler = (state: FakeCloudState, request: FakeRequest) => FakeAnswer;

const SERVICES: Readonly<Record<string, { type: string; root: string; strip: RegExp; handle: Handler }>> = {
  compute: { type: 'compute', root: '/compute/v2.1', strip: /^\/compute\/v2\.1/, handle: compute },
  network: { type: 'network', root: '/network', strip: /^\/network/, handle: network },
  image: { type: 'image', root: '/image', strip: /^\/image/, handle: image },
  volume: { type: 'volumev3', root: '/volume/v3/project-1', strip: /^\/volume\/v3(\/project-1)?/, handle: volume },
};

/** Dropped instead of answered. */
class Dropped extends Error {}

/**
 * A cloud that speaks the APIs of Keystone, Nova, Neutron, Glance and Cinder as far as the driver uses them: over HTTP,
 * or called directly. Faults and slowness can be ordered.
 */
export class FakeOpenStack {
  readonly state: FakeCloudState;
  readonly calls: SeenCall[] = [];
  readonly faults: Fault[] = [];
  /** Entries that every list begins with. */
  readonly broken: Json[] = [];
  password = 'secret';
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #arrivals = new Set<() => void>();
  #server: Server | undefined;
  #base = 'http://fake.invalid';

  constructor(clock: Clock = systemClock) {
    setMaxListeners(0, this.#stop.signal); // one for each call that waits
    this.#clock = clock;
    this.state = new FakeCloudState(clock);
  }

  get authUrl(): string {
    return `${this.#base}/identity/v3`;
  }

  /** The entry of `clouds.yaml` for it. */
  get entry(): JsonObject {
    return {
      region_name: 'RegionOne',
      auth: { auth_url: this.authUrl, username: 'nodepool', password: this.password, project_name: 'ci' },
    };
  }

  /** Begins to listen on loopback. */
  async listen(tls?: { key: string; cert: string }): Promise<this> {
    const onRequest = (request: IncomingMessage, response: ServerResponse) => void this.#serve(request, response);
    this.#server = tls ? createTlsServer(tls, onRequest) : createServer(onRequest);
    await new Promise<void>((resolve) => this.#server?.listen(0, '127.0.0.1', resolve));
    const { port } = this.#server.address() as AddressInfo;
    this.#base = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`;
    return this;
  }

  async close(): Promise<void> {
    this.#stop.abort(new Error('the fake cloud is closed'));
    this.#server?.closeAllConnections();
    await new Promise<void>((resolve) => (this.#server ? this.#server.close(() => resolve()) : resolve()));
  }

  /** Resolves once a call of a kind has arrived, whether or not it is answered. */
  arrived(method: string, path: RegExp): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (this.count(method, path) === 0) return;
        this.#arrivals.delete(look);
        resolve();
      };
      this.#arrivals.add(look);
      look();
    });
  }

  /** Calls of a kind so far. */
  count(method: string, path: RegExp): number {
    return this.calls.filter((call) => call.method === method && path.test(`${call.service}${call.path}`)).length;
  }

  /** Answers one request. @throws {Dropped} it is not answered */
  async handle(method: string, url: URL, headers: Readonly<Record<string, string>>, raw: Buffer): Promise<FakeAnswer> {
    const service = url.pathname.split('/')[1] ?? '';
    const known = SERVICES[service];
    const path = known ? url.pathname.replace(known.strip, '') || '/' : url.pathname.replace('/identity', '');
    this.calls.push({ service, method, path, query: url.search, headers, atMs: this.#clock.now() });
    for (const look of this.#arrivals) look();
    const fault = this.#takeFault(method, `${service}${path}`);
    const waitMs = (fault?.delayMs ?? 0) + this.state.knobs.apiMs;
    if (waitMs > 0) await delay(this.#clock, waitMs, this.#stop.signal);
    const answer = (): FakeAnswer => this.#answer(service, { method, url, path, headers, raw });
    if (fault?.after) answer();
    if (fault?.silent) await new Promise((_, reject) => this.#stop.signal.addEventListener('abort', reject));
    if (fault?.reset) throw new Dropped();
    if (fault?.endless) return { status: 200, endless: true };
    if (fault?.status !== undefined) {
      return {
        status: fault.status,
        headers: { 'content-type': 'text/plain', ...fault.headers },
        body: fault.body ?? 'injected',
      };
    }
    return answer();
  }

  #takeFault(method: string, path: string): Fault | undefined {
    const found = this.faults.find(
      (fault) => fault.times !== 0 && (fault.method ?? method) === method && (fault.path ?? /^/).test(path),
    );
    if (found?.times !== undefined) found.times--;
    return found;
  }

  #answer(
    service: string,
    call: { method: string; url: URL; path: string; headers: Readonly<Record<string, string>>; raw: Buffer },
  ): FakeAnswer {
    const requestId = `req-${randomUUID()}`;
    const withId = (answer: FakeAnswer) => ({
      ...answer,
      headers: { 'x-openstack-request-id': requestId, ...answer.headers },
    });
    const { method, url, path, headers, raw } = call;
    const isJson = headers['content-type'] === 'application/json' && raw.length > 0;
    const body = isJson ? object(JSON.parse(raw.toString()) as JsonObject) : {};
    try {
      const known = SERVICES[service];
      if (!known) return withId(this.#keystone(method, path, body));
      if (path !== '/') this.#checkToken(headers['x-auth-token']);
      const request = { method, path, query: url.searchParams, headers, body, raw, root: `${this.#base}${known.root}` };
      const answer = known.handle(this.state, request);
      return withId(method === 'GET' ? this.#withBroken(answer) : answer);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return withId({ status: error.status, headers: error.headers, body: refusalBody(service, error) });
    }
  }

  #withBroken(answer: FakeAnswer): FakeAnswer {
    const lists = Object.entries(typeof answer.body === 'string' ? {} : object(answer.body));
    const body = lists.map(([key, value]) => {
      const isList = Array.isArray(value) && !/_links$|^versions$/.test(key);
      return [key, isList ? [...this.broken, ...value] : value];
    });
    return this.broken.length === 0 ? answer : { ...answer, body: Object.fromEntries(body) as JsonObject };
  }

  #checkToken(token: string | undefined): void {
    const expiresMs = this.state.tokens.get(token ?? '');
    if (expiresMs === undefined || expiresMs <= this.#clock.now()) {
      throw new Refusal(401, 'The request you have made requires authentication.');
    }
  }

  #keystone(method: string, path: string, body: JsonObject): FakeAnswer {
    if (method !== 'POST' || path !== '/v3/auth/tokens') throw new Refusal(404, 'Not found');
    const identity = object(object(body['auth'])['identity']);
    const user = object(object(identity['password'])['user']);
    const credential = object(identity['application_credential']);
    const secret = text(user['password']) || text(credential['secret']) || text(object(identity['token'])['id']);
    if (secret !== this.password) throw new Refusal(401, 'The request you have made requires authentication.');
    const id = randomUUID();
    const now = this.#clock.now();
    this.state.tokens.set(id, now + this.state.knobs.tokenLifeMs);
    const token = {
      methods: ['password'],
      issued_at: new Date(now).toISOString(),
      expires_at: new Date(now + this.state.knobs.tokenLifeMs).toISOString(),
      project: { id: 'project-1', name: 'ci', domain: { id: 'default', name: 'Default' } },
      catalog: this.#catalog(),
    };
    return { status: 201, headers: { 'x-subject-token': id }, body: { token } };
  }

  #catalog(): JsonObject[] {
    const { hasNetwork, hasVolumes } = this.state.knobs;
    return Object.entries(SERVICES)
      .filter(([name]) => (name !== 'network' || hasNetwork) && (name !== 'volume' || hasVolumes))
      .map(([name, { type, root }]) => ({
        type,
        name,
        id: name,
        endpoints: ['public', 'internal'].map((side) => ({
          id: `${name}-${side}`,
          interface: side,
          region: 'RegionOne',
          region_id: 'RegionOne',
          url: `${this.#base}${root}`,
        })),
      }));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer); // throws when the caller hangs up
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const url = new URL(request.url ?? '/', this.#base);
      const answer = await this.handle(request.method ?? 'GET', url, headers, Buffer.concat(chunks));
      if (answer.endless) {
        response.writeHead(answer.status, { 'content-type': 'application/json' });
        Readable.from(endless()).pipe(response);
        return;
      }
      const body = bodyText(answer);
      response.writeHead(answer.status, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        ...answer.headers,
      });
      response.end(body);
    } catch {
      request.socket.destroy();
    }
  }
}

function* endless(): Generator<Buffer> {
  const piece = Buffer.alloc(1_048_576, ' ');
  for (;;) yield piece;
}

/** The body of an answer as it goes over the wire. */
export function bodyText({ body }: FakeAnswer): string {
  if (body === undefined) return '';
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/** Each service has a form of its own for errors. */
function refusalBody(service: string, { status, message }: Refusal): JsonObject | string {
  if (service === 'network') return { NeutronError: { type: 'Error', message, detail: '' } };
  if (service === 'image')
    return `<html><head><title>${status}</title></head><body><h1>${status}</h1>${message}</body></html>`;
  if (service === 'identity') return { error: { code: status, message, title: 'Error' } };
  return { [status === 404 ? 'itemNotFound' : status === 403 ? 'forbidden' : 'badRequest']: { code: status, message } };
}
