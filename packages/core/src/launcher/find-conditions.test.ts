import {
  controlPath,
  encodeControl,
  newControl,
  nodeLockPath,
  nodePath,
  type ControlSubject,
} from '@nodepool/zk-protocol';
import { beforeEach, describe, expect, it } from 'vitest';
import { pooledConfig, rackConfig, RackWorld } from '../../test/support/rack-world.js';
import { unansweredConditions } from '../cloud/task-manager/open-calls.js';
import { ConditionList } from '../conditions/condition-list.js';
import { newCondition } from '../conditions/condition-types.js';
import type { Config, DiskimageConfig } from '../contract/config.js';
import type { HostStatus, Provider } from '../contract/driver.js';
import {
  ConfigError,
  DriverError,
  LaunchError,
  NotFoundError,
  ProviderUnavailableError,
  RateLimitedError,
} from '../contract/errors.js';
import { silentLogger } from '../contract/logger.js';
import type { Launcher } from './launcher.js';

const MINUTE_MS = 60_000;

/** Provider `rack` with label `a`, of which standby nodes may be kept. */
function labelled(minReady = 0, base: Config = pooledConfig): Config {
  return { ...base, labels: new Map([['a', { name: 'a', minReady, maxReadyAgeMs: 0 }]]) };
}

let world: RackWorld;
beforeEach(() => (world = new RackWorld()));

/** What is wrong, without the sentences. */
function told(launcher: Launcher): string[] {
  return launcher.conditions.find().map(({ kind, name, type, reason }) => `${kind} ${name} ${type} ${reason}`);
}

async function start(provider: Partial<Provider>, config = labelled()): Promise<Launcher> {
  world = new RackWorld(provider);
  return world.startLauncher(config);
}

async function order(subject: ControlSubject, owner = 'alice@ops'): Promise<string> {
  const control = newControl({ ...subject, mode: 'pause', owner, reason: 'maintenance' }, world.clock.now());
  const path = controlPath(subject);
  await world.clock.run(world.zk.ensurePath(path.slice(0, path.lastIndexOf('/'))));
  await world.clock.run(world.zk.create(path, encodeControl(control)));
  await world.settle();
  return path;
}

describe('a launcher with which nothing is wrong', () => {
  it('has no condition', async () => {
    await world.createNodes([{}]);
    const launcher = await world.startLauncher(labelled());

    expect(launcher.conditions.find()).toEqual([]);
  });

  it('has none before it has started', () => {
    expect(world.launcher(labelled()).conditions.find()).toEqual([]);
  });
});

it('a launcher with images to build misses a builder', async () => {
  const image = { name: 'debian', abstract: false, pause: false, rebuildAgeMs: MINUTE_MS } as DiskimageConfig;
  const launcher = await start({}, { ...pooledConfig, diskimages: new Map([['debian', image]]) });
  const before = told(launcher);
  await world.clock.advance(5 * MINUTE_MS);

  expect(before).toEqual(['image debian NoReadyBuild NeverBuilt']);
  expect(told(launcher)).toEqual(['builder any NoBuilder NotRegistered', ...before]);
});

describe('a provider whose driver is missing', () => {
  const problem = { severity: 'warning' as const, position: undefined, path: '', message: '' };
  const far = {
    ...{ name: 'far', driverName: 'vessel', reason: 'driver "vessel" is not installed', problem },
    ...{ pools: new Map([['main', ['a', 'pod']]]), diskimages: new Set<string>() },
  };
  const config: Config = { ...labelled(), unserved: new Map([['far', far]]) };
  const mixed: Config = {
    ...config,
    labels: new Map([...config.labels, ['pod', { name: 'pod', minReady: 0, maxReadyAgeMs: 0 }]]),
  };

  it('is named, as are labels that no other provider has, and its nodes stay as they are', async () => {
    await world.createNodes([{}]);
    const states = ['building', 'ready', 'used', 'in-use', 'deleting', 'failed', 'aborted', 'deleted'];
    await world.createNodes(states.map((state) => ({ provider: 'far', state, externalId: 'x' })));

    const launcher = await world.startLauncher(mixed);
    await world.clock.advance(4 * MINUTE_MS);

    expect(told(launcher)).toEqual(['provider far Unserved DriverMissing', 'label pod NotServed ProviderUnserved']);
    expect(launcher.conditions.find()[1]?.message).toBe(
      'no pool can serve it now: far/main: its driver "vessel" is missing, and no launcher serves it',
    );
    const left = [...launcher.nodes.values()].filter(({ provider }) => provider === 'far');
    expect(left.map(({ state, stat }) => [state, stat?.version])).toEqual(states.map((state) => [state, 0]));
  });
});

