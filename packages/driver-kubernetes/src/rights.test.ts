import { describe, expect, it } from 'vitest';
import { silentLogger, type JsonObject } from '@nodepool/core';
import { systemClock } from '@nodepool/zk-protocol';
import type { FakeKubernetes } from '@nodepool/kubernetes';
import { createKubernetesDriver } from '../src/index.js';
import type { DriverName } from './config.js';
import { httpOf, namesIn, useFakeWorlds } from '../test/fake-world.js';
import { ORIGINAL_KUBERNETES, ORIGINAL_PODS, SF_OPERATOR } from '../test/original-rights.js';
import type { World } from '../test/world.js';

const { fake: startFake, world: startWorld } = useFakeWorlds();
const NEVER = new AbortController().signal;
const PODS = { driver: 'openshiftpods' } as const;
const THREE: JsonObject[] = ['a', 'b', 'c'].map((name) => ({ name, image: 'debian', cpu: 1 }));
const FOUR: JsonObject[] = [
  { name: 'space', type: 'namespace' },
  { name: 'a', type: 'pod', image: 'debian' },
  { name: 'b', type: 'pod', image: 'debian', memory: 64 },
  { name: 'own', type: 'pod', spec: { containers: [{ name: 'own', image: 'debian' }] } },
];

/** States of one node of each label. */
async function launchAll(world: World): Promise<string[]> {
  const labels = [...(world.provider.config.pools.get('main')?.labels.keys() ?? [])];
  const results = await Promise.all(labels.map((label) => world.launch(label)));
  for (const { node } of results) await world.cleanUp(node);
  return results.map(({ state, error }) => error?.message ?? state);
}

/** A cluster with the namespace of the pool `main`. */
async function startShared(): Promise<FakeKubernetes> {
  const fake = await startFake();
  fake.cluster.create('namespaces', undefined, { metadata: { name: 'main' } });
  return fake;
}

const missing = (world: World) => (world.provider.conditions?.() ?? []).filter(({ type }) => type === 'RightsMissing');

describe('with the role that sf-operator makes', () => {
  it('all labels of openshiftpods are served, and one warning names what is missing', async () => {
    const fake = await startShared();
    fake.rules = SF_OPERATOR;
    const world = await startWorld(fake, { pools: [{ name: 'main', labels: THREE }] }, PODS);
    await expect.poll(() => world.provider.quota?.estimatedNodepoolQuota()).toBeDefined();

    expect(world.provider.conditions?.().filter(({ severity }) => severity === 'error')).toEqual([]);
    expect([...world.provider.errorLabels()]).toEqual([]);
    expect(await launchAll(world)).toEqual(['ready', 'ready', 'ready']);
    const [condition, ...others] = missing(world);
    expect(others).toEqual([]);
    expect(condition).toMatchObject({ severity: 'warning', reason: 'Forbidden' });
    expect(condition?.evidence['verbs']).toBe('list limitranges, list resourcequotas');
  });

  // Ends: RightsMissing Forbidden
  it('the warning ends when the verbs are allowed', async () => {
    const fake = await startShared();
    fake.rules = SF_OPERATOR;
    const world = await startWorld(fake, { pools: [{ name: 'main', labels: THREE }] }, PODS);
    expect(missing(world).length).toBe(1);

    fake.rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];
    await world.provider.cleanupLeakedResources(NEVER);

    expect(missing(world)).toEqual([]);
  });
});

