import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NodepoolError } from '@nodepool/zk-protocol';
import type { Clock } from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';
import { negotiate } from './accept.js';
import { CACHE_MS, ResponseCache } from './response-cache.js';
import type { ListingRoute, LiveRoute, QueryRoute, RouteTable } from './routes.js';

const TEXT = 'text/plain; charset=UTF-8';

/** Where to listen and what to answer. */
export interface WebServerOptions {
  readonly host: string;
  /** `0` chooses a free one. */
  readonly port: number;
  readonly routes: RouteTable;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A listening server. */
export interface WebServer {
  readonly host: string;
  readonly port: number;
  /** Stops listening and cuts open connections. */
  close(): Promise<void>;
}

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Buffer | string;
}

function plain(status: number, body: string): Answer {
  return { status, headers: { 'Content-Type': TEXT, 'Access-Control-Allow-Origin': '*' }, body: `${body}\n` };
}

function freshness(computedMs: number): Record<string, string> {
  return {
    'Access-Control-Allow-Origin': '*',
    'Cache-Control': `max-age=${CACHE_MS / 1000}, public`,
    'Last-Modified': new Date(computedMs).toUTCString(),
    Expires: new Date(computedMs + CACHE_MS).toUTCString(),
  };
}

/** HTTP dates count whole seconds, so the comparison does too. */
function isUnmodified(request: IncomingMessage, computedMs: number): boolean {
  const sinceMs = Date.parse(request.headers['if-modified-since'] ?? '');
  return !Number.isNaN(sinceMs) && sinceMs >= Math.floor(computedMs / 1000) * 1000;
}

interface Target {
  path: string;
  parameters: URLSearchParams;
}

/** Paths are compared as sent, so they are not normalised as `URL` would. */
function parseTarget(url: string): Target {
  const [path = '', ...query] = url.split('?');
  return { path, parameters: new URLSearchParams(query.join('?')) };
}

function answerListing(request: IncomingMessage, target: Target, route: ListingRoute, cache: ResponseCache): Answer {
  const representation = negotiate(request.headers.accept);
  if (!representation) return plain(406, 'Only text/plain and application/json are available');
  const parameters = new URLSearchParams();
  for (const name of route.parameters) {
    const value = target.parameters.get(name);
    if (value !== null) parameters.set(name, value);
  }
  const key = `${representation} ${target.path}?${parameters.toString()}`;
  const { body, computedMs } = cache.get(key, () => route.render({ representation, parameters }));
  const headers = { ...freshness(computedMs), Vary: 'Accept' };
  if (isUnmodified(request, computedMs)) return { status: 304, headers, body: '' };
  return {
    status: 200,
    headers: { ...headers, 'Content-Type': representation === 'json' ? 'application/json' : TEXT },
    body,
  };
}

async function answerLive(route: LiveRoute, nowMs: number): Promise<Answer> {
  const { status, contentType, body } = await route.answer();
  return { status, headers: { ...freshness(nowMs), 'Content-Type': contentType }, body };
}

function answerQuery(request: IncomingMessage, target: Target, route: QueryRoute): Answer {
  const representation = negotiate(request.headers.accept);
  if (!representation) return plain(406, 'Only text/plain and application/json are available');
  const { status, contentType, body } = route.answer({ representation, parameters: target.parameters });
  const headers = {
    'Access-Control-Allow-Origin': '*',
    'Cache-Control': 'no-store',
    Vary: 'Accept',
    'Content-Type': contentType,
  };
  return { status, headers, body };
}

async function answerRequest(
  request: IncomingMessage,
  options: WebServerOptions,
  cache: ResponseCache,
): Promise<Answer> {
  const target = parseTarget(request.url ?? '/');
  const route = options.routes.get(target.path);
  if (!route) return plain(404, 'Not found');
  if (route.kind === 'listing') return answerListing(request, target, route, cache);
  if (route.kind === 'query') return answerQuery(request, target, route);
  return answerLive(route, options.clock.now());
}

function send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const headers = { ...answer.headers, 'X-Content-Type-Options': 'nosniff' };
  const length = answer.status === 304 ? {} : { 'Content-Length': String(Buffer.byteLength(answer.body)) };
  response.writeHead(answer.status, { ...headers, ...length });
  response.end(request.method === 'HEAD' || answer.status === 304 ? undefined : answer.body);
}

function createHandler(options: WebServerOptions): (request: IncomingMessage, response: ServerResponse) => void {
  const cache = new ResponseCache(options.clock);
  return (request, response) => {
    request.resume(); // A body, if any, is of no interest.
    answerRequest(request, options, cache)
      .catch((error: unknown) => {
        options.logger.error('Failed to answer a web request', { path: request.url, error });
        return plain(500, 'Internal error; see the log of the launcher');
      })
      .then((answer) => send(request, response, answer))
      .catch((error: unknown) => {
        options.logger.debug('Failed to send a web answer', { path: request.url, error });
        response.destroy();
      });
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'EADDRINUSE'
          ? 'the address is in use; stop the other process, set webapp.port, or start with --no-webapp'
          : error.message;
      reject(new NodepoolError('NODEPOOL_WEB_LISTEN', `cannot listen on ${host}:${port}: ${reason}`, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
}

/**
 * Starts answering.
 * @throws NODEPOOL_WEB_LISTEN when the address cannot be had
 */
export async function startWebServer(options: WebServerOptions): Promise<WebServer> {
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, createHandler(options));
  await listen(server, options.host, options.port);
  server.on('error', (error) => options.logger.error('Web server failed', { error }));
  const { address, port } = server.address() as AddressInfo;
  options.logger.info('Web server listening', { host: address, port });
  return {
    host: address,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
