import { silentLogger, type MachineRun } from '@nodepool/core';
import { describe, expect, it } from 'vitest';
import type { ApiPod } from './api.js';
import type { KubernetesClient } from './client.js';
import { createHandlers, type CreateContext, type CreateState, type Plan } from './create-node.js';
import { AlreadyExistsError, NotYetError } from './errors.js';
import { toInstance, type KubernetesInstance } from './instance.js';

const EXISTS = new AlreadyExistsError('status', 'it exists');
const NOT_YET = new NotYetError('no service account yet');
const ID = 'main-1';
const GRANT = { token: 't', user: 'u' };
const annotations = { nodepool_attempt: 'mine' };
const namespace = { metadata: { name: ID, uid: 'n', annotations } };
const body = { metadata: { name: 'a' } };
const access = { account: {}, role: {}, binding: {} };
const ownPlan: Plan = {
  ...{ externalId: ID, namespace: ID, attempt: 'mine', namespaceBody: body, access, isProject: false },
  pod: undefined,
};
const podPlan: Plan = { ...ownPlan, pod: { name: 'a', body } };
const sharedPlan: Plan = { ...podPlan, namespaceBody: undefined, access: undefined };

const podOf = (status: NonNullable<ApiPod['status']>, of = annotations): ApiPod => ({
  metadata: { name: 'a', namespace: ID, annotations: of },
  status,
});
const seen = (pod: ApiPod | undefined) => toInstance(ID, namespace, pod);

interface Setting {
  readonly plan?: Plan;
  readonly client?: Partial<KubernetesClient>;
  /** What a direct look shows. */
  readonly look?: KubernetesInstance | undefined;
  /** What the shared view shows. */
  readonly found?: KubernetesInstance | undefined;
  readonly isWatching?: boolean;
  readonly isOfNode?: boolean;
  readonly isOwn?: boolean;
  readonly waitedMs?: number;
}

async function advance(state: CreateState, setting: Setting = {}) {
  const call = () => Promise.resolve({} as never);
  const client = {
    ...{ createNamespace: () => Promise.resolve(namespace), createServiceAccount: call },
    ...{ createRoleBinding: call, createPod: call, ...setting.client },
  } as unknown as KubernetesClient;
  const context: CreateContext = {
    ...{ client, plan: setting.plan ?? ownPlan, scheduleTimeoutMs: 1_000, note: () => undefined, mark: () => 0 },
    grant: () => Promise.resolve(GRANT),
    grantShared: () => Promise.resolve(GRANT),
    look: () => Promise.resolve(setting.look),
    isOfNode: () => setting.isOfNode ?? false,
    isOwn: () => setting.isOwn ?? false,
    createRole: call,
    isPolling: () => false,
    isWatching: () => setting.isWatching ?? true,
    changed: () => Promise.resolve(),
    finish: (instance) => Promise.resolve({ ...instance, ready: true }),
  };
  const run = {
    ...{ signal: new AbortController().signal, logger: silentLogger, startedMs: 0, enteredMs: 0, visits: 0 },
    nowMs: setting.waitedMs ?? 0,
    instances: { find: () => Promise.resolve(setting.found), list: () => Promise.resolve([]) },
  } as unknown as MachineRun<KubernetesInstance>;
  const handler = createHandlers[state.name] as (...args: unknown[]) => unknown;
  const step = (await handler(state, context, run)) as {
    step: string;
    state?: CreateState;
    error?: Error & { readonly code: string };
    ms?: number;
  };
  return step.step === 'goto'
    ? step.state?.name
    : step.step === 'failed'
      ? `${step.error?.code}: ${step.error?.message}`
      : step.step;
}

const rejects = (error: Error) => () => Promise.reject(error);
const pod: CreateState = { name: 'waiting-for-pod', externalId: ID, grant: GRANT };
const running = podOf({ phase: 'Running' });
const failed = podOf({ phase: 'Failed', reason: 'Evicted' });
const waiting = podOf({
  phase: 'Pending',
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no cpu' }],
});

