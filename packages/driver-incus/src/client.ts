import {
  ConfigError,
  isNodepoolError,
  ProviderUnavailableError,
  SILENT_READER,
  type Clock,
  type EntryReader,
  type Json,
  type JsonObject,
  type TaskManager,
} from '@nodepool/core';
import { orAbort } from '@nodepool/zk-protocol';
import type { ApiAnswer, ApiImage, ApiInstance, ApiMember, ApiOperation, ApiResources, ApiServer } from './api.js';
import { errorOfAnswer, UntrustedError } from './errors.js';
import type { Transport, TransportAnswer, TransportRequest } from './transport.js';

/** Options of a client. */
export interface ClientOptions {
  readonly transport: Transport;
  readonly project: string;
  readonly tasks: Pick<TaskManager, 'call'>;
  readonly clock: Clock;
  /** Reports entries of lists that cannot be read. Default: they are not reported. */
  readonly entries?: Pick<EntryReader, 'readEach'> | undefined;
}

/** What the daemon refuses, since when. */
export interface RefusedClient {
  readonly message: string;
  readonly sinceMs: number;
  readonly lastSeenMs: number;
}

type Request = Omit<TransportRequest, 'signal' | 'path' | 'body'> & {
  /** Below `/1.0`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
  readonly body?: Json | undefined;
};

const TIMEOUT_MS = 60_000;
/** For what runs in an instance to end, in seconds. */
const SHUTDOWN_S = 60;

/** The calls to a daemon. Each has its turn in the task manager and its own time limit. */
export class IncusClient {
  readonly #options: ClientOptions;
  #refused: RefusedClient | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** `undefined` while the daemon accepts calls. */
  get refused(): RefusedClient | undefined {
    return this.#refused;
  }

  server(signal: AbortSignal): Promise<ApiServer> {
    return this.#call('server.get', { method: 'GET', path: '' }, signal);
  }

  /** Adds the client certificate of the connection to the trust store. */
  async trust(name: string, token: string, signal: AbortSignal): Promise<void> {
    // LXD 5.0 reads tokens from `password`; Incus and later versions of LXD from `trust_token`.
    const body = { type: 'client', name, password: token, trust_token: token };
    await this.#call('certificates.create', { method: 'POST', path: '/certificates', body }, signal);
  }

  createInstance(body: JsonObject, target: string | undefined, signal: AbortSignal): Promise<ApiOperation> {
    return this.#call('instances.create', { method: 'POST', path: '/instances', query: { target }, body }, signal);
  }

  startInstance(name: string, signal: AbortSignal): Promise<ApiOperation> {
    return this.#setState(name, { action: 'start', timeout: -1 }, signal);
  }

  /** Stops an instance without waiting for what runs in it. */
  stopInstance(name: string, signal: AbortSignal): Promise<ApiOperation> {
    return this.#setState(name, { action: 'stop', force: true, timeout: 0 }, signal);
  }

  /** Lets what runs in an instance end, within a minute. */
  shutDown(name: string, signal: AbortSignal): Promise<ApiOperation> {
    return this.#setState(name, { action: 'stop', force: false, timeout: SHUTDOWN_S }, signal);
  }

  deleteInstance(name: string, signal: AbortSignal): Promise<ApiOperation> {
    return this.#call('instances.delete', { method: 'DELETE', path: instancePath(name) }, signal);
  }

  instance(name: string, signal: AbortSignal): Promise<ApiInstance | undefined> {
    const request: Request = { method: 'GET', path: instancePath(name), query: { recursion: '1' } };
    return unlessMissing(this.#call('instances.get', request, signal));
  }

  async instances(signal: AbortSignal): Promise<readonly ApiInstance[]> {
    const request: Request = { method: 'GET', path: '/instances', query: { recursion: '2' } };
    const shown = (await this.#call<(Partial<ApiInstance> | null)[] | null>('instances.list', request, signal)) ?? [];
    const read = (entry: unknown) => {
      const one = entry as Partial<ApiInstance> | null;
      return typeof one?.name === 'string' ? whole(one.name, one) : undefined;
    };
    const { entries = SILENT_READER } = this.#options;
    return entries.readEach({ kind: 'instances' }, shown, read);
  }

  /** Merges keys into the configuration of an instance. */
  async configureInstance(name: string, config: JsonObject, signal: AbortSignal): Promise<void> {
    await this.#call('instances.patch', { method: 'PATCH', path: instancePath(name), body: { config } }, signal);
  }

  /** `undefined`: forgotten, e.g. because the daemon was restarted. */
  operation(id: string, signal: AbortSignal): Promise<ApiOperation | undefined> {
    return unlessMissing(this.#call('operations.get', { method: 'GET', path: `/operations/${id}` }, signal));
  }

  /** Content of a file in an instance; `undefined`: no such file. */
  readFile(name: string, file: string, signal: AbortSignal): Promise<string | undefined> {
    const request: Request = { method: 'GET', path: `${instancePath(name)}/files`, query: { path: file } };
    return unlessMissing(this.#text('instances.files.get', request, signal));
  }

  consoleLog(name: string, signal: AbortSignal): Promise<string | undefined> {
    const request: Request = { method: 'GET', path: `${instancePath(name)}/console` };
    return unlessMissing(this.#text('instances.console.get', request, signal));
  }

  async images(signal: AbortSignal): Promise<readonly ApiImage[]> {
    const request: Request = { method: 'GET', path: '/images', query: { recursion: '1' } };
    return (await this.#call<ApiImage[] | null>('images.list', request, signal)) ?? [];
  }

  /** Sends an image. The body is multipart or raw, as its headers say. */
  async uploadImage(
    upload: Pick<TransportRequest, 'headers' | 'body'>,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ApiOperation> {
    const path = this.#path({ method: 'POST', path: '/images' });
    return this.#options.tasks.call(
      'images.create',
      async (paced) => {
        const answer = await this.#send({ ...upload, method: 'POST', path, signal: paced }, timeoutMs);
        return read(`POST ${path}`, answer) as ApiOperation;
      },
      { signal },
    );
  }

  deleteImage(fingerprint: string, signal: AbortSignal): Promise<ApiOperation | undefined> {
    const path = `/images/${encodeURIComponent(fingerprint)}`;
    return unlessMissing(this.#call('images.delete', { method: 'DELETE', path }, signal));
  }

  /** Whether there is an object of this kind. @param path - below `/1.0/KIND`, its parts encoded */
  async has(
    kind: 'images' | 'instances' | 'profiles' | 'networks' | 'storage-pools',
    path: string,
    signal: AbortSignal,
  ) {
    const request: Request = { method: 'GET', path: `/${kind}/${path}` };
    return (await unlessMissing(this.#call<object>(`${kind}.get`, request, signal))) !== undefined;
  }

  /** Configuration of the project. @throws {ConfigError} there is none of this name */
  async projectConfig(signal: AbortSignal): Promise<Readonly<Record<string, string>>> {
    const { project } = this.#options;
    const request: Request = { method: 'GET', path: `/projects/${encodeURIComponent(project)}` };
    const found = await unlessMissing(this.#call<{ config: Record<string, string> }>('projects.get', request, signal));
    if (found) return found.config;
    const nextStep = 'correct "project" ("project list" shows all)';
    throw new ConfigError(`there is no project "${project}": ${nextStep}`, [], { reason: 'ProjectMissing', nextStep });
  }

  /** Instances of this name in all projects; none for a certificate that is restricted to the project, as it may not ask. */
  async instancesElsewhere(name: string, signal: AbortSignal): Promise<readonly ApiInstance[]> {
    const query = { recursion: '1', 'all-projects': 'true', project: undefined };
    const request: Request = { method: 'GET', path: '/instances', query };
    const refused = this.#refused;
    try {
      const all = await this.#call<ApiInstance[] | null>('instances.list', request, signal);
      return (all ?? []).filter((one) => one.name === name);
    } catch (error) {
      if (!(error instanceof UntrustedError)) throw error;
      this.#refused = refused; // this refusal says nothing about trust
      return [];
    }
  }

  members(signal: AbortSignal): Promise<readonly ApiMember[]> {
    const request: Request = { method: 'GET', path: '/cluster/members', query: { recursion: '1' } };
    return this.#call('cluster.members.list', request, signal);
  }

  resources(target: string | undefined, signal: AbortSignal): Promise<ApiResources> {
    return this.#call('resources.get', { method: 'GET', path: '/resources', query: { target } }, signal);
  }

  /** Names of profiles, networks or storage pools. */
  async names(kind: 'profiles' | 'networks' | 'storage-pools', signal: AbortSignal): Promise<string[]> {
    const request: Request = { method: 'GET', path: `/${kind}`, query: { recursion: '1' } };
    const found = await this.#call<{ name: string; managed?: boolean }[]>(`${kind}.list`, request, signal);
    return found.filter(({ managed }) => managed !== false).map(({ name }) => name);
  }

  /** Messages about operations, until the connection ends. */
  events(signal: AbortSignal): Promise<ReadableStream<string>> {
    const path = this.#path({ method: 'GET', path: '/events', query: { type: 'operation' } });
    return this.#options.transport.listen(path, signal);
  }

  close(): Promise<void> {
    return this.#options.transport.close();
  }

  #setState(name: string, body: JsonObject, signal: AbortSignal): Promise<ApiOperation> {
    return this.#call('instances.state.put', { method: 'PUT', path: `${instancePath(name)}/state`, body }, signal);
  }

  async #call<T>(name: string, request: Request, signal: AbortSignal): Promise<T> {
    return read(`${request.method} /1.0${request.path}`, await this.#paced(name, request, signal)) as T;
  }

  async #text(name: string, request: Request, signal: AbortSignal): Promise<string> {
    const answer = await this.#paced(name, request, signal);
    if (answer.status >= 300) read(`${request.method} /1.0${request.path}`, answer);
    return answer.text;
  }

  #paced(name: string, request: Request, signal: AbortSignal): Promise<TransportAnswer> {
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const { method, headers } = request;
    const path = this.#path(request);
    return this.#options.tasks.call(
      name,
      (paced) => this.#send({ method, path, headers, body, signal: paced }, TIMEOUT_MS),
      { signal },
    );
  }

  async #send(request: TransportRequest, timeoutMs: number): Promise<TransportAnswer> {
    const { clock, transport } = this.#options;
    const late = new AbortController();
    const what = `${request.method} ${request.path}`;
    const cancel = clock.setTimer(timeoutMs, () =>
      late.abort(
        new ProviderUnavailableError(`${what}: no answer from ${transport.address} within ${timeoutMs / 1_000} s`),
      ),
    );
    const signal = AbortSignal.any([request.signal, late.signal]);
    try {
      return this.#noteTrust(await orAbort(transport.send({ ...request, signal }), signal));
    } finally {
      cancel();
    }
  }

  #noteTrust(answer: TransportAnswer): TransportAnswer {
    if (answer.status !== 401 && answer.status !== 403) {
      this.#refused = undefined;
      return answer;
    }
    const nowMs = this.#options.clock.now();
    const { message } = errorOfAnswer(this.#options.transport.address, answer.status, reasonIn(answer.text));
    this.#refused = { message, sinceMs: this.#refused?.sinceMs ?? nowMs, lastSeenMs: nowMs };
    return answer;
  }

  #path({ path, query = {} }: Request): string {
    const all = Object.entries({ project: this.#options.project, ...query });
    const given = all.filter((one): one is [string, string] => one[1] !== undefined);
    return `/1.0${path}?${new URLSearchParams(given).toString()}`;
  }
}

function instancePath(name: string): string {
  return `/instances/${encodeURIComponent(name)}`;
}

/** The metadata of an answer. @throws the errors of `errors.ts` */
function read(what: string, { status, text }: TransportAnswer): unknown {
  let answer: ApiAnswer<unknown>;
  try {
    answer = JSON.parse(text) as ApiAnswer<unknown>;
  } catch {
    const beginning = text.slice(0, 100).replace(/\s+/g, ' ');
    throw new ProviderUnavailableError(`${what}: ${status} with a body that is not JSON: "${beginning}"`);
  }
  if (status < 300 && answer.type !== 'error') return answer.metadata;
  throw errorOfAnswer(what, answer.error_code ?? status, answer.error ?? 'no reason given');
}

function reasonIn(text: string): string {
  try {
    return (JSON.parse(text) as { error?: string }).error ?? 'no reason given';
  } catch {
    return text.slice(0, 100);
  }
}

async function unlessMissing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isNodepoolError(error, 'NODEPOOL_NOT_FOUND') && !(error instanceof UntrustedError)) return undefined;
    throw error;
  }
}

/** An instance of a cluster member that is away has its name and state only. */
function whole(
  name: string,
  { type = 'container', status = 'Unknown', config, ...rest }: Partial<ApiInstance>,
): ApiInstance {
  return { ...rest, name, type, status, config: config ?? {} };
}
