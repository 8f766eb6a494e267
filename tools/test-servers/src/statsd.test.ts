import { createSocket } from 'node:dgram';
import { afterEach, expect, it } from 'vitest';
import { startStatsd, type StatsdHandle } from './statsd.js';

let statsd: StatsdHandle | undefined;

afterEach(async () => {
  await statsd?.stop();
  statsd = undefined;
});

async function send(port: number, ...lines: string[]): Promise<void> {
  const socket = createSocket('udp4');
  for (const line of lines) await new Promise((resolve) => socket.send(line, port, '127.0.0.1', resolve));
  socket.close();
}

it('reports received metrics, summed over all flushes', async () => {
  statsd = await startStatsd();

  await send(statsd.port, 'a.count:2|c', 'a.gauge:7|g', 'a.timer:12|ms');
  await statsd.waitFor(({ counters }) => counters['a.count'] === 2);
  await send(statsd.port, 'a.count:3|c', 'a.gauge:5|g', 'a.timer:30|ms');
  const metrics = await statsd.waitFor(({ counters }) => counters['a.count'] === 5);

  expect(metrics.gauges['a.gauge']).toBe(5);
  expect(metrics.timers['a.timer']).toEqual([12, 30]);
  expect(await statsd.badLines()).toBe(0);
});

it('counts malformed lines', async () => {
  statsd = await startStatsd();

  await send(statsd.port, 'no sense');
  await statsd.waitFor(({ counters }) => (counters['statsd.bad_lines_seen'] ?? 0) > 0);

  expect(await statsd.badLines()).toBe(1);
});
