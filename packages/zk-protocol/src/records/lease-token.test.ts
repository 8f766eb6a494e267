import { describe, expect, it } from 'vitest';
import {
  decodeLeaseToken,
  encodeLeaseToken,
  isSignedLeaseToken,
  LEASE_TOKEN_NAME,
  leaseSlotPath,
  newLeaseToken,
  signLeaseToken,
  type LeaseTokenRecord,
} from './lease-token.js';

const token = newLeaseToken(
  {
    ...{ name: 'ci', hash: 'ab', owner: 'team', labels: ['ubuntu-*'], maxTtlMs: 3_600_000, maxNodes: 4 },
    ...{ tenantName: 't', highestPriority: 100, admin: true, endTimeMs: 9_500 },
  },
  1_500,
);

it('is read as it was written', () => {
  const read = decodeLeaseToken('ci', encodeLeaseToken(token), undefined);

  expect({ ...read, raw: {} }).toEqual({ ...token, raw: {} });
});

it('keeps unknown keys, and allows nothing that is not written', () => {
  const read = decodeLeaseToken('ci', Buffer.from('{"hash":"ab","team":"x"}'), undefined);

  expect(read).toMatchObject({ owner: 'ci', labels: [], maxTtlMs: 0, highestPriority: 200, admin: false });
  expect(read && JSON.parse(encodeLeaseToken(read).toString())).toMatchObject({ team: 'x' });
});

it('is none without a body', () => {
  expect(decodeLeaseToken('ci', Buffer.alloc(0), undefined)).toBeUndefined();
});

it.each(['ci', '7', 'team-a-2', 'x'.repeat(63)])('may be named %s', (name) => {
  expect(LEASE_TOKEN_NAME.test(name)).toBe(true);
  expect(leaseSlotPath(name, 3)).toBe(`/nodepool/lease-slots/${name}/3`);
});

it.each(['', '-ci', 'CI', 'a/b', 'a.b', '..', 'a b', 'x'.repeat(64)])('may not be named %j', (name) => {
  expect(LEASE_TOKEN_NAME.test(name)).toBe(false);
});

describe('the signature of a token', () => {
  const KEY = 'a-key-that-only-launchers-have';
  const signed = signLeaseToken({ ...token, endTimeMs: 1_795_254_814_628.4 }, KEY);

  it('is valid after the record was stored and read, with any of the keys', () => {
    const read = decodeLeaseToken('ci', encodeLeaseToken(signed), undefined);

    expect(read && isSignedLeaseToken(read, ['another', KEY])).toBe(true);
    expect(read && isSignedLeaseToken(read, ['another'])).toBe(false);
    expect(read && isSignedLeaseToken(read, [])).toBe(false);
  });

  it('is missing in the record of an earlier version', () => {
    expect(isSignedLeaseToken(token, [KEY])).toBe(false);
    expect(isSignedLeaseToken({ ...token, mac: '' }, [KEY])).toBe(false);
  });

  it.each<Partial<LeaseTokenRecord>>([
    { name: 'other' },
    { hash: 'cd' },
    { owner: 'me' },
    { labels: ['*'] },
    { labels: ['ubuntu-*', '*'] },
    { maxTtlMs: 3_601_000 },
    { maxNodes: 5 },
    { maxNodes: null },
    { maxNodes: Infinity },
    { tenantName: null },
    { highestPriority: 1 },
    { admin: false },
    { endTimeMs: null },
    { endTimeMs: 1_795_254_815_000 },
  ])('does not cover a record with %j', (change) => {
    expect(isSignedLeaseToken({ ...signed, ...change }, [KEY])).toBe(false);
  });
});
