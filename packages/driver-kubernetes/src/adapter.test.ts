import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/core';
import { systemClock } from '@nodepool/zk-protocol';
import { namesIn, useFakeWorlds } from '../test/fake-world.js';
import { lifeOf } from './token.js';

const { fake: startFake, world: startWorld } = useFakeWorlds();
const SHARED = { driver: 'openshiftpods' } as const;
const NEVER = new AbortController().signal;
/** How much faster the clock is of a provider that waits. */
const HURRY = 100;

/** A namespace that this provider made for a node of its database, without a record. */
const lost = (name: string, databaseId = 'da7aba5e'.repeat(4)) => ({
  metadata: {
    name,
    labels: {
      ...{ nodepool_provider_name: 'cluster', nodepool_node_id: '0000000077', nodepool_pool_name: 'main' },
      nodepool_database_id: databaseId,
    },
  },
});

describe('a node', () => {
  it('that is a pod says how kubectl reaches it, and what it uses', async () => {
    const fake = await startFake();
    const world = await startWorld(fake);

    const { node } = await world.launch('small');

    expect(node).toMatchObject({
      ...{ state: 'ready', externalId: 'main-0000000001', interfaceIp: 'small', connectionType: 'kubectl' },
      ...{ hostId: 'node-1', cloud: 'fake', pythonPath: 'auto', shellType: null, hostKeys: [] },
      resources: { instances: 1, cores: 1 },
      connectionPort: {
        ...{ name: 'main-0000000001', namespace: 'main-0000000001', pod: 'small', host: fake.url, skiptls: true },
        ...{ user: 'zuul-worker', token: expect.stringContaining('.') as string },
      },
    });
  });

  it('that is a namespace has an account with a role in it', async () => {
    const fake = await startFake();
    const world = await startWorld(fake);

    const { node } = await world.launch('space');

    expect(node).toMatchObject({ connectionType: 'namespace', interfaceIp: null });
    expect(namesIn(fake, 'roles')).toEqual(['zuul']);
    expect(namesIn(fake, 'rolebindings')).toEqual(['zuul-role']);
    expect(namesIn(fake, 'pods')).toEqual([]);
  });

  it('may get an existing ClusterRole instead of a role', async () => {
    const fake = await startFake();
    const labels = [{ name: 'space', type: 'namespace', 'cluster-role': 'edit' }];
    const world = await startWorld(fake, { pools: [{ name: 'main', labels }] });

    await world.launch('space');

    expect(namesIn(fake, 'roles')).toEqual([]);
    expect(fake.cluster.store.list('rolebindings')[0]?.['roleRef']).toMatchObject({
      kind: 'ClusterRole',
      name: 'edit',
    });
  });

  it('marks all its objects', async () => {
    const fake = await startFake();
    await (await startWorld(fake)).launch('small');

    const made = ['namespaces', 'pods', 'serviceaccounts', 'roles', 'rolebindings'].flatMap((kind) =>
      fake.cluster.store.list(kind).filter(({ metadata }) => metadata.labels?.['nodepool_node_id'] === '0000000001'),
    );

    expect(made.length).toBe(5);
    for (const { metadata } of made) {
      expect(metadata.annotations).toMatchObject({
        ...{
          nodepool_provider_name: 'cluster',
          nodepool_pool_name: 'main',
          nodepool_database_id: 'da7aba5e'.repeat(4),
        },
      });
    }
  });

  // Ends: TokensShortened Shortened
  it('is replaced while it is idle before its token ends', async () => {
    const fake = await startFake();
    fake.maxTokenSeconds = 0;
    const world = await startWorld(fake, { 'token-expiry': 600 });
    await world.launch('space');

    await world.provider.cleanupLeakedResources(NEVER);

    expect(world.withdrawn).toEqual([{ id: '0000000001', why: 'half of the life of its token is over' }]);
    expect(world.provider.conditions?.()).toMatchObject([{ type: 'TokensShortened' }]);
    fake.maxTokenSeconds = 600;
    await world.launch('space');
    expect(world.provider.conditions?.()).toEqual([]);
  });

  it('that is held gets a new token before its own ends, and keeps all else', async () => {
    const fake = await startFake();
    fake.maxTokenSeconds = 0;
    const world = await startWorld(fake, { 'token-expiry': 600 });
    const { node } = await world.launch('space');
    world.nodes.set(node.id, { ...node, state: 'hold' });
    fake.maxTokenSeconds = 600;

    await world.provider.cleanupLeakedResources(NEVER);

    const renewed = world.nodes.get(node.id);
    const [before, after] = [node, renewed].map((one) => one?.connectionPort as { token: string });
    expect(lifeOf(after?.token ?? '')?.expiresMs).toBeGreaterThan(lifeOf(before?.token ?? '')?.expiresMs ?? Infinity);
    expect({ ...renewed, connectionPort: { ...after, token: before?.token } }).toEqual({ ...node, state: 'hold' });
    expect(world.withdrawn).toEqual([]);
  });
});

