import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Body } from '../api.js';
import { ExchangeChecker } from '../openapi/exchange-checker.js';
import { FakeCluster, type FakeClusterOptions } from './cluster.js';
import { firstEvents, isVisible, namespaceOfRequest, projectOf } from './projects.js';
import {
  badRequest,
  alreadyExists,
  expired,
  missingVerb,
  notFound,
  notHeld,
  statusBody,
  unauthorized,
  type Refused,
} from './refusals.js';
import { isAllowed, reviewOf, rulesBeyond, type FakeRule } from './rules.js';
import { isSelected, type Stored } from './store.js';
import { Watch, type WatchOptions } from './watch.js';

/** Options of a {@link FakeKubernetes}. */
export interface FakeKubernetesOptions extends FakeClusterOptions {
  /** Entries of one page of a list. Default: as asked for. */
  readonly pageSize?: number;
  /** Called when a watch sends an event; resolves when it is received. */
  readonly onWatchEvent?: WatchOptions['onEvent'];
}

/** A call as the server sees it. */
export interface FakeCall {
  readonly verb: string;
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly sub: string | undefined;
}

/** The token that the server accepts. */
export const FAKE_TOKEN = 'fake-token';

const PATH = /^\/(?:api\/v1|apis\/(?:(?:rbac\.)?authorization\.k8s|project\.openshift)\.io\/v1)\/(.*)$/;
const KINDS = new Set(
  (
    'projects projectrequests namespaces pods serviceaccounts secrets roles rolebindings resourcequotas limitranges ' +
    'configmaps selfsubjectrulesreviews'
  ).split(' '),
);
const LISTS: Readonly<Record<string, string>> = {
  ...{ namespaces: 'NamespaceList', pods: 'PodList', serviceaccounts: 'ServiceAccountList' },
  ...{ resourcequotas: 'ResourceQuotaList', limitranges: 'LimitRangeList', configmaps: 'ConfigMapList' },
};
const VERBS: Readonly<Record<string, string>> = { POST: 'create', DELETE: 'delete', PATCH: 'patch' };

/** A fake API server over HTTP. Its refusals have the texts of kube-apiserver 1.20; a test compares its answers with recorded ones. */
export class FakeKubernetes {
  readonly cluster: FakeCluster;
  /** All calls but watches, in their order. */
  readonly calls: FakeCall[] = [];
  /** Verbs that are not allowed, as `create pods`. */
  readonly denied = new Set<string>();
  /** Tokens that are accepted. */
  readonly tokens = new Set([FAKE_TOKEN]);
  /** Tokens of users without any permission. */
  readonly strangers = new Set<string>();
  /** All that the user may do; `undefined`: everything but what is denied, and reviews do not tell. */
  rules: readonly FakeRule[] | undefined;
  /** Seconds that a token is valid at most. */
  maxTokenSeconds = Infinity;
  readonly #options: FakeKubernetesOptions;
  readonly #server: Server;
  readonly #watches = new Set<Watch>();
  #unanswered = 0;
  #lostReplies = 0;

