import { createSocket } from 'node:dgram';
import { expect, it } from 'vitest';
import { startStatsd } from '@nodepool/test-servers';
import { delay, systemClock } from '@nodepool/zk-protocol';
import { silentLogger } from '../../contract/logger.js';
import { Statsd } from './statsd.js';

const services = { clock: systemClock, logger: silentLogger };

it('combines lines in datagrams that fit the network MTU', async () => {
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

it('sends lines reported while the client closes an idle socket', async () => {
  const daemon = await startStatsd();
  // the client checks every 200 ms; at the third check it decides to close the socket, and closes it 10 ms later
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

it('only loses metrics if the host is unknown', async () => {
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
