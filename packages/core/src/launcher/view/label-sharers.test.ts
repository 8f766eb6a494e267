import { newPoolComponent, type LauncherId, type PoolComponentRecord, type Stat } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { OURS } from '../../../test/support/launcher-rooms.js';
import { findRank } from './label-sharers.js';

function pool(session: bigint, czxid: bigint, changes: Partial<PoolComponentRecord> = {}): PoolComponentRecord {
  const launcherId = `${session}-${czxid}` as LauncherId;
  const where = { hostname: 'h', state: 'running', version: '1', name: 'main', providerName: 'p', priority: 100 };
  return {
    ...newPoolComponent({ ...where, launcherId, paused: false, supportedLabels: ['a'], ...OURS }),
    ...changes,
    stat: { czxid, ephemeralOwner: session } as Stat,
  };
}

const ME = 3n;
const rank = (...pools: PoolComponentRecord[]) => findRank(pools, 'a', ({ stat }) => stat?.ephemeralOwner === ME);

it('counts the launchers that registered the label before, each once', () => {
  expect(rank(pool(ME, 10n), pool(4n, 11n))).toBe(0);
  expect(rank(pool(1n, 1n), pool(1n, 2n), pool(2n, 9n), pool(ME, 10n), pool(4n, 11n))).toBe(2);
});

it('counts neither other labels nor the original', () => {
  const original = pool(1n, 1n, { firstPoolPauseMs: undefined, raw: {} });
  expect(rank(original, pool(2n, 2n, { supportedLabels: ['b'] }), pool(ME, 10n))).toBe(0);
});

it('puts a launcher that has not registered the label behind the others', () => {
  expect([rank(), rank(pool(1n, 1n), pool(2n, 2n))]).toEqual([1, 2]);
});
