import {
  silentLogger,
  TaskManager,
  type AdapterContext,
  type JsonObject,
  type MachineRun,
  type NodeRecord,
} from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { expect, it } from 'vitest';
import { FakeIncus, type FakeOptions } from '../test/fake/fake-incus.js';
import { InProcessTransport } from '../test/fake/in-process.js';
import { SIGNAL, TAGS } from '../test/support/daemon.js';
import { IncusAdapter } from './adapter.js';
import { readProviderConfig } from './config.js';
import type { IncusInstance } from './instance.js';
import { asKeys, instanceName } from './ownership.js';

async function start(options: FakeOptions = {}, label: JsonObject = {}) {
  const clock = new VirtualClock();
  const daemon = new FakeIncus(clock, options);
  const messages: string[] = [];
  const config = readProviderConfig(
    {
      ...{ name: 'lab', driver: 'incus', 'cloud-images': [{ name: 'debian' }, { name: 'missing' }] },
      pools: [
        {
          name: 'main',
          labels: [{ name: 'a', ...('clone-from' in label ? {} : { 'cloud-image': 'debian' }), ...label }],
        },
      ],
    },
    { labels: new Map(), diskimages: new Map(), problem: () => undefined },
  );
  const logger = {
    ...silentLogger,
    info: (text: string, fields: object = {}) => messages.push(`${text} ${JSON.stringify(fields)}`),
  };
  const tasks = new TaskManager('lab', { clock });
  const unread: unknown[] = [];
  const readEach: AdapterContext['entries']['readEach'] = ({ kind }, all, read) =>
    all.flatMap((entry) => {
      const found = read(entry);
      if (found === undefined) unread.push([kind, entry]);
      return found === undefined ? [] : [found];
    });
  const services = { clock, logger, tasks, entries: { readEach }, databaseId: 'db', random: () => 0 };
  const context = services as unknown as AdapterContext;
  const adapter = new IncusAdapter(config, context, new InProcessTransport(() => daemon));
  await adapter.start(SIGNAL);
  const pool = config.pools.get('main');
  const made = pool?.labels.get('a');
  if (!pool || !made) throw new Error('there is no such label');
  return { adapter, daemon, clock, messages, unread, pool, label: made };
}

it('says what it found', async () => {
  const { messages, adapter } = await start({ product: 'incus' });

  expect(messages).toEqual(['Connected to the daemon {"server":"Incus","version":"6.0.0","isClustered":false}']);
  await adapter.stop();
});

it('has the limits of the project and of the hardware of all members', async () => {
  const { adapter, daemon } = await start({ members: ['one', 'two'] });
  daemon.state.projectConfig['limits.instances'] = '7';

  expect(await adapter.getQuotaLimits(SIGNAL)).toEqual({ instances: 7, cores: 64, ram: 32_768 });
  expect(await adapter.getAZs(SIGNAL)).toEqual(['one', 'two']);
});

it('has one zone without a cluster', async () => {
  const { adapter } = await start();

  expect(await adapter.getAZs(SIGNAL)).toEqual([null]);
});

it('needs what the label limits', async () => {
  const { adapter, label } = await start({}, { cpu: 2, memory: 512, disk: 4 });

  expect(await adapter.getQuotaForLabel(label)).toEqual({ instances: 1, cores: 2, ram: 512, 'disk-gb': 4 });
});

it('is ready if all that the label names is there', async () => {
  const { adapter, label, pool } = await start(
    {},
    { profiles: ['default'], network: 'br0', 'storage-pool': 'default' },
  );

  expect(await adapter.labelReady(label, pool, SIGNAL)).toBe(true);
});

// Ends: LabelUnusable ProfileMissing, LabelUnusable SourceMissing, LabelUnusable StoragePoolMissing
it.each<[string, JsonObject, RegExp, (daemon: FakeIncus) => unknown]>([
  ['ProfileMissing', { profiles: ['gpu'] }, /^correct "profiles"/, ({ state }) => state.profiles.add('gpu')],
  [
    'StoragePoolMissing',
    { 'storage-pool': 'fast' },
    /^correct "storage-pool"/,
    ({ state }) => state.storagePools.add('fast'),
  ],
  [
    'SourceMissing',
    { 'clone-from': 'golden' },
    /^correct "clone-from"/,
    (daemon) => daemon.handle('POST', '/1.0/instances', Buffer.from('{"name":"golden","source":{"alias":"debian"}}')),
  ],
])('is not ready for want of what the label names, until it is there: %s', async (reason, own, step, make) => {
  const { adapter, daemon, label, pool } = await start({}, own);

  const nextStep = expect.stringMatching(step) as string;
  await expect(adapter.labelReady(label, pool, SIGNAL)).rejects.toMatchObject({ reason, nextStep });
  make(daemon);

  expect(await adapter.labelReady(label, pool, SIGNAL)).toBe(true);
});

