import { expect, it } from 'vitest';
import { silentLogger, type LogFields } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { MOST_COUNTED, RefusalLog } from './refusal-log.js';

function setUp() {
  const clock = new VirtualClock();
  const lines: (LogFields | undefined)[] = [];
  const log = new RefusalLog(clock, { ...silentLogger, warn: (_message, fields) => void lines.push(fields) });
  return { clock, lines, log };
}

it('has a line at once, and one a minute for all others of that client', async () => {
  const { clock, lines, log } = setUp();
  const first = { operation: 'endLease', outcome: 'bad-token' };
  const other = { operation: 'endLease', outcome: 'wrong-host' };

  for (let i = 0; i < 1_000; i++) log.refused('192.0.2.7', first);
  log.refused('192.0.2.7', other);
  log.refused('192.0.2.8', first);
  expect(lines).toEqual([first, other, first]);
  await clock.advance(60_000);
  expect(lines.slice(3)).toEqual([{ client: '192.0.2.7', outcome: 'bad-token', count: 999 }]);
  log.refused('192.0.2.7', first);
  await clock.advance(60_000);

  expect(lines.slice(4)).toEqual([first]);
  expect(clock.pendingTimers).toBe(0);
});

it('takes clients beyond a number for one', async () => {
  const { clock, lines, log } = setUp();

  for (let i = 0; i < MOST_COUNTED * 3; i++) log.refused(`10.0.${i >> 8}.${i & 255}`, { outcome: 'bad-token' });
  const atOnce = lines.length;
  await clock.advance(60_000);

  expect([atOnce, lines.slice(atOnce)]).toEqual([
    MOST_COUNTED + 1,
    [{ client: 'others', outcome: 'others', count: MOST_COUNTED * 2 - 1 }],
  ]);
});
