import type { Dispatcher } from 'undici';
import type { Answer, ApiAccess, Body } from './api.js';

/** One call of the conversation. */
export interface Turn {
  readonly name: string;
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly body?: Body;
  /** As whom. Default: an administrator. */
  readonly as?: 'stranger' | 'unknown';
  /** Repeated until it gives this status: a controller of the cluster has to act first. */
  readonly until?: number;
}

/** What is compared of an answer: the status, and of the body what the driver reads. */
export interface Heard {
  readonly status: number;
  readonly body: Body;
}

const NS = 'api/v1/namespaces';
const RBAC = `apis/rbac.authorization.k8s.io/v1/namespaces/talk`;
const labels = { nodepool_provider_name: 'talk', nodepool_node_id: '0000000001' };
const pod = (name: string): Body => ({
  metadata: { name, labels },
  spec: { containers: [{ name: 'a', image: 'debian' }] },
});
const subjects = [{ kind: 'ServiceAccount', name: 'zuul-worker', namespace: 'talk' }];
const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'zuul' };
const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }];
const deletion = (uid: string) => ({ apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } });

/** Calls as the driver makes them, right and wrong ones, in an order that is the same on every server. */
export const CONVERSATION: readonly Turn[] = [
  { name: 'no such namespace', method: 'GET', path: `${NS}/talk` },
  { name: 'create namespace', method: 'POST', path: NS, body: { metadata: { name: 'talk', labels } } },
  { name: 'create it again', method: 'POST', path: NS, body: { metadata: { name: 'talk' } } },
  { name: 'get namespace', method: 'GET', path: `${NS}/talk` },
  { name: 'list by label', method: 'GET', path: `${NS}?labelSelector=nodepool_provider_name%3Dtalk` },
  { name: 'list by another label', method: 'GET', path: `${NS}?labelSelector=nodepool_provider_name%3Dother` },
  { name: 'default account', method: 'GET', path: `${NS}/talk/serviceaccounts/default`, until: 200 },
  {
    name: 'create account',
    method: 'POST',
    path: `${NS}/talk/serviceaccounts`,
    body: { metadata: { name: 'zuul-worker' } },
  },
  {
    name: 'create it again',
    method: 'POST',
    path: `${NS}/talk/serviceaccounts`,
    body: { metadata: { name: 'zuul-worker' } },
  },
  {
    ...{ name: 'token of no account', method: 'POST', path: `${NS}/talk/serviceaccounts/missing/token` },
    body: { spec: { expirationSeconds: 3_600, audiences: [] } },
  },
  {
    ...{ name: 'token', method: 'POST', path: `${NS}/talk/serviceaccounts/zuul-worker/token` },
    body: { spec: { expirationSeconds: 3_600, audiences: [] } },
  },
  { name: 'create role', method: 'POST', path: `${RBAC}/roles`, body: { metadata: { name: 'zuul' }, rules } },
  { name: 'create it again', method: 'POST', path: `${RBAC}/roles`, body: { metadata: { name: 'zuul' }, rules } },
  {
    ...{ name: 'create role binding', method: 'POST', path: `${RBAC}/rolebindings` },
    body: { metadata: { name: 'zuul-role' }, roleRef, subjects },
  },
  { name: 'create pod', method: 'POST', path: `${NS}/talk/pods`, body: pod('a'), until: 201 },
  { name: 'create it again', method: 'POST', path: `${NS}/talk/pods`, body: pod('a') },
  { name: 'pod in no namespace', method: 'POST', path: `${NS}/missing/pods`, body: pod('a') },
  {
    name: 'list pods of all namespaces',
    method: 'GET',
    path: 'api/v1/pods?labelSelector=nodepool_provider_name%3Dtalk',
  },
  { name: 'delete pod of another uid', method: 'DELETE', path: `${NS}/talk/pods/a`, body: deletion('other') },
  { name: 'delete namespace of another uid', method: 'DELETE', path: `${NS}/talk`, body: deletion('other') },
  { name: 'list without permission', method: 'GET', path: NS, as: 'stranger' },
  { name: 'create without permission', method: 'POST', path: NS, body: { metadata: { name: 'x' } }, as: 'stranger' },
  { name: 'pod without permission', method: 'POST', path: `${NS}/talk/pods`, body: pod('x'), as: 'stranger' },
  {
    name: 'role without permission',
    method: 'POST',
    path: `${RBAC}/roles`,
    body: { metadata: { name: 'x' } },
    as: 'stranger',
  },
  { name: 'wrong token', method: 'GET', path: NS, as: 'unknown' },
  { name: 'delete pod', method: 'DELETE', path: `${NS}/talk/pods/a` },
  { name: 'delete missing pod', method: 'DELETE', path: `${NS}/talk/pods/missing` },
  { name: 'delete namespace', method: 'DELETE', path: `${NS}/talk` },
  { name: 'delete it again', method: 'DELETE', path: `${NS}/talk` },
  {
    name: 'account in a namespace that ends',
    method: 'POST',
    path: `${NS}/talk/serviceaccounts`,
    body: { metadata: { name: 'b' } },
  },
  { name: 'gone', method: 'GET', path: `${NS}/talk`, until: 404 },
];

