import { createSocket } from 'node:dgram';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startStatsd, type StatsdHandle } from '@nodepool/test-servers';
import { systemClock } from '@nodepool/zk-protocol';
import { delay } from '@nodepool/zk-protocol';
import { silentLogger } from '../../contract/logger.js';
import { Statsd } from './statsd.js';

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

  it('gets what was reported last when the launcher ends', async () => {
    statsd.report('leaked', { provider: 'a', type: 'instances' });
    await statsd.close();

    const { counters } = await daemon.waitFor((all) => 'nodepool.provider.a.leaked.instances' in all.counters);

    expect(counters['nodepool.provider.a.leaked.instances']).toBe(1);
  });
});

it('gets lines together, in datagrams that no network splits', async () => {
  const received: string[] = [];
  const daemon = createSocket('udp4');
  await new Promise<void>((resolve) => daemon.bind(0, '127.0.0.1', resolve));
  const statsd = new Statsd({ host: '127.0.0.1', port: daemon.address().port }, services);
  const all = new Promise<void>((resolve) => {
    daemon.on('message', (message) => {
      received.push(message.toString());
      if (received.join('\n').split(/\n+/).length === 110) resolve();
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
  expect(Math.max(...received.map(({ length }) => length))).toBeLessThanOrEqual(1_200);
  expect(received.length).toBeLessThan(8);
});

it('gets what was reported while the client closed an idle socket', async () => {
  const daemon = await startStatsd();
  // the client looks every 200 ms; at the third time it decides to close the socket, and does so 10 ms later
  const senders = Array.from({ length: 24 }, async (_, i) => {
    const statsd = new Statsd(daemon, services);
    statsd.report('leaked', { provider: 'a', type: 'first' });
    await delay(systemClock, 594 + i);
    statsd.report('leaked', { provider: 'a', type: 'second' });
    return statsd;
  });

  const { counters } = await daemon.waitFor((all) => all.counters['nodepool.provider.a.leaked.second'] === 24);
  await Promise.all((await Promise.all(senders)).map((statsd) => statsd.close()));
  await daemon.stop();

  expect(counters['nodepool.provider.a.leaked.first']).toBe(24);
});

it('loses metrics, but nothing else, when the host is unknown', async () => {
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
  const statsd = new Statsd({ host: `${'x'.repeat(64)}.invalid`, port: 8125 }, { ...services, logger });

  statsd.report('leaked', { provider: 'a', type: 'instances' });
  await statsd.close();
  statsd.report('leaked', { provider: 'a', type: 'instances' });
  await statsd.close();

  expect(statsd.dropped).toBe(2);
  expect(warnings).toEqual(['Could not find the statsd host; trying again later']);
});
