import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startStatsd, type StatsdHandle } from '@nodepool/test-servers';
import { systemClock } from '@nodepool/zk-protocol';
import { silentLogger } from '../../contract/logger.js';
import { Statsd, escapeLevel, NameTemplate, protectLine } from './statsd.js';

const services = { clock: systemClock, logger: silentLogger };

describe('statsd', () => {
  let daemon: StatsdHandle;
  let statsd: Statsd;

  beforeEach(async () => {
    daemon = await startStatsd();
    statsd = new Statsd(daemon, services);
  });
  afterEach(async () => {
    await statsd.close();
    await daemon.stop();
  });

  it('receives a launch as timer and counter under each of its names', async () => {
    const labels = {
      result: 'error.quota',
      provider: 'cloud.a',
      az: null,
      requestor: 'NodePool:min-ready',
      image: 'i',
    };

    statsd.report('launches', labels, 12);
    statsd.report('launches', { ...labels, az: 'az1' }, 30);
    const counts = {
      'nodepool.launch.provider.cloud.a.error.quota': 2,
      'nodepool.launch.provider.cloud.a.az1.error.quota': 1,
      'nodepool.launch.requestor.NodePool_min-ready.error.quota': 2,
      'nodepool.launch.image.i.error.quota': 2,
    };
    const { timers } = await daemon.waitFor(({ counters }) =>
      Object.entries(counts).every(([name, count]) => counters[name] === count),
    );

    expect(timers['nodepool.launch.error.quota']).toEqual([12, 30]);
    expect(await daemon.badLines()).toBe(0);
  });

  it('receives negative gauges as absolute values, and no infinite ones', async () => {
    statsd.gauge('maxServers', { provider: 'a' }, 5);
    statsd.gauge('maxServers', { provider: 'a' }, -2);
    statsd.gauge('maxServers', { provider: 'b' }, Infinity);
    statsd.gauge('maxServers', { provider: 'last' }, 1);
    const { gauges } = await daemon.waitFor((all) => all.gauges['nodepool.provider.last.max_servers'] === 1);

    expect(gauges['nodepool.provider.a.max_servers']).toBe(-2);
    expect(Object.keys(gauges)).not.toContain('nodepool.provider.b.max_servers');
    expect(await daemon.badLines()).toBe(0);
  });

  it('can parse every line, for any user-chosen name', async () => {
    const names = [
      'a:b',
      'x|y',
      'two words',
      'tab\tand\nline',
      '@0.1',
      '#tag',
      'ünï',
      '%s',
      'a'.repeat(600),
      'b'.repeat(1_300),
    ];

    for (const name of names) {
      statsd.gauge('labelNodes', { label: name, state: 'ready' }, 1);
      statsd.gauge('tenantLimit', { tenant: name, resource: name }, 1);
    }
    statsd.report('leaked', { provider: 'last', type: 'ports' });
    await daemon.waitFor((all) => all.counters['nodepool.provider.last.leaked.ports'] === 1);

    expect(await daemon.badLines()).toBe(0);
  });

  it('receives the last reports when the launcher stops', async () => {
    statsd.report('leaked', { provider: 'a', type: 'instances' });
    await statsd.close();

    const { counters } = await daemon.waitFor((all) => 'nodepool.provider.a.leaked.instances' in all.counters);

    expect(counters['nodepool.provider.a.leaked.instances']).toBe(1);
  });
});

it.each([
  ['NodePool:min-ready', 'NodePool_min-ready'],
  ['zuul.example.com', 'zuul_example_com'],
  ['a-b_c', 'a-b_c'],
  ['a|b\nc d', 'a_b_c_d'],
])('makes one level of %j', (text, level) => {
  expect(escapeLevel(text)).toBe(level);
});

it('keeps dots elsewhere, but replaces characters that would end a name', () => {
  expect(protectLine('rack.one:1|c\n')).toBe('rack.one_1_c_');
});

it('escapes what users choose freely and sends other names as they are', () => {
  const requestor = new NameTemplate('nodepool.launch.requestor.<requestor>.<result>');
  const provider = new NameTemplate('nodepool.launch.provider.<provider>.<az>.<result>');

  expect(requestor.fill({ requestor: 'NodePool:min-ready', result: 'error.quota' })).toBe(
    'nodepool.launch.requestor.NodePool_min-ready.error.quota',
  );
  expect(provider.fill({ provider: 'cloud.a', az: 'az1', result: 'ready' })).toBe(
    'nodepool.launch.provider.cloud.a.az1.ready',
  );
});

it('makes each name one level with `normalize`, except results and calls', () => {
  const name = new NameTemplate('nodepool.task.<provider>.<call>.<status>', true);

  expect(name.fill({ provider: 'cloud.a', call: 'compute.GET.servers', status: '200' })).toBe(
    'nodepool.task.cloud_a.compute.GET.servers.200',
  );
});

it('produces no name while a value is unknown', () => {
  const name = new NameTemplate('nodepool.launch.provider.<provider>.<az>.<result>');

  expect(name.fill({ provider: 'a', az: null, result: 'ready' })).toBeUndefined();
  expect(name.fill({ provider: 'a', result: 'ready' })).toBeUndefined();
});
