import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { delay, type JsonObject } from '@nodepool/zk-protocol';
import { ExchangeChecker, ExchangeError, type ApiRequest, type CheckedRequest } from '../check/exchange-checker.js';
import { readMask } from '../check/fields-mask.js';
import { ApiError } from './api-error.js';
import { Cloud } from './cloud.js';
import type { StoredInstance, StoredOperation } from './cloud-state.js';
import { Failures } from './failures.js';
import { METHODS } from './methods.js';
import type { FailureKind, FakeComputeOptions } from './options.js';

/** A token that never expires. */
export const TOKEN = 'ya29.fake';
const WAIT_MS = 120_000;

/** A request and its response. */
export interface Exchange {
  readonly request: ApiRequest;
  readonly checked: CheckedRequest;
  readonly status: number;
  readonly body: JsonObject;
}

interface Answer {
  readonly status: number;
  readonly body: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A Compute Engine on loopback. Checks requests and responses against Google's description, rejects invalid requests,
 * and records all mismatches in `violations`.
 */
export class FakeCompute {
  readonly cloud: Cloud;
  readonly failures: Failures;
  /** Mismatches with the description so far. */
  readonly violations: string[] = [];
  /** Number of calls by method. */
  readonly calls = new Map<string, number>();
  /** Called with each valid request before it is processed. */
  onCall: (request: CheckedRequest) => void | Promise<void> = () => undefined;
  /** Called after each processed request, also if its response is then lost. */
  onExchange: (exchange: Exchange) => void = () => undefined;
  /** Makes lists ignore filters. */
  ignoresFilters = false;
  /** Makes every page of a list name the same next page. */
  repeatsPages = false;
  /** Accepted tokens. */
  readonly tokens = new Set([TOKEN]);
  readonly #options: FakeComputeOptions;
  readonly #checker: ExchangeChecker;
  readonly #server: Server;

  constructor(options: FakeComputeOptions) {
    this.#options = options;
    this.cloud = new Cloud(options);
    this.failures = new Failures(options.random ?? Math.random);
    this.#checker = ExchangeChecker.of(options.description);
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.keepAliveTimeout = 60_000;
  }

  /** Starts it on a free port. */
  static async start(options: FakeComputeOptions): Promise<FakeCompute> {
    const fake = new FakeCompute(options);
    await new Promise<void>((resolve) => fake.#server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  /** Base URL of the API. */
  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/compute/v1`;
  }

  get instances(): StoredInstance[] {
    return [...this.cloud.state.instances.values()];
  }

  /** Stops or removes an instance, as a failure or another program does. @returns whether there was one */
  endMachine(name: string, how: 'stopped' | 'deleted'): boolean {
    const instance = this.instances.find((one) => one.name === name);
    if (instance && how === 'stopped') instance.status = 'TERMINATED';
    else if (instance) this.cloud.remove(instance);
    return instance !== undefined;
  }

  /** Sets the newest image of a family. */
  setFamily(project: string, family: string, image: string): void {
    this.cloud.state.families.set(`${project}/${family}`, image);
  }

  countOf(method: string): number {
    return this.calls.get(method) ?? 0;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await text(request);
      const answer = await this.#answer(request, body);
      if (answer === 'no-answer') {
        response.destroy();
        return;
      }
      const { status, headers } = answer;
      response.writeHead(status, { 'content-type': 'application/json; charset=UTF-8', ...headers });
      response.end(JSON.stringify(answer.body));
    } catch (error) {
      if (!response.destroyed && !request.aborted) this.violations.push(`the fake failed: ${String(error)}`);
      response.destroy();
    }
  }

  async #answer(request: IncomingMessage, body: string): Promise<Answer | 'no-answer'> {
    const url = new URL(request.url ?? '/', 'http://fake');
    const asked = { verb: request.method ?? '', path: url.pathname, query: url.searchParams, body };
    let checked: CheckedRequest;
    try {
      checked = this.#check(asked);
    } catch (error) {
      return this.#refuse(error);
    }
    const { method } = checked;
    this.calls.set(method.name, this.countOf(method.name) + 1);
    await this.onCall(checked);
    if (this.#options.callMs !== undefined) await delay(this.#options.clock, this.#options.callMs);
    const failed = this.failures.ofCall();
    if (failed === 'unavailable') return 'no-answer';
    if (failed === 'rate-limited') {
      // https://cloud.google.com/compute/api-quota#best_practices: 403 `rateLimitExceeded`
      return this.#refuse(new ApiError(403, 'rateLimitExceeded', 'Rate Limit Exceeded', { 'retry-after': '1' }));
    }
    if (!this.#isAuthorized(request)) {
      return this.#refuse(new ApiError(401, 'authError', 'Invalid Credentials'));
    }
    const failure = method.name === 'Instances.Insert' ? this.failures.ofInsert() : undefined;
    const answer = await this.#call(checked, failure);
    this.onExchange({ request: asked, checked, status: answer.status, body: answer.body });
    return failure === 'lost-reply' ? 'no-answer' : answer;
  }

  async #call(checked: CheckedRequest, failure: FailureKind | undefined): Promise<Answer> {
    const { method, query } = checked;
    try {
      const full = await METHODS[method.name]?.(checked, {
        cloud: this.cloud,
        failure,
        ignoresFilters: this.ignoresFilters,
        repeatsPages: this.repeatsPages,
        pageSize: this.#options.pageSize,
        waitFor: (operation) => this.#waitFor(operation),
      });
      const cut = this.#maskOf(checked)(full ?? {});
      this.#checkAnswer(method, 200, cut);
      return { status: 200, body: cut };
    } catch (error) {
      if (error instanceof ApiError) {
        this.#checkAnswer(method, error.status, error.body);
        return { status: error.status, body: error.body, headers: error.headers };
      }
      if (error instanceof ExchangeError) return this.#refuse(error);
      throw new Error(`${method.name} ${JSON.stringify(query)}`, { cause: error });
    }
  }

  #check(asked: ApiRequest): CheckedRequest {
    const checked = this.#checker.checkRequest(asked);
    this.#maskOf(checked);
    return checked;
  }

  #maskOf({ method, query }: CheckedRequest): (body: JsonObject) => JsonObject {
    const { fields } = query;
    if (typeof fields !== 'string') return (body) => body;
    return readMask(fields, method.response, this.#options.description.definitions);
  }

  #checkAnswer(method: CheckedRequest['method'], status: number, body: JsonObject): void {
    try {
      this.#checker.checkResponse(method, status, body);
    } catch (error) {
      this.violations.push(String(error));
    }
  }

  #refuse(error: unknown): Answer {
    if (error instanceof ApiError) return { status: error.status, body: error.body, headers: error.headers };
    this.violations.push(String(error));
    return { status: 400, body: new ApiError(400, 'badRequest', String(error)).body };
  }

  #isAuthorized({ headers }: IncomingMessage): boolean {
    const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];
    return token !== undefined && this.tokens.has(token);
  }

  /** https://cloud.google.com/compute/docs/reference/rest/v1/zoneOperations/wait: up to 2 minutes, best effort. */
  async #waitFor(operation: StoredOperation): Promise<void> {
    const waitMs = this.#options.waitMs ?? WAIT_MS;
    if (operation.endedMs !== undefined || waitMs === 0) return;
    await new Promise<void>((resolve) => {
      const stop = this.cloud.onOperation(() => {
        if (operation.endedMs !== undefined) finish();
      });
      const cancel = this.#options.clock.setTimer(waitMs, () => finish());
      const finish = () => {
        stop();
        cancel();
        resolve();
      };
    });
  }
}
