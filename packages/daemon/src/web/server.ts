import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { NodepoolError } from '@nodepool/zk-protocol';
import type { Clock } from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';
import type { ApiToken, WebCertificate } from '@nodepool/core/config';
import { negotiate } from './accept.js';
import { ApiError } from './api-error.js';
import { authorize } from './authorize.js';
import { ComputeBudget } from './compute-budget.js';
import { ConnectionLimits } from './connection-limits.js';
import type { WebGate } from './gate.js';
import { hasProof, proofChallenge } from './proof.js';
import { CACHE_MS, ResponseCache } from './response-cache.js';
import type { CachedBody } from './response-cache.js';
import type { FileRoute, ListingRoute, LiveRoute, QueryRoute, RouteQuery, RouteTable, SharedRoute } from './routes.js';
import { writeParts } from './write-parts.js';

const TEXT = 'text/plain; charset=UTF-8';

const MAX_HEADER_BYTES = 16 * 1024;
/** A request, and the handshake before it, must arrive within this time. */
const ARRIVAL_MS = 10_000;
/** Options of {@link startWebServer}. */
export interface WebServerOptions {
  readonly host: string;
  /** `0` selects a free port. */
  readonly port: number;
  /** Part of the configuration that has the port, for errors. Default: `webapp`. */
  readonly section?: string | undefined;
  readonly routes: RouteTable;
  /** Default: HTTP. */
  readonly certificate?: WebCertificate | undefined;
  /** Tokens for each {@link FileRoute}; without any, those routes are closed. */
  readonly tokens?: (() => readonly ApiToken[]) | undefined;
  /** Checks how tokens arrive, and which connections are accepted. Default: any token, no trusted proxies. */
  readonly gate?: WebGate | undefined;
  /** Answers paths without a route. Default: 404. */
  readonly application?: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A listening server. */
export interface WebServer {
  readonly host: string;
  readonly port: number;
  /** Answers requests of other listeners. */
  readonly handler: RequestListener;
  /** Uses another certificate for connections from now on. Without effect for HTTP. */
  setCertificate(certificate: WebCertificate): void;
  /** Stops listening and closes open connections. */
  close(): Promise<void>;
}

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Buffer | string;
}

function plain(status: number, body: string): Answer {
  return { status, headers: { 'Content-Type': TEXT }, body: `${body}\n` };
}

function freshness(computedMs: number): Record<string, string> {
  return {
    'Cache-Control': `max-age=${CACHE_MS / 1000}, public`,
    'Last-Modified': new Date(computedMs).toUTCString(),
    Expires: new Date(computedMs + CACHE_MS).toUTCString(),
  };
}

/** Compares whole seconds, as HTTP dates have no fractions. */
function isUnmodified(request: IncomingMessage, computedMs: number): boolean {
  const sinceMs = Date.parse(request.headers['if-modified-since'] ?? '');
  return !Number.isNaN(sinceMs) && sinceMs >= Math.floor(computedMs / 1000) * 1000;
}

/** State shared by all answers of a server. */
interface Web {
  readonly options: WebServerOptions;
  readonly cache: ResponseCache;
  /** Of {@link SharedRoute}: no query displaces them. */
  readonly shared: ResponseCache;
  readonly budget: ComputeBudget;
}

function busy(): Answer {
  const refusal = plain(429, 'Too many requests; retry later');
  return { ...refusal, headers: { ...refusal.headers, 'Retry-After': '1' } };
}

/** Computes the whole listing at most once a second, and selections of fields within the budget. */
async function keptOrNew(
  route: ListingRoute,
  query: RouteQuery,
  { options, cache, budget }: Web,
  key: string,
): Promise<CachedBody | undefined> {
  const whole = async () => (await writeParts(route.render(query))).body;
  if (route.isCheap(query.parameters)) return { computedMs: options.clock.now(), body: await whole() };
  return cache.get(key, query.parameters.size === 0 ? whole : () => budget.write(() => route.render(query)));
}

interface Target {
  path: string;
  parameters: URLSearchParams;
}

/** Paths are compared as sent; `URL` would normalize them. */
function parseTarget(url: string): Target {
  const [path = '', ...query] = url.split('?');
  return { path, parameters: new URLSearchParams(query.join('?')) };
}

async function answerListing(request: IncomingMessage, target: Target, route: ListingRoute, web: Web): Promise<Answer> {
  const representation = negotiate(request.headers.accept);
  if (!representation) return plain(406, 'Only text/plain and application/json are available');
  const parameters = route.normalize(target.parameters);
  const key = `${representation} ${target.path}?${parameters.toString()}`;
  const kept = await keptOrNew(route, { representation, parameters }, web, key);
  if (!kept) return busy();
  const { body, computedMs } = kept;
  // like the original Nodepool, lets pages of other origins read listings
  const headers = { ...freshness(computedMs), Vary: 'Accept', 'Access-Control-Allow-Origin': '*' };
  if (isUnmodified(request, computedMs)) return { status: 304, headers, body: '' };
  return {
    status: 200,
    headers: { ...headers, 'Content-Type': representation === 'json' ? 'application/json' : TEXT },
    body,
  };
}

async function answerLive(route: LiveRoute, nowMs: number): Promise<Answer> {
  const { status, contentType, body } = await route.answer();
  const origin: Record<string, string> = route.isPublic === true ? { 'Access-Control-Allow-Origin': '*' } : {};
  return { status, headers: { ...freshness(nowMs), ...origin, 'Content-Type': contentType }, body };
}

