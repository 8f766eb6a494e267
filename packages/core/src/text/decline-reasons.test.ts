import { expect, it } from 'vitest';
import { reasonsByPool } from './decline-reasons.js';

it('names pools without their launcher, grouped by reason', () => {
  const idOf = (pool: string) => `nl01.example.org-PoolWorker.${pool}-${'0123456789abcdef'.repeat(2)}`;
  const reason = (text: string) => ({ rule: 'quota', text, timeMs: 0 });
  const declineReasons = {
    [idOf('rack-main')]: reason('no label big'),
    [idOf('cloud-a-b')]: reason('full'),
    other: reason('no label big'),
  };

  expect(reasonsByPool({ declineReasons })).toEqual(['rack-main, other: no label big', 'cloud-a-b: full']);
});
