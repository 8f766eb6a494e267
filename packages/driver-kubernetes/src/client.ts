import { SILENT_READER, type EntryReader, type JsonObject, type TaskManager } from '@nodepool/core';
import type {
  ApiLimitRange,
  ApiList,
  ApiNamespace,
  ApiObject,
  ApiPod,
  ApiResourceQuota,
  ApiRule,
  ApiRulesReview,
  ApiSecret,
  ApiToken,
  ApiWatchEvent,
} from './api.js';
import type { Login } from './credentials.js';
import type { Http, HttpCall, RefusedLogin } from './http.js';
import type { EndingLogin } from './login-ends.js';
import { readNamespace, readOne, readPod, readQuota, readRange } from './read-objects.js';
import { NAMESPACES, type SpaceApi } from './spaces.js';

/** Kinds of objects that are watched. */
export interface Watched {
  readonly namespaces: ApiNamespace;
  readonly pods: ApiPod;
}

/** Where objects are looked for, and which. */
export interface Selection<Kind extends keyof Watched> {
  readonly kind: Kind;
  /** Default: all namespaces. */
  readonly namespace?: string | undefined;
  readonly selector: string;
}

/** The API calls of the driver. Rejects with the errors of `errors.ts`. */
export interface KubernetesClient {
  /** Why the cluster refuses the login; `undefined` while calls succeed. */
  readonly refusal: RefusedLogin | undefined;
  /** What is wrong with credentials that are not refused yet. */
  readonly ending: EndingLogin | undefined;
  login(): Promise<Login>;
  createNamespace(body: JsonObject, signal: AbortSignal): Promise<ApiNamespace>;
  getNamespace(name: string, signal: AbortSignal): Promise<ApiNamespace | undefined>;
  /** As {@link getNamespace}, for accounts that may list namespaces and not get one. */
  findNamespace(name: string, signal: AbortSignal): Promise<ApiNamespace | undefined>;
  /** @param uid - only this one, not another of the same name */
  deleteNamespace(name: string, uid: string | undefined, signal: AbortSignal): Promise<void>;
  createServiceAccount(namespace: string, body: JsonObject, signal: AbortSignal): Promise<void>;
  createToken(namespace: string, account: string, seconds: number, signal: AbortSignal): Promise<ApiToken>;
  createSecret(namespace: string, body: JsonObject, signal: AbortSignal): Promise<void>;
  getSecret(namespace: string, name: string, signal: AbortSignal): Promise<ApiSecret>;
  /** What the account may do in a namespace; `undefined`: not all of it is known. */
  getOwnRules(namespace: string, signal: AbortSignal): Promise<readonly ApiRule[] | undefined>;
  createRole(namespace: string, body: JsonObject, signal: AbortSignal): Promise<void>;
  createRoleBinding(namespace: string, body: JsonObject, signal: AbortSignal): Promise<void>;
  createPod(namespace: string, body: JsonObject, signal: AbortSignal): Promise<ApiPod>;
  getPod(namespace: string, name: string, signal: AbortSignal): Promise<ApiPod | undefined>;
  deletePod(namespace: string, name: string, uid: string | undefined, signal: AbortSignal): Promise<void>;
  /** Adds annotations and labels, and keeps the others. */
  mark(
    kind: keyof Watched,
    namespace: string | undefined,
    name: string,
    meta: JsonObject,
    signal: AbortSignal,
  ): Promise<void>;
  getResourceQuotas(namespace: string, signal: AbortSignal): Promise<readonly ApiResourceQuota[]>;
  getLimitRanges(namespace: string, signal: AbortSignal): Promise<readonly ApiLimitRange[]>;
  /** All objects, page by page, and the version from which to watch. */
  list<Kind extends keyof Watched>(selection: Selection<Kind>, signal: AbortSignal): Promise<Listed<Watched[Kind]>>;
  /** Changes since a version. @throws {ExpiredError} the version is no longer known */
  watch<Kind extends keyof Watched>(
    selection: Selection<Kind>,
    version: string,
    signal: AbortSignal,
  ): AsyncIterable<ApiWatchEvent<Watched[Kind]>>;
  close(): Promise<void>;
}

/** Objects at one version. */
export interface Listed<T extends ApiObject> {
  readonly version: string;
  readonly items: readonly T[];
}

const CORE = 'api/v1';
const RBAC = 'apis/rbac.authorization.k8s.io/v1';
/** How objects are read. */
export const READERS = { namespaces: readNamespace, pods: readPod };
const PAGE = 500;
/** Longer than a watch lasts: a longer silence means a lost connection. */
const SILENCE_MS = 100_000;

/**
 * Creates a client.
 * @param tasks - limits and counts calls; not watches, which last
 * @param spaces - what the namespaces of nodes are
 * @param entries - reports objects in lists that cannot be read
 */