  private constructor(options: FakeKubernetesOptions) {
    this.#options = options;
    this.cluster = new FakeCluster(options);
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(options: FakeKubernetesOptions): Promise<FakeKubernetes> {
    const fake = new FakeKubernetes(options);
    await new Promise<void>((resolve) => fake.#server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The next calls, but watches, get no answer and have no effect. */
  failUnanswered(): void {
    this.#unanswered++;
  }

  /** The next creation of a namespace or a pod takes effect, but its answer is lost. */
  loseReply(): void {
    this.#lostReplies++;
  }

  /** Breaks the connections of all watches. */
  breakWatches(): void {
    for (const watch of [...this.#watches]) watch.break();
  }

  /** What contradicts the OpenAPI document of the real server; {@link stop} fails if there is any. */
  readonly contradictions: string[] = [];

  /** Number of open watches. */
  get watches(): number {
    return this.#watches.size;
  }

  async stop(): Promise<void> {
    this.breakWatches();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    if (this.contradictions.length > 0) throw new Error([...new Set(this.contradictions)].slice(0, 20).join('\n'));
  }

  #check(
    { method = '' }: IncomingMessage,
    url: URL,
    body: unknown,
    answer: object | Refused,
    { verb }: FakeCall,
  ): void {
    const { status, body: sent } = sentOf(answer, verb === 'create' ? 201 : 200);
    this.contradictions.push(...checker().check({ method, url, body, status, answer: sent as Body }));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? '/', 'http://fake');
    const call = callOf(request.method ?? 'GET', url);
    if (!call) return this.#answer(response, notFound('path', url.pathname));
    if (call.verb !== 'watch') {
      this.calls.push(call);
      if (this.#unanswered > 0) {
        this.#unanswered--;
        request.socket.destroy();
        return;
      }
    }
    const refusal = this.#refusalOf(request, call);
    if (refusal) return this.#answer(response, refusal);
    if (call.verb === 'watch') return this.#watch(call, url, response);
    const body = chunks.length > 0 ? (JSON.parse(Buffer.concat(chunks).toString()) as Stored) : undefined;
    const answer = this.#run(call, url, body);
    this.#check(request, url, body, answer, call);
    const isMain = call.verb === 'create' && ['namespaces', 'projectrequests', 'pods'].includes(call.kind);
    if (isMain && this.#lostReplies > 0) {
      this.#lostReplies--;
      request.socket.destroy();
      return;
    }
    this.#answer(response, answer, call.verb === 'create' ? 201 : 200);
  }

  #refusalOf({ headers }: IncomingMessage, { verb, kind, namespace, sub }: FakeCall): Refused | undefined {
    const token = headers.authorization?.replace(/^Bearer /, '') ?? '';
    const isStranger = this.strangers.has(token);
    if (!isStranger && !this.tokens.has(token)) return unauthorized;
    const what = sub === undefined ? kind : `${kind}/${sub}`;
    const isDenied = isStranger || this.denied.has(`${verb} ${what}`) || !isAllowed(this.rules, verb, what);
    return isDenied ? missingVerb(verb, what, namespace) : undefined;
  }

  #run(call: FakeCall, url: URL, body: Stored | undefined): object | Refused {
    const { verb, kind, namespace, name = '', sub } = call;
    const { store } = this.cluster;
    if (kind === 'projects' || kind === 'projectrequests') return this.#runProject(call, url, body);
    if (sub === 'token') return this.#token(namespace ?? '', name, body);
    if (kind === 'selfsubjectrulesreviews') return this.#review(body);
    if (kind === 'roles' && body) {
      const more = rulesBeyond(body['rules'] as FakeRule[], this.rules);
      if (more.length > 0) return notHeld(body.metadata.name, more);
    }
    if (verb === 'create' && body) return this.cluster.create(kind, namespace, body);
    if (verb === 'list') return this.#list(kind, namespace, url.searchParams);
    const found = store.get(kind, namespace, name);
    if (!found) return notFound(kind, name);
    if (verb === 'patch' && body) return this.#patch(kind, found, body, sub);
    if (verb !== 'delete') return found;
    const uid = (body?.['preconditions'] as { uid?: string } | undefined)?.uid;
    return this.cluster.delete(kind, namespace, name, uid);
  }

  /** Projects are namespaces of their requester. What does not exist is forbidden. */
  #runProject({ verb, name = '' }: FakeCall, url: URL, body: Stored | undefined): object | Refused {
    const { cluster } = this;
    if (verb === 'list') return this.#list('namespaces', undefined, url.searchParams, isVisible);
    if (verb === 'create' && body) {
      const created = cluster.create('namespaces', undefined, namespaceOfRequest(body));
      return 'metadata' in created ? projectOf(created) : alreadyExists('projects', name || body.metadata.name);
    }
    const found = cluster.store.get('namespaces', undefined, name);
    if (!found || !isVisible(found)) return missingVerb(verb, 'projects', name);
    if (verb === 'patch' && body) return projectOf(this.#patch('namespaces', found, body, undefined));
    if (verb !== 'delete') return projectOf(found);
    const uid = (body?.['preconditions'] as { uid?: string } | undefined)?.uid;
    return cluster.delete('namespaces', undefined, name, uid);
  }

  #patch(kind: string, found: Stored, { metadata, status }: Stored, sub: string | undefined): Stored {
    if (sub === 'status')
      return this.cluster.store.update(kind, found, {
        status: { ...(found['status'] as object), ...(status as object) },
      });
    const labels = { ...found.metadata.labels, ...metadata.labels };
    const annotations = { ...found.metadata.annotations, ...metadata.annotations };
    return this.cluster.store.update(kind, found, {
      metadata: { ...found.metadata, ...metadata, labels, annotations },
    });
  }

