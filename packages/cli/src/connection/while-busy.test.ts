import { VirtualClock } from '@nodepool/core/testing';
import { expect, it } from 'vitest';
import { whileBusy } from './while-busy.js';

/** A server that is busy as often as there are headers, and a record of when it was asked. */
function busyServer(clock: VirtualClock, headers: readonly (string | undefined)[]) {
  const asked: number[] = [];
  const ask = () => {
    const pause = headers[asked.length];
    const isBusy = asked.length < headers.length;
    asked.push(clock.now() - 1_000_000);
    const init = { status: isBusy ? 429 : 200, ...(pause !== undefined && { headers: { 'Retry-After': pause } }) };
    return Promise.resolve(new Response('text', init));
  };
  return { asked, ask };
}

it.each([
  ['seconds', ['2'], [0, 2_000]],
  ['a date', [new Date(1_000_000 + 7_000).toUTCString()], [0, 7_000]],
  ['nothing', [undefined, undefined], [0, 500, 1_000]],
  ['nonsense', ['soon'], [0, 500]],
  ['no time at all', ['0'], [0, 500]],
])('asks again after the pause that the server names: %s', async (_what, headers, times) => {
  const clock = new VirtualClock();
  const server = busyServer(clock, headers);

  const response = whileBusy(server.ask, { clock, patienceMs: 60_000 });
  await clock.advance(10_000);

  expect((await response).status).toBe(200);
  expect(server.asked).toEqual(times);
});

it('reports the number of attempts when the server stays busy', async () => {
  const clock = new VirtualClock();
  const server = busyServer(clock, Array<string>(100).fill('15'));

  const response = whileBusy(server.ask, { clock, patienceMs: 60_000 });
  const refused = expect(response).rejects.toThrow(
    'it is too busy to answer (status 429), asked 4 times in 45 s: ask again in 15 s or later',
  );
  await clock.advance(120_000);

  await refused;
  expect(server.asked).toHaveLength(4);
});

it('does not wait for a server that wants a longer pause', async () => {
  const clock = new VirtualClock();
  const server = busyServer(clock, ['3600']);

  await expect(whileBusy(server.ask, { clock, patienceMs: 60_000 })).rejects.toThrow(
    'asked once: ask again in 3600 s or later',
  );
  expect(clock.pendingTimers).toBe(0);
});
