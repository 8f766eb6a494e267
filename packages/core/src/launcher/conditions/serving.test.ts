import { beforeEach, describe, expect, it } from 'vitest';
import { labelled, order, told } from '../../../test/support/conditions.js';
import { rackConfig, RackWorld } from '../../../test/support/rack-world.js';
import { unansweredConditions } from '../../cloud/task-manager/open-calls.js';
import { newCondition, type FoundCondition } from '../../contract/condition.js';
import { CONDITIONS } from '../../contract/driver-conditions.js';
import type { Config } from '../../contract/config.js';
import type { HostStatus, Provider } from '../../contract/driver.js';
import { ConfigError, DriverError, NotFoundError, RateLimitedError } from '../../contract/errors.js';
import { silentLogger } from '../../contract/logger.js';
import type { Launcher } from '../launcher.js';

const MINUTE_MS = 60_000;

let world: RackWorld;
beforeEach(() => (world = new RackWorld()));

async function start(provider: Partial<Provider>, config = labelled()): Promise<Launcher> {
  world = new RackWorld(provider);
  return world.startLauncher(config);
}

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
    const cause = newCondition(CONDITIONS, 'LabelUnusable', {
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
    const down: FoundCondition = {
      ...{ kind: 'host', name: 'rack/zuul@h1:22', type: 'HostUnusable', severity: 'error', reason: 'NoAnswer' },
      ...{ message: 'it does not answer on port 22', nextStep: '' },
      evidence: { provider: 'rack', pool: 'main', labels: 'a,b' },
    };
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

    const path = await order(world, { kind: 'pool', name: 'rack/main' });
    const during = launcher.conditions.find();
    await world.clock.run(world.zk.delete(path));
    await world.settle();

    expect(during.map(({ type, reason }) => `${type} ${reason}`)).toEqual(['OrderInForce Paused', 'NotServed Paused']);
    expect(during[1]?.nextStep).toBe('nodepool pool resume rack/main');
    expect(launcher.conditions.find()).toEqual([]);
  });

  it('is advised to wait for a running rollback, which would give its order again', async () => {
    const launcher = await world.startLauncher(labelled());

    await order(world, { kind: 'provider', name: 'rack' }, 'nodepool rollback (alice)');

    const steps = launcher.conditions.find().map(({ type, nextStep }) => `${type}: ${nextStep}`);
    const step = 'let the running nodepool rollback (alice) end, or interrupt it: this order ends with it';
    expect(steps).toEqual([`OrderInForce: ${step}`, `NotServed: ${step}`]);
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
