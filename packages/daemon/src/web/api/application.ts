import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { Logger } from '@nodepool/core';
import type { ApiToken } from '@nodepool/core/config';
import { didYouMean } from '@nodepool/core/service';
import type { Clock, Json, JsonObject } from '@nodepool/zk-protocol';
import { ComputeBudget } from '../compute-budget.js';
import { ResponseCache } from '../response-cache.js';
import { writeParts } from '../write-parts.js';
import { ApiError } from '../api-error.js';
import { authorizeOperator } from '../authorize.js';
import { shareOf } from '../client-share.js';
import type { Caller, WebGate } from '../gate.js';
import type { EventStreams } from './events.js';
import { API_ROOT, MAX_IDEMPOTENCY_KEY, openApiDocument } from './openapi.js';
import type { ApiCall, ApiOperation, ApiPart } from './operation.js';
import { readPageFiles } from './page-files.js';
import { bodyErrorText, MAX_BODY_BYTES, readBodies, refusedMember } from './request-body.js';
import { RefusalLog } from './refusal-log.js';
import { schemaError } from './schema-error.js';

const MAX_PARAMETER_LENGTH = 255;
const JSON_TYPE = 'application/json';
const POLICY = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** Options of the application. */
export interface ApplicationOptions {
  readonly api: ApiPart;
  readonly events: EventStreams;
  /** Current tokens for writes. */
  readonly tokens: () => readonly ApiToken[];
  readonly gate: WebGate;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Program name, for the OpenAPI document. */
  readonly title: string;
  readonly version: string;
}

/** Answers the API below `/api/v1` and the status page. */
export type Application = (request: IncomingMessage, response: ServerResponse) => void;

/** Assembles the application. Loads its modules on the first request only. */
export async function createApplication(options: ApplicationOptions): Promise<Application> {
  const { fastify } = await import('fastify');
  const app = fastify({
    bodyLimit: MAX_BODY_BYTES,
    // a misspelled member is refused, not ignored, and a value is no list of one
    ajv: { customOptions: { removeAdditional: false, coerceTypes: true } },
    schemaErrorFormatter: schemaError,
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH, caseSensitive: true },
    frameworkErrors(_error, _request, reply) {
      void refuse(reply, notFound());
    },
  });
  readBodies(app);
  app.setNotFoundHandler((_request, reply) => refuse(reply, notFound()));
  app.setErrorHandler((error, request, reply) => refuse(reply, toApiError(error, request, options.logger)));
  const refusals = new RefusalLog(options.clock, options.logger);
  const shared = {
    ...options,
    refusals,
    cache: new ResponseCache(options.clock),
    budget: new ComputeBudget(options.clock),
    checks: new Set(options.api.operations.flatMap((operation) => operation.authorize ?? [])),
  };
  for (const operation of options.api.operations) addOperation(app, operation, shared);
  addDocument(app, options);
  addEvents(app, options);
  addPage(app);
  await app.ready();
  return (request, response) => void app.routing(request, response);
}

interface Shared extends ApplicationOptions {
  readonly refusals: RefusalLog;
  readonly cache: ResponseCache;
  readonly budget: ComputeBudget;
  /** Those of operations that have callers other than operators. */
  readonly checks: ReadonlySet<NonNullable<ApiOperation['authorize']>>;
}

const notFound = () => new ApiError(404, 'not-found', 'There is no such path');

function refuse(reply: FastifyReply, { status, code, message, facts }: ApiError): FastifyReply {
  if (status === 401) void reply.header('WWW-Authenticate', 'Bearer');
  if (status === 429) void reply.header('Retry-After', '1');
  void reply.code(status).header('Cache-Control', 'no-store').header('X-Content-Type-Options', 'nosniff');
  const title = STATUS_CODES[status] ?? 'Error';
  const problem = { type: 'about:blank', title, status, code, detail: message, ...facts };
  return reply.type('application/problem+json').send(JSON.stringify(problem));
}

function toApiError(error: unknown, request: FastifyRequest, logger: Logger): ApiError {
  if (error instanceof ApiError) return error;
  const { statusCode, code, message = '' } = error as { statusCode?: number; code?: string; message?: string };
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new ApiError(statusCode, 'bad-request', bodyErrorText(code) ?? message);
  }
  logger.error('Failed to answer a web request', { path: request.url, error });
  return new ApiError(500, 'internal', 'Internal error; see the log of the service');
}

function addOperation(app: FastifyInstance, operation: ApiOperation, shared: Shared): void {
  const { method, path, query, body } = operation;
  const { handler, onRequest } = routeOf(operation, shared);
  app.route({
    method,
    url: `${API_ROOT}${path.replace(/\{(\w+)\}/g, ':$1')}`,
    schema: {
      ...(query && { querystring: { type: 'object', properties: query } }),
      ...(body && { body: { ...body, type: body['required'] === undefined ? ['object', 'null'] : 'object' } }),
    },
    ...(onRequest && { onRequest }),
    preValidation: (request, _reply, done) =>
      done(refusedMember(request.query, { properties: query ?? {} }) ?? (body && refusedMember(request.body, body))),
    handler,
  });
}