const PAUSE_MS = 100;
const MOST_REPEATS = 600;

/** Holds the conversation with a server. @param pass - lets time pass */
export async function hold(
  access: Readonly<Record<'admin' | 'stranger' | 'unknown', ApiAccess>>,
  pass: (ms: number) => Promise<unknown>,
): Promise<Heard[]> {
  const heard: Heard[] = [];
  for (const { method, path, body, as = 'admin', until } of CONVERSATION) {
    let answer = await access[as].call(method, path, body);
    for (let tries = 0; until !== undefined && answer.status !== until && tries < MOST_REPEATS; tries++) {
      await pass(PAUSE_MS);
      answer = await access[as].call(method, path, body);
    }
    heard.push(essenceOf(answer));
  }
  return heard;
}

/** What the driver reads, without what differs from run to run. */
function essenceOf({ status, body }: Answer): Heard {
  if (body['kind'] === 'Status' && status >= 400) {
    return { status, body: { reason: body['reason'], message: textOf(String(body['message'])), code: body['code'] } };
  }
  const { items } = body;
  if (Array.isArray(items))
    return { status, body: { items: (items as Body[]).map(objectOf), hasVersion: hasVersion(body) } };
  return { status, body: objectOf(body) };
}

/** Users, uids and versions differ. */
function textOf(message: string): string {
  return message
    .replace(/User "[^"]*"/, 'User "USER"')
    .replace(/\([0-9a-f-]{36}\)|UID in object meta: [0-9a-f-]{36}/g, (text) => text.replace(/[0-9a-f-]{36}/, 'UID'))
    .replace(/UID in precondition: \S+?,/, 'UID in precondition: UID,');
}

function objectOf(object: Body): Body {
  const { metadata = {}, status = {} } = object as { metadata?: Body; status?: Body };
  const { name, namespace, labels, uid, deletionTimestamp } = metadata;
  const { phase, token, expirationTimestamp } = status;
  return {
    ...{ kind: object['kind'], name, namespace, labels: labelsOf(labels) },
    ...{ hasUid: uid !== undefined, hasVersion: hasVersion(object), isEnding: deletionTimestamp !== undefined },
    ...{ phase, hasToken: token !== undefined, expires: expirationTimestamp !== undefined },
  };
}

/** Newer servers add a label of their own to namespaces. */
function labelsOf(labels: unknown): Body | undefined {
  const own = Object.entries((labels ?? {}) as Body).filter(([key]) => key.startsWith('nodepool_'));
  return own.length > 0 ? Object.fromEntries(own) : undefined;
}

function hasVersion({ metadata }: Body): boolean {
  return typeof (metadata as Body | undefined)?.['resourceVersion'] === 'string';
}