export function createKubernetesClient(
  http: Http,
  tasks: Pick<TaskManager, 'call' | 'list'>,
  spaces: SpaceApi = NAMESPACES,
  entries: Pick<EntryReader, 'readEach'> = SILENT_READER,
): KubernetesClient {
  return new RestClient(http, tasks, spaces, entries);
}

class RestClient implements KubernetesClient {
  readonly #http: Http;
  readonly #tasks: Pick<TaskManager, 'call' | 'list'>;
  readonly #spaces: SpaceApi;
  readonly #entries: Pick<EntryReader, 'readEach'>;

  constructor(
    http: Http,
    tasks: Pick<TaskManager, 'call' | 'list'>,
    spaces: SpaceApi,
    entries: Pick<EntryReader, 'readEach'>,
  ) {
    this.#entries = entries;
    this.#http = http;
    this.#tasks = tasks;
    this.#spaces = spaces;
  }

  get refusal(): RefusedLogin | undefined {
    return this.#http.refusal;
  }

  get ending(): EndingLogin | undefined {
    return this.#http.ending;
  }

  login(): Promise<Login> {
    return this.#http.login();
  }

  createNamespace(body: JsonObject, signal: AbortSignal): Promise<ApiNamespace> {
    const { created, path } = this.#spaces;
    return this.#create(created, undefined, this.#spaces.creation(body), signal, path);
  }

  getNamespace(name: string, signal: AbortSignal): Promise<ApiNamespace | undefined> {
    const { kind, path } = this.#spaces;
    const read = (answer: unknown) => readOne(`${kind}.get ${name}`, answer, readNamespace);
    return this.#unlessMissing(this.#get(`${kind}.get`, pathOf(kind, undefined, name, path), signal).then(read));
  }

  async findNamespace(name: string, signal: AbortSignal): Promise<ApiNamespace | undefined> {
    const { kind, path } = this.#spaces;
    const call: HttpCall = {
      ...{ verb: 'GET', path: pathOf(kind, undefined, undefined, path) },
      query: { fieldSelector: `metadata.name=${name}` },
    };
    const { items }: ApiList<unknown> = await this.#call(`${kind}.list`, call, signal);
    return items.map((item) => readOne(`${kind}.list ${name}`, item, readNamespace))[0];
  }

  deleteNamespace(name: string, uid: string | undefined, signal: AbortSignal): Promise<void> {
    const { kind, path } = this.#spaces;
    return this.#delete(kind, undefined, name, uid, signal, path);
  }

  async createServiceAccount(namespace: string, body: JsonObject, signal: AbortSignal): Promise<void> {
    await this.#create('serviceaccounts', namespace, body, signal);
  }

