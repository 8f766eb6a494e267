import { expect, it } from 'vitest';
import { reasonsByPool } from './decline-reasons.js';

it('names each pool once, without its launchers, grouped by reason', () => {
  const idOf = (pool: string, host = 'nl01') => `${host}-PoolWorker.${pool}-${'0123456789abcdef'.repeat(2)}`;
  const reason = (text: string) => ({ rule: 'quota', text, timeMs: 0 });
  const declineReasons = {
    [idOf('rack-main')]: reason('no label big'),
    [idOf('cloud-a-b')]: reason('full'),
    [idOf('rack-main', 'nl02')]: reason('no label big'),
    other: reason('no label big'),
  };

  expect(reasonsByPool({ declineReasons })).toEqual(['rack-main, other: no label big', 'cloud-a-b: full']);
});