describe("with exactly the original's rights", () => {
  it('all labels of kubernetes are served: tokens of secrets, narrower roles, lists instead of watches', async () => {
    const fake = await startFake({ startMs: 200, accountMs: 100 });
    fake.rules = ORIGINAL_KUBERNETES;
    const world = await startWorld(fake, { pools: [{ name: 'main', labels: FOUR }] });

    const { node } = await world.launch('space');
    expect(node.connectionPort).toMatchObject({ token: `secret-token-of-${node.externalId as string}-zuul-worker` });
    const role = fake.cluster.store.list('roles')[0];
    expect(JSON.stringify(role?.['rules'])).toMatch(/pods.*configmaps/);
    expect(JSON.stringify(role?.['rules'])).not.toMatch(/statefulsets|events/);
    await world.cleanUp(node);
    expect(await launchAll(world)).toEqual(['ready', 'ready', 'ready', 'ready']);
    expect(namesIn(fake, 'namespaces')).toEqual(['default', 'kube-system']);
    const conditions = world.provider.conditions?.() ?? [];
    expect(conditions.map(({ type }) => type)).toEqual(['RightsMissing']);
    expect(conditions[0]?.evidence['verbs']).toBe(
      'create serviceaccounts/token, escalate roles.rbac.authorization.k8s.io, watch namespaces',
    );
    expect(conditions[0]?.message).toMatch(/role "zuul" of nodes has no .*create, .*statefulsets/);
  });

  it('a namespace that may be listed and not read is found in the list', async () => {
    const fake = await startFake();
    fake.rules = ORIGINAL_KUBERNETES.map((rule) =>
      rule.resources.includes('namespaces') ? { ...rule, verbs: ['create', 'delete', 'list'] } : rule,
    );
    const world = await startWorld(fake, { pools: [{ name: 'main', labels: FOUR }] });

    expect(await launchAll(world)).toEqual(['ready', 'ready', 'ready', 'ready']);
  });

  it('all labels of openshift are served', { timeout: 30_000 }, async () => {
    const fake = await startFake();
    for (const right of ['watch projects', 'watch pods', 'create serviceaccounts/token']) fake.denied.add(right);
    const world = await startWorld(fake, {}, { driver: 'openshift' });

    expect(await launchAll(world)).toEqual(['ready', 'ready']);
    expect(missing(world)[0]?.evidence['verbs']).toContain('create serviceaccounts/token');
  });

  it('all labels of openshiftpods are served', async () => {
    const fake = await startShared();
    fake.rules = ORIGINAL_PODS;
    const world = await startWorld(fake, { pools: [{ name: 'main', labels: THREE }] }, PODS);

    expect(await launchAll(world)).toEqual(['ready', 'ready', 'ready']);
    expect(missing(world)[0]?.evidence['verbs']).toBe('list limitranges, list resourcequotas, watch pods');
  });
});

describe('a pool with service-account where tokens are refused', () => {
  /** With the token controller at work. */
  async function startJobs() {
    const fake = await startFake({ accountMs: 50 });
    fake.cluster.create('namespaces', undefined, { metadata: { name: 'main' } });
    fake.cluster.create('serviceaccounts', 'main', { metadata: { name: 'jobs' } });
    await expect.poll(() => fake.cluster.store.list('serviceaccounts', 'main').length).toBe(2);
    fake.rules = SF_OPERATOR;
    const pool = { name: 'main', 'service-account': 'jobs', labels: THREE };
    return { fake, world: await startWorld(fake, { pools: [pool] }, PODS) };
  }

  it('gives the token of a secret, which is deleted with its pod', async () => {
    const { fake, world } = await startJobs();

    const { node, state } = await world.launch('a');

    expect([state, node.connectionPort]).toMatchObject(['ready', { token: 'secret-token-of-main-jobs', user: 'jobs' }]);
    const [secret, ...others] = fake.cluster.store.list('secrets');
    const [pod] = fake.cluster.store.list('pods');
    expect(others).toEqual([]);
    expect(secret?.metadata).toMatchObject({
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: pod?.metadata.name, uid: pod?.metadata.uid }],
      labels: { nodepool_node_id: node.id },
    });
    await world.cleanUp(node);
    expect([...namesIn(fake, 'pods'), ...namesIn(fake, 'secrets')]).toEqual([]);
  });

  it('names the missing verb once, and serves all labels', async () => {
    const { fake, world } = await startJobs();

    expect(await launchAll(world)).toEqual(['ready', 'ready', 'ready']);
    expect(missing(world)[0]?.evidence['verbs']).toContain('create serviceaccounts/token');
    expect(namesIn(fake, 'secrets')).toEqual([]);
  });

  it('leaves no pod where secrets are refused as well', async () => {
    const { fake, world } = await startJobs();
    fake.denied.add('create secrets');

    const { state, error, node } = await world.launch('a');
    await world.cleanUp(node);

    expect([state, error?.message]).toEqual(['failed', expect.stringContaining('verb "create" on secrets')]);
    expect([...namesIn(fake, 'pods'), ...namesIn(fake, 'secrets')]).toEqual([]);
  });
});

