import { expect, it } from 'vitest';
import { RateLimitedError } from '../../contract/errors.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { CallPauses } from './call-pauses.js';
import { pauseConditions } from './pause-condition.js';

function paused(retryAfterMs?: number) {
  const clock = new VirtualClock();
  const pauses = new CallPauses({ clock, random: () => 0 });
  pauses.refused('create', new RateLimitedError('429 too many', { retryAfterMs }));
  return { clock, pauses };
}

it.each([
  [7_000, 7_000],
  [0, 0],
  [undefined, 1_000],
  [-5, 1_000],
  [NaN, 1_000],
  [86_400_000, 300_000],
  [Infinity, 300_000],
])('a cloud that asks for %s ms is asked again after %i', (asked, ms) => {
  expect(paused(asked).pauses.leftMs('create')).toBe(ms);
});

it('pauses calls of one name only', () => {
  const { pauses } = paused(60_000);

  expect([pauses.leftMs('create'), pauses.leftMs('delete')]).toEqual([60_000, 0]);
});

it('takes twice as long after each refusal without a time, until a call succeeds', async () => {
  const { clock, pauses } = paused();
  const refused = new RateLimitedError('429');
  const lengths: number[] = [];
  for (let i = 0; i < 7; i++) {
    for (let together = 0; together < 3; together++) pauses.refused('create', refused); // in the same pause
    lengths.push(pauses.leftMs('create'));
    await clock.run(pauses.over('create'));
    pauses.refused('create', refused);
  }
  const shown = pauseConditions('sky', pauses.all);
  await clock.run(pauses.over('create'));
  pauses.succeeded('create');
  pauses.refused('create', refused);

  expect(lengths.map((ms) => ms / 1_000)).toEqual([1, 2, 4, 8, 16, 32, 60]);
  expect(shown).toMatchObject([{ type: 'CallsPaused', evidence: { calls: 'create', asked: null } }]);
  expect(pauses.leftMs('create')).toBe(1_000);
});

it('is not shortened by a later refusal', () => {
  const { pauses } = paused(60_000);

  pauses.refused('create', new RateLimitedError('429'));

  expect(pauses.leftMs('create')).toBe(60_000);
});

it.each([-3_600_000, 3_600_000])('takes as long as asked although the clock is set by %i ms', async (byMs) => {
  const { clock, pauses } = paused(60_000);
  const startMs = clock.steadyNow();
  const over = pauses.over('create');
  clock.set(clock.now() + byMs);

  await clock.run(over);

  expect(clock.steadyNow() - startMs).toBe(60_000);
  expect(pauses.all).toEqual([]);
});

it('is a condition that says until when and why, if it is long', () => {
  const { clock, pauses } = paused(86_400_000);
  pauses.refused('list', new RateLimitedError('short', { retryAfterMs: 2_000 }));
  clock.set(Date.parse('2026-01-02T03:00:00Z'));

  expect(pauseConditions('sky', pauses.all)).toMatchObject([
    {
      ...{ kind: 'provider', name: 'sky', type: 'CallsPaused', reason: 'TooManyCalls' },
      message:
        'the cloud refused create as too many calls and asked to wait 86400 s; the next is made at ' +
        '2026-01-02T03:05:00.000Z: 429 too many',
      evidence: { calls: 'create', until: Date.parse('2026-01-02T03:05:00Z') / 1_000, asked: 86_400 },
    },
  ]);
});

it('is no condition if it is short', () => {
  expect(pauseConditions('sky', paused(5_000).pauses.all)).toEqual([]);
});
