import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { connect } from '@nodepool/zk-protocol';
import { startEmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { silentLogger } from '../contract/logger.js';
import { Leadership } from './leadership.js';
import { VirtualClock } from '../testing/virtual-clock.js';

it('sends everything once elected, then changes at most once a second, and sets no timer while nothing changes', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'nodepool-leadership-'));
  const server = await startEmbeddedServer({ dataDir });
  const zk = await connect({ servers: server.connectString });
  const clock = new VirtualClock(0);
  const sent: [atMs: number, everything: boolean][] = [];
  const leadership = new Leadership({
    ...{ zk, clock, logger: silentLogger, identifier: 'nl01-1' },
    send: (everything) => sent.push([clock.now(), everything]),
  });

  leadership.changed();
  leadership.start();
  await expect.poll(() => leadership.leading).toBe(true);
  for (let i = 0; i < 5; i++) leadership.changed();
  await clock.advance(5_000);
  const timersAtRest = clock.pendingTimers;
  leadership.changed();
  await clock.advance(0);
  leadership.changed();
  await clock.advance(500);
  leadership.refresh();
  leadership.stop();
  leadership.changed();
  await clock.advance(60_000);
  await zk.close();
  await server.close();
  await rm(dataDir, { recursive: true, force: true });

  expect(sent).toEqual([
    [0, true],
    [1_000, false],
    [5_000, false],
    [5_500, true],
  ]);
  expect(timersAtRest).toBe(0);
});