describe('a launch', () => {
  // Ends: PodsNotStarting Container, PodsNotStarting Image, PodsNotStarting Unschedulable
  it.each([
    ['unpullable', 'NODEPOOL_CONFIG', 'ErrImagePull', 'Image'],
    ['fails', 'NODEPOOL_LAUNCH_STATUS', 'DeadlineExceeded', 'Container'],
    ['unschedulable', 'NODEPOOL_CAPACITY', '3 Insufficient cpu', 'Unschedulable'],
  ] as const)('of a pod that is %s fails with %s and says why, until one starts', async (fate, code, why, reason) => {
    const fake = await startFake();
    const world = await startWorld(fake, { 'launch-retries': 1, 'schedule-timeout': 0 });
    fake.cluster.nextPod(fate);

    const { state, error, node } = await world.launch('small');

    expect(state).toBe('failed');
    expect(error).toMatchObject({ code, message: expect.stringContaining(why) as string });
    const found = world.provider.conditions?.() ?? [];
    expect(found).toMatchObject([{ type: 'PodsNotStarting', name: 'cluster/main/small', reason }]);
    await world.cleanUp(node);
    expect(namesIn(fake, 'namespaces')).toEqual(['default', 'kube-system']);
    expect((await world.launch('small')).state).toBe('ready');
    expect(world.provider.conditions?.()).toEqual([]);
  });

  it('says why its pod waits before it fails', async () => {
    const fake = await startFake();
    const world = await startWorld(fake);
    const end = new AbortController();
    fake.cluster.nextPod('unschedulable');
    const launch = world.launch('small', { signal: end.signal });

    await expect.poll(() => world.provider.conditions?.()).toMatchObject([{ type: 'PodsNotStarting' }]);
    end.abort();
    await launch;
  });

  it('waits when the quota is used up', async () => {
    const fake = await startFake();
    const world = await startWorld(fake);
    fake.cluster.nextPod('refused');

    expect(await world.launch('small')).toMatchObject({ state: 'aborted', error: { code: 'NODEPOOL_QUOTA' } });
  });

  it.each([
    ['create namespaces', 'verb "create" on namespaces'],
    ['create serviceaccounts', 'verb "create" on serviceaccounts'],
    ['create roles', 'verb "create" on roles.rbac.authorization.k8s.io'],
    ['create rolebindings', 'verb "create" on rolebindings.rbac.authorization.k8s.io'],
    ['create pods', 'verb "create" on pods'],
  ])('without permission to %s names it', async (denied, text) => {
    const fake = await startFake();
    const world = await startWorld(fake);
    fake.denied.add(denied);

    const { state, error } = await world.launch('small');

    expect([state, error?.message]).toEqual(['failed', expect.stringContaining(`permission is missing: ${text}`)]);
  });

  it('changes nothing of others that have its name', async () => {
    const fake = await startFake();
    fake.cluster.create('namespaces', undefined, { metadata: { name: 'main-0000000001' } });
    const world = await startWorld(fake);

    const { state, error, node } = await world.launch('space');
    await world.cleanUp(node);

    expect(state).toBe('failed');
    expect(error?.message).toContain('namespace "main-0000000001" exists and is not this provider\'s');
    expect(namesIn(fake, 'namespaces')).toContain('main-0000000001');
  });
});

describe('leaks', () => {
  it('are deleted when they carry the id of the database, and nothing else is', async () => {
    const fake = await startFake();
    const world = await startWorld(fake);
    const { node } = await world.launch('space');
    fake.cluster.create('namespaces', undefined, lost('main-0000000077'));
    fake.cluster.create('namespaces', undefined, lost('main-0000000078', 'another'));
    fake.cluster.create('namespaces', undefined, { metadata: { name: 'main-0000000079' } });

    await world.findLeaks();

    expect(namesIn(fake, 'namespaces').sort()).toEqual(
      ['default', 'kube-system', node.externalId as string, 'main-0000000078', 'main-0000000079'].sort(),
    );
    expect(world.provider.alienResources?.()).toMatchObject([{ id: 'main-0000000078' }]);
  });

  it('of the original get the id of the database with their record', async () => {
    const fake = await startFake();
    const world = await startWorld(fake);
    const { metadata } = lost('main-0000000077');
    const { nodepool_database_id: _id, ...labels } = metadata.labels;
    fake.cluster.create('namespaces', undefined, { metadata: { ...metadata, labels } });
    const [resource] = (await world.provider.listResources?.(NEVER)) ?? [];
    if (!resource) throw new Error('it is not listed');

    await world.provider.tagResource?.(resource, { nodepool_database_id: 'mine' }, NEVER);

    expect(fake.cluster.store.get('namespaces', undefined, 'main-0000000077')?.metadata).toMatchObject({
      labels: { ...labels, nodepool_database_id: 'mine' },
    });
  });
});

