import { NODES_ROOT, type NodeId } from '@nodepool/zk-protocol';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../../contract/config.js';
import type { Driver, Provider, ProviderContext } from '../../contract/driver.js';
import type { ProviderConfig } from '../../contract/provider-config.js';
import { idleProvider } from '../../../test/support/idle-provider.js';
import { plainDriver, registryOf } from '../../../test/support/plain-driver.js';
import { rackConfig } from '../../../test/support/rack-world.js';
import { ServiceWorld } from '../../../test/support/service-world.js';
import type { ProviderRunner } from './provider-runner.js';
import { ProviderSet } from './provider-set.js';

/** A provider that tells what is asked of it. */
interface Told {
  readonly context: ProviderContext;
  readonly calls: string[];
}

let world: ServiceWorld;
let set: ProviderSet;
let config: Config;
/** Every provider that was made, the oldest first. */
let made: Told[];
/** What the set asked of its launcher. */
let asked: string[];
/** How often the next starts fail. */
let failures: number;
let working: Set<string>;
let elsewhere: Set<string>;

const driver = (capabilities?: Partial<Driver['capabilities']>): Driver =>
  plainDriver('plain', {
    capabilities: { launches: true, pausesAtQuota: false, managesImages: false, ...capabilities },
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
  await world.clock.run(set.apply(config));
}

beforeEach(async () => {
  world = await ServiceWorld.open();
  ({ made, asked, failures, working, elsewhere } = {
    ...{ made: [], asked: [], failures: 0 },
    ...{ working: new Set<string>(), elsewhere: new Set<string>() },
  });
  set = openSet(driver());
});

function openSet(of: Driver): ProviderSet {
  return new ProviderSet(world.services, registryOf(of), {
    images: {} as ProviderContext['images'] & object,
    databaseId: () => undefined,
    config: () => config,
    capacityChanged: (name, pool) => void asked.push(`capacity ${name}/${pool ?? ''}`),
    avoidsZone: () => false,
    apiAnswered: (name, error) => void asked.push(`answered ${name}: ${error?.message ?? 'well'}`),
    providerStarted: ({ name }: ProviderRunner) => void asked.push(`started ${name}`),
    isWorkedFor: (name) => working.has(name),
    isServedElsewhere: (name) => elsewhere.has(name),
    restart: (name) => void asked.push(`restart ${name}`),
    withdrawNode: () => Promise.resolve(false),
    releaseNode: ({ id }, why) => void asked.push(`release ${id}: ${why}`),
  });
}

const calls = () => made.map((each) => each.calls);

describe('a reload', () => {
  it('starts what is new and keeps what is the same', async () => {
    await apply('one');
    const runner = set.get('one');

    await apply('one', 'two');

    expect(set.get('one')).toBe(runner);
    expect(calls()).toEqual([['start'], ['start']]);
    expect(asked).toEqual(['started one', 'started two']);
  });

  it('has the successor of a changed provider started before the old one stops', async () => {
    await apply('one');
    const old = set.get('one');

    await apply('one changed');

    expect(set.get('one')).not.toBe(old);
    expect(calls()).toEqual([['start', 'idle', 'stop'], ['start']]);
  });

  it('takes the launches of a changed provider over, so that the limits hold', async () => {
    await apply('one');
    const launch = set.get('one')?.planLaunch('main', { instances: 3 }, () => undefined);

    await apply('one changed');

    expect(set.get('one')).toMatchObject({ activeLaunches: 1 });
    expect(set.get('one')?.usedByProvider()).toEqual({ instances: 3 });
    launch?.ended(undefined);
    expect(set.get('one')).toMatchObject({ activeLaunches: 0 });
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
    expect(asked).toEqual(['started two']);

    await world.pass(5_000);

    expect(set.startErrors()).toEqual([]);
    expect(set.get('one')?.running).toBe(true);
    expect(asked).toEqual(['started two', 'started one']);
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

  it('is told, and stays the provider of its nodes until the last is gone', async () => {
    await apply('one');
    const id = await node('one');

    await apply();

    const record = world.services.mirror.nodes.get(id);
    expect(made[0]?.context.closing?.aborted).toBe(true);
    expect(set.draining).toMatchObject([{ provider: 'one', nodes: 1 }]);
    expect(record && set.providerOf(record)?.config.name).toBe('one');
    expect(calls()).toEqual([['start', 'idle']]);

    await world.clock.run(world.other.deleteRecursive(`${NODES_ROOT}/${id}`));
    await world.pass(100);

    expect(set.draining).toEqual([]);
    expect(calls()).toEqual([['start', 'idle', 'stop']]);
  });

  it('stays while a request is still being worked on for it', async () => {
    await apply('one');
    working.add('one');

    await apply();
    expect(calls()).toEqual([['start', 'idle']]);

    working.clear();
    set.poolEnded('one');
    await world.pass(100);
    expect(calls()).toEqual([['start', 'idle', 'stop']]);
  });

  it('has its free nodes deleted after a minute, in case it comes back', async () => {
    await apply('one');
    const id = await node('one');
    await apply();
    await world.pass(59_000);
    set.sweep();
    expect(asked).toEqual(['started one']);

    await world.pass(1_000);
    set.sweep();

    expect(asked).toEqual(['started one', `release ${id}: its provider left the configuration`]);
  });

  it('leaves its nodes to another launcher that serves it', async () => {
    await apply('one');
    await node('one');
    elsewhere.add('one');
    await apply();

    await world.pass(60_000);
    set.sweep();

    expect(asked).toEqual(['started one']);
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

describe('looking for leaked resources', () => {
  it('asks each running provider, and one that was looked at a moment ago only later', async () => {
    await apply('one', 'two');
    const { signal } = new AbortController();

    await world.clock.run(set.cleanupLeakedResources(signal, 'one'));
    await world.clock.run(set.cleanupLeakedResources(signal));
    expect(calls()).toEqual([
      ['start', 'look'],
      ['start', 'look'],
    ]);

    await world.pass(5_000);
    await world.clock.run(set.cleanupLeakedResources(signal, 'one'));
    expect(calls()).toEqual([
      ['start', 'look', 'look'],
      ['start', 'look'],
    ]);
  });

  it('asks none that does not run', async () => {
    failures = 1;
    await apply('one');

    await world.clock.run(set.cleanupLeakedResources(new AbortController().signal));

    expect(calls()).toEqual([['start']]);
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
  it('is told to all providers before it comes, and stops them all', async () => {
    await apply('one', 'two');
    await world.createNode({ provider: 'two', pool: 'main' });
    await apply('one');

    set.close();
    expect(made.map(({ context }) => context.closing?.aborted)).toEqual([true, true]);
    await world.clock.run(set.stop());

    expect(calls()).toEqual([
      ['start', 'stop'],
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
    expect(asked).toEqual(['started one', 'capacity one/main']);
  });
});