async function answerShared({ path }: Target, route: SharedRoute, { shared }: Web): Promise<Answer> {
  const kept = await shared.get(path, async () => Buffer.from(await route.text()));
  if (!kept) return busy();
  return {
    status: 200,
    headers: { ...freshness(kept.computedMs), 'Content-Type': route.contentType },
    body: kept.body,
  };
}

function answerQuery(request: IncomingMessage, target: Target, route: QueryRoute, { budget }: Web): Answer {
  const representation = negotiate(request.headers.accept);
  if (!representation) return plain(406, 'Only text/plain and application/json are available');
  const computed = budget.spend(() => route.answer({ representation, parameters: target.parameters }));
  if (!computed) return busy();
  const { status, contentType, body } = computed.result;
  return { status, headers: { 'Cache-Control': 'no-store', Vary: 'Accept', 'Content-Type': contentType }, body };
}

/** Every user of this computer reaches the port, whatever the permissions of the file are. */
const NO_TOKENS =
  'Shown only to holders of a token, and this service has no api-tokens in its secure file; users who may read the file read it there';

/** @returns the refusal if this request may not read files */
function refusal(request: IncomingMessage, { tokens: now, clock, gate }: WebServerOptions): Answer | undefined {
  const tokens = now?.() ?? [];
  if (tokens.length === 0) return plain(403, NO_TOKENS);
  const nowMs = clock.now();
  if (hasProof(request.headers.authorization, { target: request.url ?? '/', tokens, nowMs })) return undefined;
  try {
    gate?.checkToken(request);
    authorize(request.headers.authorization, tokens);
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const answer = plain(error.status, error.message);
    const challenge = `Bearer, ${proofChallenge(nowMs)}`;
    return { ...answer, headers: { ...answer.headers, 'WWW-Authenticate': challenge, 'Cache-Control': 'no-store' } };
  }
}

async function answerFile(route: FileRoute, { parameters }: Target): Promise<Answer> {
  const { status, contentType, body } = await route.answer(parameters);
  return { status, headers: { 'Cache-Control': 'no-store', 'Content-Type': contentType }, body };
}

async function answerRequest(request: IncomingMessage, web: Web): Promise<Answer> {
  const { routes, clock } = web.options;
  const target = parseTarget(request.url ?? '/');
  const route = routes.get(target.path);
  if (!route) return plain(404, 'Not found');
  if (route.kind === 'listing') return answerListing(request, target, route, web);
  if (route.kind === 'shared') return answerShared(target, route, web);
  if (route.kind === 'query') return answerQuery(request, target, route, web);
  if (route.kind === 'file') return refusal(request, web.options) ?? answerFile(route, target);
  return answerLive(route, clock.now());
}

function send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const headers = { ...answer.headers, 'X-Content-Type-Options': 'nosniff' };
  const length = answer.status === 304 ? {} : { 'Content-Length': String(Buffer.byteLength(answer.body)) };
  response.writeHead(answer.status, { ...headers, ...length });
  response.end(request.method === 'HEAD' || answer.status === 304 ? undefined : answer.body);
}

function createHandler(options: WebServerOptions): RequestListener {
  const { clock } = options;
  const caches = { cache: new ResponseCache(clock), shared: new ResponseCache(clock) };
  const web = { options, ...caches, budget: new ComputeBudget(clock) };
  return (request, response) => {
    if (options.application && !options.routes.has(parseTarget(request.url ?? '/').path)) {
      options.application(request, response);
      return;
    }
    request.resume(); // discards a body
    answerRequest(request, web)
      .catch((error: unknown) => {
        options.logger.error('Failed to answer a web request', { path: request.url, error });
        return plain(500, 'Internal error; see the log of the service');
      })
      .then((answer) => send(request, response, answer))
      .catch((error: unknown) => {
        options.logger.debug('Failed to send a web answer', { path: request.url, error });
        response.destroy();
      });
  };
}

function listen(
  server: Server,
  { host, port, section = 'webapp' }: Pick<WebServerOptions, 'host' | 'port' | 'section'>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'EADDRINUSE'
          ? `the address is in use; stop the other process, set ${section}.port, or start with --no-webapp`
          : error.message;
      reject(new NodepoolError('NODEPOOL_WEB_LISTEN', `cannot listen on ${host}:${port}: ${reason}`, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
}

/**
 * Starts a web server.
 * @throws NODEPOOL_WEB_LISTEN if the address is not available
 */
export async function startWebServer(options: WebServerOptions): Promise<WebServer> {
  const { certificate } = options;
  const limits = { requestTimeout: ARRIVAL_MS, headersTimeout: ARRIVAL_MS, maxHeaderSize: MAX_HEADER_BYTES };
  const handler = createHandler(options);
  const tlsServer: TlsServer | undefined =
    certificate && createTlsServer({ ...limits, ...certificate, handshakeTimeout: ARRIVAL_MS }, handler);
  const server = tlsServer ?? createServer(limits, handler);
  (options.gate?.connections ?? new ConnectionLimits(() => false)).apply(server);
  await listen(server, options);
  server.on('error', (error) => options.logger.error('Web server failed', { error }));
  const { address, port } = server.address() as AddressInfo;
  options.logger.info('Web server listening', { host: address, port, ...(certificate && { tls: true }) });
  return {
    host: address,
    port,
    handler,
    setCertificate: (next) => tlsServer?.setSecureContext(next),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