it('does not take an instance for deleted that is in another project', async () => {
  const { adapter, daemon } = await start();
  const name = instanceName('np0000000001', TAGS);
  const order = { externalId: name, node: { id: TAGS.nodepool_node_id } as NodeRecord, logger: silentLogger };
  const instance = { name, project: 'earlier', type: 'container', status: 'Running', config: asKeys(TAGS) };
  const run = { signal: SIGNAL } as MachineRun<IncusInstance>;
  expect(await adapter.getDeleteStateMachine(order).advance(run)).toMatchObject({ step: 'done' });

  daemon.state.elsewhere.push(instance);

  await expect(adapter.getDeleteStateMachine(order).advance(run)).rejects.toThrow(
    /is in the project "earlier": set "project" of the provider to "earlier" until its nodes are deleted/,
  );
});

it('deletes a node whose instance is gone with a certificate that is restricted to the project', async () => {
  const { adapter, daemon } = await start();
  daemon.restrict();
  const order = { externalId: 'np1', node: { id: TAGS.nodepool_node_id } as NodeRecord, logger: silentLogger };
  const run = { signal: SIGNAL } as MachineRun<IncusInstance>;

  expect(await adapter.getDeleteStateMachine(order).advance(run)).toMatchObject({ step: 'done' });
  expect(adapter.conditions()).toEqual([]);
});

it('reads the console of an instance', async () => {
  const { adapter, daemon, label, clock } = await start();
  const name = instanceName('np0000000001', TAGS);
  const body = JSON.stringify({ name, config: asKeys(TAGS), source: { alias: 'debian' } });
  daemon.handle('POST', '/1.0/instances', Buffer.from(body));
  await clock.advance(1_000);

  expect(await adapter.getConsoleLog(label, name, SIGNAL)).toBe(`console of ${name}\n`);
  expect(await adapter.listResources(SIGNAL)).toMatchObject([{ id: name, metadata: TAGS }]);
});

it('says of instances that were stopped by another program that they cannot be used', async () => {
  const { adapter, daemon, clock } = await start();
  for (const name of ['stopped', 'running']) {
    daemon.handle('POST', '/1.0/instances', Buffer.from(JSON.stringify({ name, source: { alias: 'debian' } })));
    await clock.advance(1_000);
  }
  daemon.handle('PUT', '/1.0/instances/running/state', Buffer.from('{"action":"start"}'));
  await clock.advance(5_000);

  const shown = await adapter.listInstances(SIGNAL);

  expect(shown.map(({ externalId, unusable }) => [externalId, unusable])).toEqual([
    ['stopped', 'the server shows it as Stopped'],
    ['running', undefined],
  ]);
});

it('lists the others beside an instance of a member that is away, which has no configuration, and one without a name', async () => {
  const { adapter, daemon, unread } = await start();
  const shown = { type: 'container', status: 'Running', config: {}, state: { network: { eth0: { addresses: null } } } };
  const handle = daemon.handle.bind(daemon);
  const metadata = [{ name: 'away', status: 'Error', config: null }, null, { ...shown, name: 'fine' }];
  daemon.handle = (method, url, raw, headers) =>
    method === 'GET' && url.startsWith('/1.0/instances?')
      ? { status: 200, text: JSON.stringify({ type: 'sync', metadata }) }
      : handle(method, url, raw, headers);

  expect((await adapter.listInstances(SIGNAL)).map(({ externalId, unusable }) => [externalId, unusable])).toEqual([
    ['away', 'the server shows it as Error'],
    ['fine', undefined],
  ]);
  expect(unread).toEqual([['instances', null]]);
});

// Ends: LoginRefused Untrusted
it('has a condition while the daemon does not trust it, until it does', async () => {
  const { adapter, daemon } = await start();
  expect(adapter.conditions()).toEqual([]);

  daemon.distrust();
  await expect(adapter.listInstances(SIGNAL)).rejects.toThrow();

  expect(adapter.conditions()).toMatchObject([
    { kind: 'provider', name: 'lab', type: 'LoginRefused', reason: 'Untrusted' },
  ]);
  daemon.trust();
  await adapter.listInstances(SIGNAL);
  expect(adapter.conditions()).toEqual([]);
});
