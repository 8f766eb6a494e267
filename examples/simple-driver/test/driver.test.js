import { silentLogger } from '@nodepool/core';
import { newNode, newRequest, systemClock, withNode } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { driver } from '../src/index.js';
import { startShed } from './shed.js';

const running = [];

afterEach(async () => {
  for (const stop of running.splice(0).reverse()) await stop();
});

/** A shed, and a provider that uses it. */
async function setUp(options) {
  const shed = await startShed(options);
  running.push(() => shed.stop());
  const entry = {
    name: 'garden',
    driver: 'shed',
    url: shed.url,
    'cloud-images': [{ name: 'debian', username: 'zuul', key: 'ssh-ed25519 KEY' }],
    pools: [{ name: 'main', labels: [{ name: 'small', 'cloud-image': 'debian', size: 's' }] }],
  };
  const config = driver.getProviderConfig(entry, { labels: new Map(), diskimages: new Map(), problem() {} });
  const nodes = new Map();
  const provider = driver.getProvider(config, {
    zk: { exists: async () => undefined },
    clock: systemClock,
    logger: silentLogger,
    nodes: { ready: true, get: (id) => nodes.get(id) },
    ownNodes: () => nodes.values(),
    capacityChanged() {},
    random: Math.random,
    config: () => ({}),
    hostname: 'launcher',
  });
  await provider.start(new AbortController().signal);
  running.push(async () => {
    provider.stop();
    await provider.join();
  });
  return { shed, provider, config, nodes };
}

async function launch({ provider, config, nodes }) {
  const pool = config.pools.get('main');
  const request = newRequest({ labels: ['small'] }, systemClock.now());
  const handler = provider.getRequestHandler(pool, request);
  const draft = handler.setNodeMetadata(
    newNode({ state: 'init', labels: ['small'], provider: 'garden', pool: 'main' }, systemClock.now()),
  );
  let node = { ...draft, id: '0000000001', state: 'building' };
  const store = async (changes) => {
    node = withNode(node, changes, systemClock.now(), 'launcher');
    nodes.set(node.id, node);
    return node;
  };
  const order = { node, label: pool.labels.get('small'), pool, request, store };
  return await handler.launch(order, new AbortController().signal);
}

describe('the shed driver', () => {
  it('creates a machine for a node and deletes it afterwards', async () => {
    const setting = await setUp();

    const { state, node } = await launch(setting);
    const [machine] = [...setting.shed.machines.values()];
    await setting.provider.startNodeCleanup(node, new AbortController().signal);

    expect(state).toBe('ready');
    expect(node).toMatchObject({ externalId: 'm1', interfaceIp: 'fake-m1', username: 'zuul' });
    expect(node.hostKeys).toEqual(['ssh-rsa FAKEKEY']);
    expect(machine).toMatchObject({
      name: 'nodepool-0000000001',
      size: 's',
      tags: { nodepool_node_id: '0000000001', nodepool_provider_name: 'garden', 'ssh-keys': 'zuul:ssh-ed25519 KEY' },
    });
    expect(setting.shed.machines.size).toBe(0);
  });

  it('reports a full shed as a lack of quota', async () => {
    const setting = await setUp({ machines: 0 });

    const result = await launch(setting);

    expect(result.state).toBe('aborted');
  });

  it('retries a failed call', async () => {
    const setting = await setUp();
    await expect.poll(() => setting.provider.quota.estimatedNodepoolQuota()).toEqual({ instances: 10 });
    setting.shed.failNext(400, 'not today');

    const result = await launch(setting);
    await setting.provider.startNodeCleanup(result.node, new AbortController().signal);

    expect(result.state).toBe('ready');
  });
});
