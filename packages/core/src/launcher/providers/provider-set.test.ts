import { NODES_ROOT, type LauncherId, type NodeId } from '@nodepool/zk-protocol';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../../contract/config.js';
import type { Driver, Provider, ProviderContext } from '../../contract/driver.js';
import type { ProviderConfig } from '../../contract/provider-config.js';
import { idleProvider } from '../../../test/support/idle-provider.js';
import { plainDriver, registryOf } from '../../../test/support/plain-driver.js';
import { rackConfig } from '../../../test/support/rack-world.js';
import { LauncherRooms } from '../../../test/support/launcher-rooms.js';
import type { ServiceWorld } from '../../../test/support/service-world.js';
import type { ProviderSet } from './provider-set.js';

/** A provider that tells what is asked of it. */
interface Told {
  readonly context: ProviderContext;
  readonly calls: string[];
}

let rooms: LauncherRooms;
let world: ServiceWorld;
let set: ProviderSet;
let config: Config;
/** Every provider that was made, the oldest first. */
let made: Told[];
/** What the set told its launcher. */
let told: string[];
/** How often the next starts fail. */
let failures: number;

const driver: Driver = plainDriver('plain', {
  capabilities: { launches: true, pausesAtQuota: false, managesImages: false },
  getProvider: (providerConfig, context) => {
    const calls: string[] = [];
    made.push({ context, calls });
    return provider(providerConfig, calls);
  },
});

function provider(providerConfig: ProviderConfig, calls: string[]): Provider {
  return idleProvider(providerConfig, {
    start: () => {
      calls.push('start');
      return failures-- > 0 ? Promise.reject(new Error('the cloud is away')) : Promise.resolve();
    },
    refresh: () => void calls.push('refresh'),
    idle: () => void calls.push('idle'),
    stop: () => void calls.push('stop'),
    cleanupLeakedResources: () => Promise.resolve(void calls.push('look')),
  });
}

/** A configuration with these providers; `changed` ones differ from before. */
function configOf(...names: string[]): Config {
  const providers = names.map((text): [string, ProviderConfig] => {
    const [name = '', entry] = text.split(' ');
    return [
      name,
      {
        ...{ name, driverName: 'plain', entry: { name, ...(entry && { entry }) }, managesImages: false },
        ...{ maxConcurrency: -1, priority: undefined, pools: new Map() },
      },
    ];
  });
  return { ...rackConfig, providers: new Map(providers) };
}

async function apply(...names: string[]): Promise<void> {
  config = configOf(...names);
  world.context.config.now = config;
  await world.clock.run(set.apply(config));
}

beforeEach(async () => {
  ({ made, told, failures } = { made: [], told: [], failures: 0 });
  rooms = await LauncherRooms.open(configOf(), registryOf(driver));
  ({ world, providers: set } = rooms);
  const { events } = world.context;
  events.on('providerStarted', ({ provider: name }) => told.push(`started ${name}`));
  set.handTo({ capacityChanged: (name, pool = '') => void told.push(`capacity ${name}/${pool}`) });
});

const calls = () => made.map((each) => each.calls);

describe('a reload', () => {
  it('starts what is new and keeps what is the same, which reads its cloud again', async () => {
    await apply('one');
    const runner = set.get('one');

    await apply('one', 'two');

    expect(set.get('one')).toBe(runner);
    expect(calls()).toEqual([['start', 'refresh'], ['start']]);
    expect(told).toEqual(['started one', 'started two']);
  });

  it('has the successor of a changed provider started before the old one stops', async () => {
    await apply('one');
    const old = set.get('one');

    await apply('one changed');

    expect(set.get('one')).not.toBe(old);
    expect(calls()).toEqual([['start', 'idle', 'stop'], ['start']]);
  });

  it('whose driver is not installed changes nothing', async () => {
    await apply('one');
    const other = configOf('one changed');
    const providers = new Map([...other.providers].map(([name, each]) => [name, { ...each, driverName: 'gone' }]));

    await expect(world.clock.run(set.apply({ ...other, providers }))).rejects.toThrow('driver "gone" is not installed');

    expect(calls()).toEqual([['start']]);
  });
});

describe('a provider that cannot be started', () => {
  it('holds up no other, is named with its error, and is tried again', async () => {
    failures = 1;
    await apply('one', 'two');

    expect(set.startErrors()).toEqual([{ provider: 'one', error: 'the cloud is away' }]);
    expect(told).toEqual(['started two']);

    await world.pass(5_000);

    expect(set.startErrors()).toEqual([]);
    expect(set.get('one')?.running).toBe(true);
    expect(told).toEqual(['started two', 'started one']);
  });
});