describe('a label', () => {
  // Ends: NotStarted Driver, NotStarted NotFound, NotStarted RateLimited
  it.each([
    [new NotFoundError('there is no region "mars"'), 'NotFound', 'correct its name in the configuration of provider'],
    [new RateLimitedError('429 Too Many Requests'), 'RateLimited', 'lower the rate of provider "rack"'],
    [new DriverError('static', 'getProvider returned no provider'), 'Driver', 'nodepool drivers; the log of the'],
  ])(
    'is out of service while its provider cannot be started: %o, until that is repaired',
    async (why, reason, step) => {
      let error: Error | undefined = why;
      const launcher = await start({ start: () => (error ? Promise.reject(error) : Promise.resolve()) });
      await world.createNodes([{}]);

      const [provider] = launcher.conditions.find();
      error = undefined;
      await world.clock.advance(2 * MINUTE_MS);

      expect(provider).toMatchObject({ type: 'NotStarted', reason, nextStep: expect.stringContaining(step) as string });
      expect(launcher.conditions.find()).toEqual([]);
    },
  );

  // Ends: NotServed ProviderNotStarted, NotStarted Unauthorized
  it('is out of service while its provider cannot be started, and in service once it can', async () => {
    let error: Error | undefined = Object.assign(new ConfigError('keystone answered with 401'), { status: 401 });
    const launcher = await start({ start: () => (error ? Promise.reject(error) : Promise.resolve()) });
    await world.createNodes([{}]);

    const [provider, label] = launcher.conditions.find();
    error = undefined;
    await world.clock.advance(2 * MINUTE_MS);

    expect(provider).toMatchObject({ name: 'rack', type: 'NotStarted', reason: 'Unauthorized', severity: 'error' });
    expect(provider?.message).toContain('keystone answered with 401; no other provider serves "a"');
    expect(provider?.nextStep).toContain('correct the credentials of provider "rack"');
    expect(label).toMatchObject({ kind: 'label', name: 'a', type: 'NotServed', reason: 'ProviderNotStarted' });
    expect(label?.nextStep).toBe(provider?.nextStep);
    expect(launcher.conditions.find()).toEqual([]);
  });

  it('is out of service while its driver says that it cannot be used, with the cause that the driver knows', async () => {
    const cause = newCondition('LabelUnusable', {
      ...{ name: 'rack/main/a', reason: 'FlavorMissing', message: 'there is no flavor "huge"', nextStep: 'create it' },
      evidence: { provider: 'rack', pool: 'main', label: 'a' },
    });
    const launcher = await start({ errorLabels: () => new Set(['a']), conditions: () => [cause] });

    expect(told(launcher)).toEqual([
      'label rack/main/a LabelUnusable FlavorMissing',
      'label a NotServed LabelUnavailable',
    ]);
    expect(launcher.conditions.find()[1]).toMatchObject({
      message: 'no pool can serve it now: rack/main: there is no flavor "huge"',
      nextStep: 'create it',
    });
  });

  it('is out of service without a host, and says which does not answer', async () => {
    const down = newCondition('HostUnusable', {
      ...{ name: 'rack/zuul@h1:22', reason: 'NoAnswer', message: 'it does not answer on port 22', nextStep: '' },
      evidence: { provider: 'rack', pool: 'main', labels: 'a,b' },
    });
    const elsewhere = { ...down, name: 'rack/zuul@h2:22', evidence: { ...down.evidence, labels: 'b' } };
    let isDown = true;
    let looks = 0;
    const launcher = await start({
      blockers: () => [`h1 port 22: connection refused (checked again in ${looks++} s)`],
      conditions: () => (isDown ? [down, elsewhere] : []),
    });

    const [, , before] = launcher.conditions.find();
    const [, , again] = launcher.conditions.find();
    isDown = false;
    await world.createNodes([{}]);
    await world.settle();

    expect(before).toMatchObject({ name: 'a', type: 'NotServed', reason: 'NoNodes' });
    expect(before?.message).toBe(
      'no pool can serve it now: rack/main: it has no node of the label; host "rack/zuul@h1:22": it does not answer on port 22',
    );
    expect(again).toEqual(before);
    expect(launcher.conditions.find()).toEqual([]);
  });

  it('is out of service while the cloud does not answer and there is no free node', async () => {
    const silent = unansweredConditions('rack', 'the cloud has not answered a call for 25 s (create server)');
    world = new RackWorld({ conditions: () => silent }, silentLogger, true);
    const launcher = await world.startLauncher(labelled());

    const [, without] = launcher.conditions.find();
    await world.createNodes([{}]);
    await world.settle();

    expect(without).toMatchObject({ name: 'a', type: 'NotServed', reason: 'ProviderFails' });
    expect(without?.message).toContain('the cloud has not answered a call for 25 s');
    expect(told(launcher)).toEqual(['provider rack CallsUnanswered Timeout']);
  });

  it('is out of service while others use up the quota of the cloud, until they leave some', async () => {
    let left = 0;
    const quota = {
      quotaNeededByLabel: () => ({ instances: 1 }),
      estimatedNodepoolQuota: () => ({ instances: left }),
      unmanagedQuotaUsed: () => ({ instances: 3 - left }),
      invalidateQuotaCache: () => undefined,
    };
    world = new RackWorld({ quota }, silentLogger, true);
    const launcher = await world.startLauncher(labelled());

    const [during, ...others] = launcher.conditions.find();
    left = 1;

    expect(others).toEqual([]);
    expect(during).toMatchObject({ name: 'a', type: 'NotServed', reason: 'Quota' });
    expect(during?.message).toContain('provider "rack" has 0 for all own nodes (own nodes use 0, others 3)');
    expect(during?.nextStep).toContain('raise the quota of the cloud project');
    expect(launcher.conditions.find()).toEqual([]);
  });

  it('is in service while its hosts have not been checked yet, and out of service once none answers', async () => {
    let health: HostStatus['health'] = 'unknown';
    const launcher = await start({
      hosts: () => [
        {
          ...{ pool: 'main', host: 'h1', port: 22, username: 'zuul', labels: ['a'], slots: 1, nodes: [] },
          ...{ health, reason: undefined, message: undefined, lastCheckMs: undefined, downSinceMs: undefined },
        },
      ],
    });

    const before = told(launcher);
    health = 'down';

    expect(before).toEqual([]);
    expect(told(launcher)).toEqual(['label a NotServed NoNodes']);
  });

  it('is out of service when no pool has it, unless it is switched off', async () => {
    const none = await world.startLauncher(labelled(0, rackConfig));
    const off = await new RackWorld().startLauncher(labelled(-1, rackConfig));

    expect(told(none)).toEqual(['label a NotServed NoPool']);
    expect(told(off)).toEqual([]);
  });

  it('is out of service while an order pauses its pool', async () => {
    await world.createNodes([{}]);
    const launcher = await world.startLauncher(labelled());

    const path = await order({ kind: 'pool', name: 'rack/main' });
    const during = launcher.conditions.find();
    await world.clock.run(world.zk.delete(path));
    await world.settle();

    expect(during.map(({ type, reason }) => `${type} ${reason}`)).toEqual(['NotServed Paused', 'OrderInForce Paused']);
    expect(during[0]?.nextStep).toBe('nodepool pool resume rack/main');
    expect(launcher.conditions.find()).toEqual([]);
  });

  it('is advised to wait for a running rollback, which would give its order again', async () => {
    const launcher = await world.startLauncher(labelled());

    await order({ kind: 'provider', name: 'rack' }, 'nodepool rollback (alice)');

    const steps = launcher.conditions.find().map(({ type, nextStep }) => `${type}: ${nextStep}`);
    const step = 'let the running nodepool rollback (alice) end, or interrupt it: this order ends with it';
    expect(steps).toEqual([`NotServed: ${step}`, `OrderInForce: ${step}`]);
  });

  // Ends: StandbyMissing TooFew
  it('lacks standby nodes once they have been missing for a minute', async () => {
    const launcher = await world.startLauncher(labelled(1));
    const standby = () => told(launcher).filter((each) => each.includes('Standby'));

    const atOnce = standby();
    await world.clock.advance(MINUTE_MS);
    const later = standby();
    await world.createNodes([{}]);
    await world.settle();

    expect([atOnce, later, standby()]).toEqual([[], ['label a StandbyMissing TooFew'], []]);
  });

  it('has no stopped nodes while a pool that does not know them has it', async () => {
    const config = labelled();
    const labels = new Map([['a', { name: 'a', minReady: 0, maxReadyAgeMs: 0, keep: 'stopped' as const }]]);
    await world.createNodes([{}]);
    const launcher = await world.startLauncher({ ...config, labels });
    const before = told(launcher);
    const original = { kind: 'pool', id: 'x', hostname: 'nl09', name: 'main', provider_name: 'far' };
    const body = Buffer.from(JSON.stringify({ ...original, state: 'running', supported_labels: ['a'] }));
    await world.clock.run(world.zk.create('/nodepool/components/pool/nl09', body, { ephemeral: true }));
    await world.settle();

    const [condition, ...more] = launcher.conditions.find();

    expect([before, more]).toEqual([[], []]);
    expect(condition).toMatchObject({ kind: 'label', name: 'a', type: 'NotStopped', reason: 'PoolUnaware' });
    expect(condition?.message).toBe('pool far/main of launcher nl09 does not know stopped nodes');
  });

  it('is in service as long as a launcher elsewhere serves it', async () => {
    await world.createNodes([{}]);
    const other = world.launcher(labelled());
    await world.clock.run(other.start());
    const broken = await world.startLauncher({ ...labelled(), providers: new Map() });

    expect(told(broken)).toEqual([]);
  });
});