describe('a review at the start', () => {
  it('names all that is missing at once, with what each costs, before anything is launched', async () => {
    const fake = await startFake();
    fake.rules = [
      { apiGroups: [''], resources: ['namespaces'], verbs: ['create', 'get', 'list'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
      { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'], verbs: ['create'] },
    ];

    const world = await startWorld(fake);

    const [condition, ...others] = missing(world);
    expect(others).toEqual([]);
    expect(String(condition?.evidence['verbs']).split(', ')).toEqual([
      ...['create pods', 'create rolebindings.rbac.authorization.k8s.io', 'create secrets', 'create serviceaccounts'],
      ...['create serviceaccounts/token', 'delete namespaces', 'escalate roles.rbac.authorization.k8s.io'],
      ...['get secrets', 'watch namespaces', 'watch pods'],
    ]);
    for (const cost of [
      'delete namespaces (its nodes cannot be deleted)',
      'create pods (its nodes cannot be launched)',
      'create serviceaccounts/token (nodes get the token of a secret, which has no end)',
      'watch pods (changes are seen some seconds later)',
      'role "zuul-restricted" of nodes has no get, list on pods/log; create, get on pods/exec',
    ])
      expect(condition?.message).toContain(cost);
  });

  it('forgets the secrets when tokens are allowed', async () => {
    const fake = await startShared();
    const pods = { apiGroups: [''], resources: ['pods', 'resourcequotas', 'limitranges'], verbs: ['*'] };
    fake.rules = [pods];
    const pool = { name: 'main', 'service-account': 'jobs', labels: THREE };
    const world = await startWorld(fake, { pools: [pool] }, PODS);
    expect(missing(world)[0]?.evidence['verbs']).toBe('create secrets, create serviceaccounts/token, get secrets');

    fake.rules = [
      pods,
      { apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: ['jobs'], verbs: ['create'] },
    ];
    await world.provider.cleanupLeakedResources(NEVER);

    expect(missing(world)).toEqual([]);
  });

  it('asks for projects on OpenShift', async () => {
    const fake = await startFake();
    fake.rules = [{ apiGroups: ['', 'project.openshift.io'], resources: ['projects'], verbs: ['list'] }];

    const world = await startWorld(fake, {}, { driver: 'openshift' });

    expect(missing(world)[0]?.evidence['verbs']).toBe(
      'create projectrequests.project.openshift.io, watch projects.project.openshift.io',
    );
  });
});

describe('a driver that is asked for missing rights', () => {
  const ask = (world: World, driver: DriverName, fake: FakeKubernetes) =>
    createKubernetesDriver(driver, { connect: () => httpOf(fake) }).missingRights?.(world.provider.config, {
      ...{ clock: systemClock, logger: silentLogger, signal: NEVER },
    });

  it('names them and what they cost, in all namespaces that are used', async () => {
    const fake = await startShared();
    fake.rules = SF_OPERATOR;
    const world = await startWorld(fake, { pools: [{ name: 'main', labels: THREE }] }, PODS);
    const reviews = () => fake.calls.filter(({ kind }) => kind === 'selfsubjectrulesreviews').length;
    const before = reviews();

    const found = await ask(world, 'openshiftpods', fake);

    expect(found).toEqual([
      { right: 'list resourcequotas', cost: expect.stringContaining('quotas are not known') as string },
      { right: 'list limitranges', cost: expect.stringContaining('defaults and ceilings') as string },
    ]);
    expect(reviews() - before).toBe(1);
  });

  it('names nothing for an account that may do all, and does not know where the cluster does not tell', async () => {
    const fake = await startFake();
    const world = await startWorld(fake);

    expect(await ask(world, 'kubernetes', fake)).toEqual([]);
    fake.denied.add('create secrets');
    expect(await ask(world, 'kubernetes', fake)).toBeUndefined();
    fake.denied.add('create selfsubjectrulesreviews');
    await expect(ask(world, 'kubernetes', fake)).rejects.toThrow('cannot create resource "selfsubjectrulesreviews"');
  });
});

describe('a review that is refused', () => {
  it('is no reason not to start, and what is missing shows when it is needed', async () => {
    const fake = await startShared();
    for (const right of ['create selfsubjectrulesreviews', 'list limitranges']) fake.denied.add(right);
    const world = await startWorld(fake, { pools: [{ name: 'main', labels: THREE }] }, PODS);

    expect(await launchAll(world)).toEqual(['ready', 'ready', 'ready']);
    expect(missing(world)[0]?.evidence['verbs']).toBe(
      'create selfsubjectrulesreviews.authorization.k8s.io, list limitranges',
    );
  });
});

describe('token-expiry: 0', () => {
  it('gives tokens without an end, as the original does', async () => {
    const fake = await startFake();
    const world = await startWorld(fake, { 'token-expiry': 0 });

    const { node } = await world.launch('space');

    expect(node.connectionPort).toMatchObject({ token: `secret-token-of-${node.externalId as string}-zuul-worker` });
    expect(fake.calls.some(({ sub }) => sub === 'token')).toBe(false);
  });
});