/** What answers the calls of an operation. */
interface Route {
  /** Before the body is read. */
  readonly onRequest?: onRequestHookHandler;
  readonly handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
}

function routeOf(operation: ApiOperation, shared: Shared): Route {
  if (operation.stream) return { handler: streamer(operation, shared) };
  if (operation.method !== 'GET') return writer(operation, shared);
  return { handler: operation.authorize ? privateReader(operation, shared) : reader(operation, shared) };
}

/** Lets pages of other sites read an answer, where the configuration says so. */
const forOtherSites = ({ allowsOtherSites }: WebGate): Record<string, string> =>
  allowsOtherSites ? { 'Access-Control-Allow-Origin': '*' } : {};

function callOf(request: FastifyRequest, caller?: Caller): ApiCall {
  const key = request.headers['idempotency-key'];
  if (key !== undefined && (key.length === 0 || key.length > MAX_IDEMPOTENCY_KEY))
    throw new ApiError(400, 'bad-request', `The header Idempotency-Key has 1 to ${MAX_IDEMPOTENCY_KEY} characters`);
  return {
    path: request.params as ApiCall['path'],
    query: request.query as ApiCall['query'],
    body: (request.body ?? {}) as JsonObject,
    ...{ actor: caller?.name, caller },
    idempotencyKey: typeof key === 'string' ? key : undefined,
  };
}

function sendJson(reply: FastifyReply, body: Buffer | string): FastifyReply {
  return reply.header('X-Content-Type-Options', 'nosniff').type(JSON_TYPE).send(body);
}

/** Computes a whole list at most once a second for all clients, and everything else within the budget. */
function reader(operation: ApiOperation, { cache, budget, gate }: Shared) {
  const isList = operation.pathParameters === undefined;
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const call = callOf(request);
    refuseUnknown(operation, call);
    const isWhole = isList && Object.values(call.query).every((value) => value === undefined);
    void reply.headers(forOtherSites(gate)).header('Cache-Control', isWhole ? 'max-age=1' : 'no-store');
    const body = isWhole ? await wholeBody(operation, call, cache) : await bodyOf(operation, call, budget);
    if (!body) throw new ApiError(429, 'busy', 'Too many requests; retry later');
    return sendJson(reply, body);
  };
}

/** Answers for the caller alone: nothing is cached, nor readable by pages of other origins. */
function privateReader(operation: ApiOperation, shared: Shared) {
  const check = checkOf(operation, shared);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const next = (cursor: string) => {
      const page = new URL(request.url, 'http://x');
      page.searchParams.set('cursor', cursor);
      void reply.header('Link', `<${page.pathname}${page.search}>; rel="next"`);
    };
    const call = { ...callOf(request, check(request)), next };
    refuseUnknown(operation, call);
    const answer = await operation.handle(call);
    return sendJson(reply.header('Cache-Control', 'no-store'), [...partsOf(answer)].join(''));
  };
}

/** Finds out who calls. Operations without a check of their own need an entry of `api-tokens`. @throws ApiError */
function checkOf(
  { authorize: own }: ApiOperation,
  { tokens, gate, checks }: Shared,
): (request: FastifyRequest) => Caller {
  const identify = own ?? ((credentials) => authorizeOperator(credentials, tokens(), checks));
  return ({ raw }) => {
    const caller = identify(gate.credentialsOf(raw));
    gate.connections.identified(raw.socket);
    return caller;
  };
}

function streamer(operation: ApiOperation, shared: Shared) {
  const check = checkOf(operation, shared);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const call = callOf(request, check(request));
    refuseUnknown(operation, call);
    await operation.stream?.(call, reply.raw);
    reply.hijack();
  };
}

/** Refuses unknown parameters: a misspelled filter would return the whole list as if it matched. */
function refuseUnknown({ query: known = {} }: ApiOperation, { query }: ApiCall): void {
  const names = Object.keys(known);
  const unknown = Object.keys(query).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  const all = names.length === 0 ? 'none' : names.join(', ');
  const text = `There is no parameter "${unknown}"${didYouMean(unknown, names) || '.'} Parameters: ${all}`;
  throw new ApiError(400, 'unknown-parameter', text);
}

/** The whole list, from memory. */
async function wholeBody(operation: ApiOperation, call: ApiCall, cache: ResponseCache): Promise<Buffer | undefined> {
  const write = async () => {
    const answer = await operation.handle(call);
    return (await writeParts(partsOf(answer))).body;
  };
  return (await cache.get(operation.id, write))?.body;
}

/** @returns `undefined` if the budget is spent */
async function bodyOf(operation: ApiOperation, call: ApiCall, budget: ComputeBudget): Promise<Buffer | undefined> {
  const handled = budget.spend(() => operation.handle(call));
  if (!handled) return undefined;
  const answer = await handled.result;
  return budget.write(() => partsOf(answer));
}