describe('a node', () => {
  it('takes too long to be deleted whether or not a launcher works on it, until it is gone', async () => {
    await world.createNodes([{ state: 'deleting', externalId: 'i-1' }, {}]);
    const [id] = (await world.clock.run(world.zk.getChildren('/nodepool/nodes'))).sort();
    const lock = `${nodeLockPath(id as never)}/x`;
    await world.clock.run(world.zk.ensurePath(lock));
    const launcher = await world.startLauncher(labelled());

    await world.clock.advance(4 * MINUTE_MS);
    const early = told(launcher);
    await world.clock.advance(2 * MINUTE_MS);
    const late = launcher.conditions.find();
    await world.clock.run(world.zk.deleteRecursive(nodePath(id as never)));
    await world.settle();

    expect(early).toEqual([]);
    expect(late).toMatchObject([{ kind: 'node', name: id, type: 'DeletionTakesLong', reason: 'StillInCloud' }]);
    expect(late[0]?.message).toContain('the cloud does not end instance i-1');
    expect(launcher.conditions.find()).toEqual([]);
  });

  it('fails to be deleted until it is', async () => {
    let error: Error | undefined = new ProviderUnavailableError('500');
    const launcher = await start({ startNodeCleanup: () => (error ? Promise.reject(error) : undefined) });
    await world.createNodes([{ state: 'used', externalId: 'i-1' }, {}]);
    await world.settle();

    const during = launcher.conditions.find();
    error = undefined;
    await world.clock.advance(2 * MINUTE_MS);

    expect(during).toMatchObject([{ kind: 'node', type: 'DeletionFails', reason: 'Unavailable' }]);
    expect(launcher.conditions.find()).toEqual([]);
  });
});

