import { createSocket } from 'node:dgram';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startStatsd, type StatsdHandle } from '@nodepool/test-servers';
import { systemClock } from '@nodepool/zk-protocol';
import { silentLogger } from '../src/index.js';
import { Statsd } from '../src/metrics/statsd/statsd.js';

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

  it('gets a launch as timer and counter under each of its names', async () => {
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

  it('gets gauges below zero as such, and none without an end', async () => {
    statsd.gauge('maxServers', { provider: 'a' }, 5);
    statsd.gauge('maxServers', { provider: 'a' }, -2);
    statsd.gauge('maxServers', { provider: 'b' }, Infinity);
    statsd.gauge('maxServers', { provider: 'last' }, 1);
    const { gauges } = await daemon.waitFor((all) => all.gauges['nodepool.provider.last.max_servers'] === 1);

    expect(gauges['nodepool.provider.a.max_servers']).toBe(-2);
    expect(Object.keys(gauges)).not.toContain('nodepool.provider.b.max_servers');
    expect(await daemon.badLines()).toBe(0);
  });

  it('can read every line, whatever names people choose', async () => {
    const names = ['a:b', 'x|y', 'two words', 'tab\tand\nline', '@0.1', '#tag', 'ünï', '%s', 'a'.repeat(600)];

    for (const name of names) {
      statsd.gauge('labelNodes', { label: name, state: 'ready' }, 1);
      statsd.gauge('tenantLimit', { tenant: name, resource: name }, 1);
    }
    statsd.report('leaked', { provider: 'last', type: 'ports' });
    await daemon.waitFor((all) => all.counters['nodepool.provider.last.leaked.ports'] === 1);

    expect(await daemon.badLines()).toBe(0);
  });

  it('gets what was reported last when the launcher ends', async () => {
    statsd.report('leaked', { provider: 'a', type: 'instances' });
    await statsd.close();

    const { counters } = await daemon.waitFor((all) => 'nodepool.provider.a.leaked.instances' in all.counters);

    expect(counters['nodepool.provider.a.leaked.instances']).toBe(1);
  });
});

it('gets datagrams of at most 512 bytes', async () => {
  const received: string[] = [];
  const daemon = createSocket('udp4');
  await new Promise<void>((resolve) => daemon.bind(0, '127.0.0.1', resolve));
  const statsd = new Statsd({ host: '127.0.0.1', port: daemon.address().port }, services);
  const all = new Promise<void>((resolve) => {
    daemon.on('message', (message) => {
      received.push(message.toString());
      if (received.join('\n').split('\n').length === 110) resolve();
    });
  });

  for (let i = 0; i < 10; i++) {
    for (let state = 0; state < 11; state++) {
      statsd.gauge('labelNodes', { label: `label-${i}`, state: `state-${state}` }, state);
    }
  }
  await all;
  await statsd.close();
  daemon.close();

  expect(received[0]).toMatch(/^nodepool\.label\.label-0\.nodes\.state-0:0\|g\n/);
  expect(Math.max(...received.map(({ length }) => length))).toBeLessThanOrEqual(512);
  expect(received.length).toBeLessThan(15);
});

it('loses metrics, but nothing else, when the host is unknown', async () => {
  const statsd = new Statsd({ host: 'no-such-host.invalid', port: 8125 }, services);

  statsd.report('leaked', { provider: 'a', type: 'instances' });
  await statsd.close();
  statsd.report('leaked', { provider: 'a', type: 'instances' });
  await statsd.close();

  expect(statsd.dropped).toBeGreaterThan(0);
});