describe('a deletion', () => {
  // Ends: DeletionsHang Finalizers
  it('ends when the namespace is gone, and names the finalizers that hold it', async () => {
    const fake = await startFake();
    const beganMs = systemClock.now();
    const clock = {
      now: () => beganMs + (systemClock.now() - beganMs) * HURRY,
      setTimer: (ms: number, fire: () => void) => systemClock.setTimer(ms / HURRY, fire),
    };
    const world = await startWorld(fake, {}, { clock });
    const { node } = await world.launch('space');
    const space = fake.cluster.store.get('namespaces', undefined, 'main-0000000001');
    if (!space) throw new Error('there is no namespace');
    const held = fake.cluster.store.update('namespaces', space, {
      metadata: { ...space.metadata, finalizers: ['example.com/hold'] },
    });
    let isDone = false;
    const deletion = world.cleanUp(node).then(() => (isDone = true));
    await expect.poll(() => held.metadata.name).toBe('main-0000000001');

    await expect
      .poll(() => world.provider.conditions?.(), { timeout: 50_000 })
      .toMatchObject([{ type: 'DeletionsHang', reason: 'Finalizers' }]);
    expect(world.provider.conditions?.()[0]?.nextStep).toMatch(/^repair the controllers of these finalizers/);
    expect(isDone).toBe(false);
    fake.cluster.dropFinalizers('namespaces', held);
    await deletion;
    expect(world.provider.conditions?.()).toEqual([]);
    expect(namesIn(fake, 'namespaces')).toEqual(['default', 'kube-system']);
  });
});

describe('pods of a shared namespace', () => {
  const inMain = async (entry: JsonObject = {}) => {
    const fake = await startFake();
    fake.cluster.create('namespaces', undefined, { metadata: { name: 'main' } });
    return { fake, world: await startWorld(fake, entry, SHARED) };
  };

  it('have names of the original, and the token of the context', async () => {
    const { fake, world } = await inMain();

    const { node } = await world.launch('small');

    expect(node).toMatchObject({
      ...{ externalId: 'main-small-0000000001', interfaceIp: 'small-0000000001', connectionType: 'kubectl' },
      connectionPort: { namespace: 'main', pod: 'small-0000000001', token: 'fake-token', user: 'zuul-worker' },
    });
    await world.cleanUp(node);
    expect(namesIn(fake, 'pods')).toEqual([]);
    expect(namesIn(fake, 'namespaces')).toContain('main');
  });

  it('get a token of their own service account', async () => {
    const pool = { name: 'main', 'service-account': 'jobs', labels: [{ name: 'small', image: 'x' }] };
    const { fake, world } = await inMain({ pools: [pool] });
    fake.cluster.create('serviceaccounts', 'main', { metadata: { name: 'jobs' } });

    const { node } = await world.launch('small');

    expect(node.connectionPort).toMatchObject({ user: 'jobs', token: expect.stringContaining('e30.') as string });
  });

  // Ends: LabelUnusable LargerThanQuota
  it('are not launched while a range of the namespace forbids their size', async () => {
    const { fake } = await inMain();
    const limits = [{ type: 'Container', max: { cpu: '500m' } }];
    fake.cluster.store.create('limitranges', { metadata: { name: 'most', namespace: 'main' }, spec: { limits } });
    const world = await startWorld(fake, {}, SHARED);
    const found = () => world.provider.conditions?.() ?? [];

    await expect.poll(found).toMatchObject([{ type: 'LabelUnusable', reason: 'LargerThanQuota' }]);
    expect(found()[0]?.nextStep).toBe('lower limits.cpu of the label, or raise the LimitRange');
    const range = fake.cluster.store.get('limitranges', 'main', 'most');
    if (range) fake.cluster.store.remove('limitranges', range);

    await expect.poll(found, { timeout: 50_000 }).toEqual([]);
  });

  it('fit into the quota of the namespace, which others use too', async () => {
    const { fake, world } = await inMain();
    fake.cluster.create('pods', 'main', { metadata: { name: 'foreign' } });
    fake.cluster.setQuota('main', 4);
    await world.launch('small');
    world.provider.quota?.invalidateQuotaCache();

    await expect.poll(() => world.provider.quota?.estimatedNodepoolQuota()).toMatchObject({ instances: 3 });
    const pool = world.provider.config.pools.get('main');
    if (!pool) throw new Error('there is no pool');
    expect(world.provider.quota?.quotaNeededByLabel('small', pool)).toMatchObject({ instances: 1, cores: 1 });
  });
});