// Ends: DeletionFails InstanceFailed
it('a node of an instance that failed is looked at in the cloud, not at its image, until it can be deleted', async () => {
  let error: Error | undefined = new LaunchError('status', 'the instance is in state ERROR');
  const launcher = await start({ startNodeCleanup: () => (error ? Promise.reject(error) : undefined) });
  await world.createNodes([{ state: 'used', externalId: 'i-1' }, {}]);
  await world.settle();

  const [found] = launcher.conditions.find();

  expect(found).toMatchObject({ type: 'DeletionFails', reason: 'InstanceFailed' });
  expect(found?.nextStep).toBe(
    `look at the instance with the tools of the cloud; nodepool delete ${found?.name} tries again at once`,
  );
  error = undefined;
  await world.clock.advance(2 * MINUTE_MS);
  expect(launcher.conditions.find()).toEqual([]);
});

describe('a provider', () => {
  it('is drained while it has nodes, and no condition says to erase it', async () => {
    await world.createNodes([{ state: 'hold' }, { state: 'ready', allocatedTo: '200-1' as never }]);
    const launcher = await world.startLauncher();

    await world.clock.run(launcher.reconfigure({ ...rackConfig, providers: new Map() }));
    await world.settle();
    const [draining, ...others] = launcher.conditions.find();
    const all = JSON.stringify(draining);

    expect(draining).toMatchObject({ kind: 'provider', name: 'rack', type: 'Draining', severity: 'warning' });
    expect(draining?.message).toContain('2 nodes (0000000000 hold, 0000000001 ready) left');
    expect(all).not.toContain('erase');
    expect(others).toEqual([]);
  });

  it('that no launcher has is reported with its nodes', async () => {
    await world.createNodes([{ provider: 'gone', state: 'in-use' }]);
    const launcher = await world.startLauncher();

    const [found] = launcher.conditions.find();

    expect(found).toMatchObject({ kind: 'provider', name: 'gone', type: 'NodesWithoutProvider' });
    expect(found?.message).toContain('1 node (0000000000 in-use)');
  });

  it.each([
    [{ error: undefined }, 'warning', 'NoRecord'],
    [{ error: 'forbidden' }, 'error', 'DeletionFails'],
  ])('has leaked resources: %j', async ({ error }, severity, reason) => {
    const leaked = { type: 'instance', id: 'i-1', nodeId: undefined, sinceMs: 5, error };
    const launcher = await start({ leakedResources: () => [leaked] }, rackConfig);

    expect(launcher.conditions.find()).toMatchObject([
      { name: 'rack', type: 'ResourcesLeaked', severity, reason, sinceMs: 5 },
    ]);
  });

  it('has resources of a database that was replaced, and advises against deleting them', async () => {
    const leaked = { type: 'instance', id: 'i-1', nodeId: undefined, sinceMs: 5, error: 'the id is gone' };
    const launcher = await start({ leakedResources: () => [{ ...leaked, isOfReplacedDatabase: true }] }, rackConfig);

    const [found] = launcher.conditions.find();

    expect(found).toMatchObject({ type: 'ResourcesLeaked', severity: 'error', reason: 'DatabaseReplaced' });
    expect(found?.nextStep).toMatch(/^restore the data of ZooKeeper; delete nothing by hand/);
  });

  it('has resources without proof, and those of another database', async () => {
    const alien = { type: 'instance', id: 'i-1', name: 'np1', nodeId: undefined, buildId: undefined, sinceMs: 1 };
    const aliens = [
      { ...alien, databaseId: undefined },
      { ...alien, id: 'i-2', databaseId: 'f'.repeat(32) },
    ];
    const launcher = await start({ alienResources: () => aliens }, rackConfig);

    expect(launcher.conditions.find()).toMatchObject([
      { type: 'ResourcesWithoutProof', nextStep: 'nodepool adopt rack' },
      { type: 'ResourcesOfOtherDatabase' },
    ]);
    expect(launcher.conditions.find()[0]?.message).toContain('1 resource (instance i-1 (np1))');
  });
});

describe('conditions of several launchers', () => {
  it('are published, and read by the others', async () => {
    await world.createNodes([{ provider: 'gone', state: 'in-use' }]);
    const first = await world.startLauncher();
    const second = await world.startLauncher();
    const list = new ConditionList();
    list.update(first.conditions.find(), world.clock.now());

    first.conditions.publish(list.all);
    await world.settle();

    expect(first.conditions.ofOthers.flatMap(({ conditions }) => conditions)).toEqual([]);
    expect(second.conditions.ofOthers).toContainEqual({ service: 'launcher nl01', conditions: list.all });
  });

  it('say nothing of nodes whose provider another launcher drains', async () => {
    await world.createNodes([{ state: 'hold' }]);
    const first = await world.startLauncher();
    const without = { ...rackConfig, providers: new Map() };
    await world.clock.run(first.reconfigure(without));
    await world.settle();
    const list = new ConditionList();
    list.update(first.conditions.find(), world.clock.now());
    first.conditions.publish(list.all);

    const second = await world.startLauncher(without);

    expect(told(second)).toEqual([]);
  });
});