describe('a creation', () => {
  it.each<[string, CreateState, Setting, string | RegExp]>([
    ['begins with its namespace', { name: 'start' }, {}, 'creating-namespace'],
    ['begins with its pod in a shared namespace', { name: 'start' }, { plan: sharedPlan }, 'creating-pod'],
    [
      'continues with what is in it',
      { name: 'creating-namespace', externalId: ID, attempt: 'a' },
      {},
      'creating-objects',
    ],
    [
      'asks whose the namespace is that has its name',
      { name: 'creating-namespace', externalId: ID, attempt: 'a' },
      { client: { createNamespace: rejects(EXISTS) } },
      'identifying',
    ],
    ['begins again when that is gone', { name: 'identifying', externalId: ID }, {}, 'creating-namespace'],
    ['continues with its own', { name: 'identifying', externalId: ID }, { look: seen(undefined) }, 'creating-objects'],
    [
      'continues with its own pod',
      { name: 'identifying', externalId: ID, grant: GRANT },
      { plan: sharedPlan, look: toInstance(ID, undefined, running) },
      'waiting-for-pod',
    ],
    [
      'deletes that of an earlier attempt',
      { name: 'identifying', externalId: ID },
      { plan: { ...ownPlan, attempt: 'other' }, look: seen(undefined), isOfNode: true },
      /earlier attempt/,
    ],
    [
      'leaves that of others',
      { name: 'identifying', externalId: ID },
      { plan: { ...ownPlan, attempt: 'other' }, look: seen(undefined) },
      'name-taken',
    ],
    [
      'says whose name it has',
      { name: 'name-taken', isByOwn: false },
      { plan: sharedPlan },
      /^NODEPOOL_CONFIG: pod "main-1\/a" exists/,
    ],
    [
      'fails for now where a former node of the number has it',
      { name: 'name-taken', isByOwn: true },
      { plan: sharedPlan },
      /^NODEPOOL_LAUNCH_STATUS: pod "main-1\/a" was made for a former node/,
    ],
    ['ends with a namespace', { name: 'creating-objects', externalId: ID, created: namespace }, {}, 'done'],
    [
      'takes what a repeated call finds for created',
      { name: 'creating-objects', externalId: ID, created: namespace },
      { client: { createRole: rejects(EXISTS), createServiceAccount: rejects(EXISTS) } },
      'done',
    ],
    [
      'waits for its pod',
      { name: 'creating-objects', externalId: ID, created: namespace },
      { plan: podPlan },
      'waiting-for-pod',
    ],
    [
      'creates the pod later when the namespace is not ready',
      { name: 'creating-objects', externalId: ID, created: namespace },
      { plan: podPlan, client: { createPod: rejects(NOT_YET) } },
      'creating-pod',
    ],
    [
      'tries the pod again',
      { name: 'creating-pod', externalId: ID, grant: GRANT },
      { plan: podPlan, client: { createPod: rejects(NOT_YET) } },
      'wait',
    ],
    [
      'asks whose the pod is in a shared namespace',
      { name: 'creating-pod', externalId: ID, grant: GRANT },
      { plan: sharedPlan, client: { createPod: rejects(EXISTS) } },
      'identifying',
    ],
    ['ends when the pod runs', pod, { plan: podPlan, found: seen(running) }, 'done'],
    ['looks itself when nothing was seen yet', pod, { plan: podPlan, look: seen(running) }, 'done'],
    [
      'looks itself while changes do not arrive',
      pod,
      { plan: podPlan, found: seen(podOf({ phase: 'Pending' })), look: seen(running), isWatching: false },
      'done',
    ],
    [
      'looks itself when it sees the pod of an earlier attempt',
      pod,
      { plan: podPlan, found: seen(podOf({ phase: 'Failed' }, { nodepool_attempt: 'old' })), look: seen(running) },
      'done',
    ],
    ['waits for a pod that starts', pod, { plan: podPlan, found: seen(podOf({ phase: 'Pending' })) }, 'wait'],
    ['waits for a place', pod, { plan: podPlan, found: seen(waiting), waitedMs: 999 }, 'wait'],
    [
      'fails without a place',
      pod,
      { plan: podPlan, found: seen(waiting), waitedMs: 1_000 },
      /is unschedulable: no cpu/,
    ],
    ['fails with its pod', pod, { plan: podPlan, found: seen(failed) }, /Evicted/],
    ['fails when all is gone', pod, { plan: podPlan }, /vanished during its creation/],
  ])('%s', async (_name, state, setting, expected) => {
    const step = await advance(state, setting);

    if (typeof expected === 'string') expect(step).toBe(expected);
    else expect(step).toMatch(expected);
  });
});
