import { Ajv, type ValidateFunction } from 'ajv';
import type { JsonObject } from '@nodepool/zk-protocol';
import type { ComputeDescription, ComputeMethod } from '../description/description.js';
import { ERROR_BODY, SYSTEM_PARAMETERS } from './not-described.js';

/** A received request. */
export interface ApiRequest {
  readonly verb: string;
  /** Without the query string. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Body text; empty if there is none. */
  readonly body: string;
}

/** A request that matches the API description. */
export interface CheckedRequest {
  readonly method: ComputeMethod;
  /** Path parameters: `project`, `zone`, ... */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | number | boolean>>;
  readonly body: JsonObject | undefined;
}

/** An exchange violates Google's API description. */
export class ExchangeError extends Error {}

interface Route {
  readonly method: ComputeMethod;
  readonly pattern: RegExp;
  readonly body: ValidateFunction | undefined;
  readonly response: ValidateFunction;
  readonly query: ValidateFunction;
}

const checkers = new WeakMap<ComputeDescription, ExchangeChecker>();

/** Checks requests and responses against Google's API description. */
export class ExchangeChecker {
  readonly #routes: readonly Route[];
  readonly #errorBody: ValidateFunction;

  /** Cached checker of a description, as compiling one is slow. */
  static of(description: ComputeDescription): ExchangeChecker {
    const known = checkers.get(description) ?? new ExchangeChecker(description);
    checkers.set(description, known);
    return known;
  }

  constructor({ methods, definitions }: ComputeDescription) {
    const ajv = new Ajv({ allErrors: true, strict: false });
    ajv.addSchema({ $id: 'compute', definitions });
    const message = (name: string) => ajv.compile({ $ref: `compute#/definitions/${name}` });
    this.#errorBody = ajv.compile(ERROR_BODY);
    this.#routes = methods.map((method) => ({
      method,
      pattern: new RegExp(`^${method.path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`),
      body: method.body === undefined ? undefined : message(method.body),
      response: message(method.response),
      query: ajv.compile({
        type: 'object',
        additionalProperties: false,
        properties: { ...SYSTEM_PARAMETERS, ...method.query },
      }),
    }));
  }

  /** @throws {ExchangeError} the method does not exist or the call does not match it */
  checkRequest({ verb, path, query, body }: ApiRequest): CheckedRequest {
    for (const route of this.#routes) {
      const match = route.method.verb === verb ? route.pattern.exec(path) : null;
      if (!match) continue;
      const { method } = route;
      const params = Object.fromEntries(
        Object.entries(match.groups ?? {}).map(([name, text]) => [name, decodeURIComponent(text)]),
      );
      return { method, params, query: readQuery(route, query), body: readBody(route, body) };
    }
    throw new ExchangeError(`${verb} ${path}: there is no such method`);
  }

  /**
   * @throws {ExchangeError} the response does not match the method
   */
  checkResponse(method: ComputeMethod, status: number, body: unknown): void {
    const route = this.#routes.find((one) => one.method.name === method.name);
    const check = status < 300 ? route?.response : this.#errorBody;
    if (check && !check(body)) throw new ExchangeError(`answer ${status} of ${method.name}: ${problemsOf(check)}`);
  }
}

function readQuery({ method, query: check }: Route, given: URLSearchParams): CheckedRequest['query'] {
  const typed: Record<string, string | number | boolean> = {};
  for (const [name, text] of given) {
    if (name in typed) throw new ExchangeError(`${method.name}: parameter ${name} is given twice`);
    typed[name] = typeOf(method, name, text);
  }
  if (!check(typed)) throw new ExchangeError(`parameters of ${method.name}: ${problemsOf(check)}`);
  return typed;
}

/** Converts a URL parameter to the type of the method's parameter. */
function typeOf(method: ComputeMethod, name: string, text: string): string | number | boolean {
  const { type } = (method.query[name] ?? {}) as JsonObject;
  if (type === 'integer') return /^\d+$/.test(text) ? Number(text) : text;
  return type === 'boolean' && /^(true|false)$/.test(text) ? text === 'true' : text;
}

function readBody({ method, body: check }: Route, text: string): JsonObject | undefined {
  if (!check) {
    if (text === '') return undefined;
    throw new ExchangeError(`${method.name} has no body`);
  }
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new ExchangeError(`the body of ${method.name} is no JSON`);
  }
  if (!check(body)) throw new ExchangeError(`body of ${method.name}: ${problemsOf(check)}`);
  return body as JsonObject;
}

function problemsOf(check: ValidateFunction): string {
  return (check.errors ?? [])
    .map(({ instancePath, message, params }) => `${instancePath} ${message ?? ''} ${JSON.stringify(params)}`.trim())
    .join('; ');
}