  createToken(namespace: string, account: string, seconds: number, signal: AbortSignal): Promise<ApiToken> {
    const path = `${pathOf('serviceaccounts', namespace, account)}/token`;
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: seconds, audiences: [] },
    };
    return this.#call('serviceaccounts.token.create', { verb: 'POST', path, body }, signal);
  }

  async createSecret(namespace: string, body: JsonObject, signal: AbortSignal): Promise<void> {
    await this.#create('secrets', namespace, body, signal);
  }

  getSecret(namespace: string, name: string, signal: AbortSignal): Promise<ApiSecret> {
    return this.#get('secrets.get', pathOf('secrets', namespace, name), signal);
  }

  async getOwnRules(namespace: string, signal: AbortSignal): Promise<readonly ApiRule[] | undefined> {
    const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } };
    const api = 'apis/authorization.k8s.io/v1';
    const { status }: ApiRulesReview = await this.#create('selfsubjectrulesreviews', undefined, body, signal, api);
    return status.incomplete === true ? undefined : (status.resourceRules ?? []);
  }

  async createRole(namespace: string, body: JsonObject, signal: AbortSignal): Promise<void> {
    await this.#create('roles', namespace, body, signal, RBAC);
  }

  async createRoleBinding(namespace: string, body: JsonObject, signal: AbortSignal): Promise<void> {
    await this.#create('rolebindings', namespace, body, signal, RBAC);
  }

  createPod(namespace: string, body: JsonObject, signal: AbortSignal): Promise<ApiPod> {
    return this.#create('pods', namespace, body, signal);
  }

  getPod(namespace: string, name: string, signal: AbortSignal): Promise<ApiPod | undefined> {
    const read = (answer: unknown) => readOne(`pods.get ${namespace}/${name}`, answer, readPod);
    return this.#unlessMissing(this.#get('pods.get', pathOf('pods', namespace, name), signal).then(read));
  }

  deletePod(namespace: string, name: string, uid: string | undefined, signal: AbortSignal): Promise<void> {
    return this.#delete('pods', namespace, name, uid, signal);
  }

  async mark(
    kind: keyof Watched,
    namespace: string | undefined,
    name: string,
    meta: JsonObject,
    signal: AbortSignal,
  ): Promise<void> {
    const at = this.#apiOf(kind);
    const call: HttpCall = { verb: 'PATCH', path: pathOf(at.kind, namespace, name, at.path), body: at.change(meta) };
    await this.#call(`${at.kind}.patch`, call, signal);
  }

  async getResourceQuotas(namespace: string, signal: AbortSignal): Promise<readonly ApiResourceQuota[]> {
    const path = pathOf('resourcequotas', namespace);
    const { items } = await this.#get<ApiList<unknown>>('resourcequotas.list', path, signal);
    return this.#entries.readEach({ kind: 'resourcequotas', part: namespace }, items, readQuota);
  }

  async getLimitRanges(namespace: string, signal: AbortSignal): Promise<readonly ApiLimitRange[]> {
    const path = pathOf('limitranges', namespace);
    const { items } = await this.#get<ApiList<unknown>>('limitranges.list', path, signal);
    return this.#entries.readEach({ kind: 'limitranges', part: namespace }, items, readRange);
  }

  async list<Kind extends keyof Watched>(
    { kind, namespace, selector }: Selection<Kind>,
    signal: AbortSignal,
  ): Promise<Listed<Watched[Kind]>> {
    const items: unknown[] = [];
    const at = this.#apiOf(kind);
    const path = pathOf(at.kind, namespace, undefined, at.path);
    const labelSelector = at.hasLabels ? selector : undefined;
    let version = '';
    let next: string | undefined;
    do {
      const query = { labelSelector, limit: String(PAGE), continue: next };
      const page: ApiList<unknown> = await this.#call(`${at.kind}.list`, { verb: 'GET', path, query }, signal);
      for (const item of page.items) items.push(item);
      version = page.metadata.resourceVersion ?? version;
      next = page.metadata.continue || undefined;
    } while (next !== undefined);
    const read = READERS[kind] as (entry: unknown) => Watched[Kind];
    return { version, items: this.#entries.readEach({ kind, part: namespace }, items, read) };
  }

  watch<Kind extends keyof Watched>(
    { kind, namespace, selector }: Selection<Kind>,
    version: string,
    signal: AbortSignal,
  ): AsyncIterable<ApiWatchEvent<Watched[Kind]>> {
    const at = this.#apiOf(kind);
    const query = {
      ...{ labelSelector: at.hasLabels ? selector : undefined, resourceVersion: at.watchVersion ?? version },
      ...{ watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds: String(at.watchSeconds) },
    };
    const path = pathOf(at.kind, namespace, undefined, at.path);
    const call: HttpCall = { verb: 'GET', path, query, timeoutMs: SILENCE_MS };
    return this.#http.watch(call, signal);
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  #create<T>(
    kind: string,
    namespace: string | undefined,
    body: JsonObject,
    signal: AbortSignal,
    api = CORE,
  ): Promise<T> {
    return this.#call(`${kind}.create`, { verb: 'POST', path: pathOf(kind, namespace, undefined, api), body }, signal);
  }

  async #delete(
    kind: string,
    namespace: string | undefined,
    name: string,
    uid: string | undefined,
    signal: AbortSignal,
    api = CORE,
  ): Promise<void> {
    const body = {
      ...{ apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background' },
      ...(uid !== undefined && { preconditions: { uid } }),
    };
    await this.#call(`${kind}.delete`, { verb: 'DELETE', path: pathOf(kind, namespace, name, api), body }, signal);
  }

  /** Pods are found as namespaces of Kubernetes are. */
  #apiOf(kind: keyof Watched): Omit<SpaceApi, 'created' | 'creation' | 'isMissing'> {
    return kind === 'namespaces' ? this.#spaces : { ...NAMESPACES, kind };
  }

  async #unlessMissing<T>(answer: Promise<T>): Promise<T | undefined> {
    try {
      return await answer;
    } catch (error) {
      if (this.#spaces.isMissing(error)) return undefined;
      throw error;
    }
  }

  #get<T>(call: string, path: string, signal: AbortSignal): Promise<T> {
    return this.#call(call, { verb: 'GET', path }, signal);
  }

  #call<T>(name: string, call: HttpCall, signal: AbortSignal): Promise<T> {
    return this.#tasks.call(name, (turn) => this.#http.call<T>(call, AbortSignal.any([signal, turn])), { signal });
  }
}

function pathOf(kind: string, namespace: string | undefined, name?: string, api = CORE): string {
  const parts = [
    ...(namespace === undefined ? [] : ['namespaces', encodeURIComponent(namespace)]),
    kind,
    ...(name === undefined ? [] : [encodeURIComponent(name)]),
  ];
  return `${api}/${parts.join('/')}`;
}