describe('a provider that leaves the configuration', () => {
  const node = (provider: string): Promise<NodeId> => world.createNode({ provider, pool: 'main' });

  it('stops at once when nothing is left of it', async () => {
    await apply('one');

    await apply();
    await world.pass(100);

    expect(calls()).toEqual([['start', 'idle', 'stop']]);
    expect(set.draining).toEqual([]);
  });

  it('is reported, and stays the provider of its nodes until the last is gone', async () => {
    await apply('one');
    const id = await node('one');

    await apply();

    const record = world.context.mirror.nodes.get(id);
    expect(made[0]?.context.closing?.aborted).toBe(true);
    expect(set.draining).toMatchObject([{ provider: 'one', nodes: 1 }]);
    expect(record && set.providerOf(record)?.config.name).toBe('one');
    expect(calls()).toEqual([['start', 'idle']]);

    await world.clock.run(world.other.deleteRecursive(`${NODES_ROOT}/${id}`));
    await world.pass(100);

    expect(set.draining).toEqual([]);
    expect(calls()).toEqual([['start', 'idle', 'stop']]);
  });

  it('is left to other launchers when it is configured again and its driver is missing', async () => {
    await apply('one');
    const id = await node('one');
    await apply();
    expect(set.draining).toHaveLength(1);

    const problem = { severity: 'warning' as const, position: undefined, path: '', message: '' };
    const one = {
      name: 'one',
      driverName: 'gone',
      reason: '',
      problem,
      pools: new Map(),
      diskimages: new Set<string>(),
    };
    await world.clock.run(set.apply({ ...configOf(), unserved: new Map([['one', one]]) }));
    await world.pass(120_000);
    set.reconsider('minute');
    await world.pass(500);

    expect(set.draining).toEqual([]);
    expect(calls()).toEqual([['start', 'idle', 'stop']]);
    expect(world.context.mirror.nodes.get(id)?.state).toBe('ready');
  });

  it('stays while a request is still being worked on for it', async () => {
    await apply('one');
    set.beginWork('one');

    await apply();
    expect(calls()).toEqual([['start', 'idle']]);

    set.endWork('one');
    await world.pass(100);
    expect(calls()).toEqual([['start', 'idle', 'stop']]);
  });

  it('has its free nodes deleted after a minute, in case it comes back', async () => {
    await apply('one');
    const id = await node('one');
    rooms.idle.add((free) => set.judge(free));
    await apply();
    rooms.idle.reconsider();
    await world.pass(59_000);
    expect(world.context.mirror.nodes.get(id)?.state).toBe('ready');

    await world.pass(2_000);

    expect(world.context.mirror.nodes.get(id)?.state).toBe('deleting');
  });

  it('leaves its nodes to another launcher that serves it', async () => {
    await apply('one');
    const id = await node('one');
    await rooms.register({ providerName: 'one', launcherId: 'another' as LauncherId });
    await apply();

    await world.pass(60_000);
    set.reconsider('minute');
    await world.pass(500);

    expect(world.context.mirror.nodes.get(id)?.state).toBe('ready');
    expect(set.draining).toEqual([]);
  });

  it('is replaced when it comes back', async () => {
    await apply('one');
    await node('one');
    await apply();

    await apply('one');
    await world.pass(100);

    expect(set.draining).toEqual([]);
    expect(set.get('one')?.running).toBe(true);
    expect(calls()).toEqual([['start', 'idle', 'stop'], ['start']]);
  });
});

describe('a provider that is restarted', () => {
  it('is another object of the same configuration', async () => {
    await apply('one');
    const before = set.get('one');

    const after = await world.clock.run(set.restart('one'));

    expect(after).toBe(set.get('one'));
    expect(after).not.toBe(before);
    expect(calls()).toEqual([['start', 'idle', 'stop'], ['start']]);
  });

  it('is not made once it has left the configuration or the launcher stops', async () => {
    await apply('one');
    await apply();
    expect(await world.clock.run(set.restart('one'))).toBeUndefined();

    await apply('two');
    set.close();
    expect(await world.clock.run(set.restart('two'))).toBeUndefined();
    expect(calls()).toHaveLength(2);
  });
});

describe('the end of the launcher', () => {
  it('is announced to all providers, and then stops them all', async () => {
    await apply('one', 'two');
    await world.createNode({ provider: 'two', pool: 'main' });
    await apply('one');

    set.close();
    expect(made.map(({ context }) => context.closing?.aborted)).toEqual([true, true]);
    await world.clock.run(set.stop());

    expect(calls()).toEqual([
      ['start', 'refresh', 'stop'],
      ['start', 'idle', 'stop'],
    ]);
  });
});

describe('what a provider is given', () => {
  it('shows its own nodes and the configuration in force, and passes on that capacity appeared', async () => {
    await apply('one');
    const id = await world.createNode({ provider: 'one', pool: 'main' });
    await world.createNode({ provider: 'two', pool: 'main' });
    const context = made[0]?.context;

    context?.capacityChanged('main');

    expect([...(context?.ownNodes() ?? [])].map((each) => each.id)).toEqual([id]);
    expect(context?.config()).toBe(config);
    expect(told).toEqual(['started one', 'capacity one/main']);
  });
});