/** Number of list items per part. */
const ITEMS_A_PART = 50;

function* partsOf(answer: Json | Iterable<Json>): Generator<string, void> {
  if (answer === null || typeof answer !== 'object' || !(Symbol.iterator in answer)) {
    yield JSON.stringify(answer);
    return;
  }
  let part = '[';
  let count = 0;
  for (const item of answer) {
    part += `${count === 0 ? '' : ','}${JSON.stringify(item)}`;
    if (++count % ITEMS_A_PART !== 0) continue;
    yield part;
    part = '';
  }
  yield `${part}]`;
}

const LONGEST_LOGGED = 64;
/** Clients choose the parameters. */
const shortened = (text: string) => (text.length > LONGEST_LOGGED ? `${text.slice(0, LONGEST_LOGGED)}...` : text);

/** Keys of repeated writes that are remembered. */
const MOST_KEYS = 1_000;

/** Tells whether a write is the first with its key: clients repeat a write until they have its answer. */
function firstOfKey(): (actor: string, key: string | undefined) => boolean {
  const known = new Set<string>();
  return (actor, key) => {
    if (key === undefined) return true;
    const one = `${actor} ${key}`;
    const isFirst = !known.delete(one);
    known.add(one);
    for (const oldest of known) {
      if (known.size <= MOST_KEYS) break;
      known.delete(oldest);
    }
    return isFirst;
  };
}

/** What the log says of a write. */
function auditOf(operation: ApiOperation, request: FastifyRequest, gate: WebGate) {
  const target = Object.entries(request.params as Record<string, string>).map(([name, value]) => [
    name,
    shortened(value),
  ]);
  const address = gate.addressOf(request.raw);
  return { operation: operation.id, ...(Object.fromEntries(target) as Record<string, string>), address };
}

/**
 * Checks who writes before the body is read. Logs one audit line for each write, however often it is repeated, and for refused ones a
 * line for many where there are many.
 */
function writer(operation: ApiOperation, shared: Shared): Route {
  const { gate, logger, refusals } = shared;
  const isFirst = firstOfKey();
  const check = checkOf(operation, shared);
  const callers = new WeakMap<FastifyRequest, Caller>();
  const refused = (request: FastifyRequest, error: unknown) => {
    const audit = auditOf(operation, request, gate);
    const actor = callers.get(request)?.name;
    const outcome = error instanceof ApiError ? error.code : 'error';
    const client = actor === undefined ? shareOf(audit.address) : `token ${actor}`;
    refusals.refused(client, { ...audit, ...{ actor: actor ?? null, outcome } });
    return error as Error;
  };
  return {
    onRequest(request, _reply, done) {
      try {
        callers.set(request, check(request));
      } catch (error) {
        return done(refused(request, error));
      }
      done();
    },
    async handler(request, reply) {
      const call = callOf(request, callers.get(request));
      try {
        const answer = await operation.handle(call);
        const audit = { ...auditOf(operation, request, gate), actor: call.actor, outcome: 'done' };
        if (isFirst(call.actor ?? '', call.idempotencyKey)) logger.info('Write through the web API', audit);
        return await sendJson(reply.header('Cache-Control', 'no-store'), JSON.stringify(answer));
      } catch (error) {
        throw refused(request, error);
      }
    },
  };
}

function addDocument(app: FastifyInstance, { api, title, version, gate }: ApplicationOptions): void {
  const document = JSON.stringify(openApiDocument(api, { title, version }));
  app.get(`${API_ROOT}/openapi.json`, (_request, reply) => {
    void reply.headers(forOtherSites(gate)).header('Cache-Control', 'max-age=60');
    return sendJson(reply, document);
  });
}

function addEvents(app: FastifyInstance, { events, gate }: Pick<ApplicationOptions, 'events' | 'gate'>): void {
  app.get<{ Querystring: { types?: string } }>(`${API_ROOT}/events`, (request, reply) => {
    for (const [name, value] of Object.entries(forOtherSites(gate))) reply.raw.setHeader(name, value);
    events.open(request.raw, reply.raw, request.query.types, gate.addressOf(request.raw));
    reply.hijack();
  });
}

function addPage(app: FastifyInstance): void {
  for (const [path, { contentType, body, compressed, isForever }] of readPageFiles()) {
    app.get(path, (request, reply) => {
      const isCompressed = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
      void reply
        .header('Cache-Control', isForever ? 'max-age=31536000, immutable' : 'no-cache')
        .header('Content-Security-Policy', POLICY)
        .header('Vary', 'Accept-Encoding')
        .header('X-Content-Type-Options', 'nosniff')
        .type(contentType);
      if (isCompressed) void reply.header('Content-Encoding', 'gzip');
      return reply.send(isCompressed ? compressed : body);
    });
  }
}