  #list(
    kind: string,
    namespace: string | undefined,
    query: URLSearchParams,
    mayShow: (object: Stored) => boolean = isAny,
  ): object {
    const { store } = this.cluster;
    const selector = query.get('labelSelector');
    const name = query.get('fieldSelector')?.replace(/^metadata\.name=/, '');
    const all = store
      .list(kind, namespace)
      .filter((object) => isSelected(object, selector) && mayShow(object))
      .filter(({ metadata }) => name === undefined || metadata.name === name);
    const from = Number(query.get('continue') ?? 0);
    const size = Math.min(this.#options.pageSize ?? Infinity, Number(query.get('limit') ?? Infinity));
    // items of lists have no kind
    const items = all.slice(from, from + size).map(({ kind: _kind, apiVersion: _version, ...item }) => item);
    const next = from + size < all.length ? { continue: String(from + size) } : {};
    return {
      kind: LISTS[kind] ?? 'List',
      apiVersion: 'v1',
      metadata: { resourceVersion: String(store.version), ...next },
      items,
    };
  }

  #token(namespace: string, account: string, body: Stored | undefined): object | Refused {
    if (!this.cluster.store.get('serviceaccounts', namespace, account)) return notFound('serviceaccounts', account);
    const asked = (body?.['spec'] as { expirationSeconds?: number } | undefined)?.expirationSeconds ?? 3_600;
    const issuedS = Math.floor(this.#options.clock.now() / 1_000);
    const exp = issuedS + Math.min(asked, this.maxTokenSeconds);
    const claims = { iat: issuedS, exp, sub: `system:serviceaccount:${namespace}:${account}` };
    const token = `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
    const status = { token, expirationTimestamp: new Date(exp * 1_000).toISOString() };
    return { kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', spec: body?.['spec'], status };
  }

  #review(body: Stored | undefined): object | Refused {
    const { namespace } = (body?.['spec'] ?? {}) as { namespace?: string };
    if (!namespace) return badRequest('no namespace on request');
    return reviewOf(this.rules, this.denied.size > 0);
  }

  #watch({ kind: asked, namespace }: FakeCall, url: URL, response: ServerResponse): void {
    const { store } = this.cluster;
    const version = Number(url.searchParams.get('resourceVersion') ?? 0);
    const isProjects = asked === 'projects';
    const past = isProjects ? firstEvents(store.list('namespaces'), version) : store.since(version);
    if (!past) return this.#answer(response, expired(version, store.version));
    const { clock, onWatchEvent: onEvent } = this.#options;
    const seconds = Number(url.searchParams.get('timeoutSeconds') ?? 1_800);
    const selector = url.searchParams.get('labelSelector');
    const kind = isProjects ? 'namespaces' : asked;
    const selection = { kind, namespace, selector, isVisible: isProjects ? isVisible : isAny };
    const id = url.searchParams.get('watchId') ?? '';
    const onSend = (event: { type: string; object: object }) =>
      this.contradictions.push(...checker().checkEvent(url, event as { type: string; object: Body }));
    const watch = new Watch({ response, store, onSend, selection, clock, seconds, id, version, onEvent }, past);
    this.#watches.add(watch);
    response.once('close', () => this.#watches.delete(watch));
  }

  #answer(response: ServerResponse, answer: object | Refused, success = 200): void {
    const { status, body } = sentOf(answer, success);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  }
}

/** Status and body of an answer. */
function sentOf(answer: object | Refused, success: number): { status: number; body: object } {
  const isRefused = 'message' in answer && typeof answer.status === 'number';
  return isRefused ? { status: answer.status, body: statusBody(answer) } : { status: success, body: answer };
}

let shared: ExchangeChecker | undefined;

/** One for all servers of a process, as it takes long to make. */
function checker(): ExchangeChecker {
  return (shared ??= new ExchangeChecker());
}

function isAny(): boolean {
  return true;
}

function callOf(method: string, { pathname, searchParams }: URL): FakeCall | undefined {
  const parts = PATH.exec(pathname)?.[1]?.split('/').map(decodeURIComponent) ?? [];
  const isInside = parts[0] === 'namespaces' && parts.length > 2;
  const namespace = isInside ? parts[1] : undefined;
  const [kind = '', name, sub] = isInside ? parts.slice(2) : parts;
  if (!KINDS.has(kind)) return undefined;
  const isWatch = searchParams.get('watch') !== null;
  const verb = isWatch ? 'watch' : (VERBS[method] ?? (name === undefined ? 'list' : 'get'));
  return { verb, kind, namespace, name, sub };
}
