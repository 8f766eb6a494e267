import { expect, it } from 'vitest';
import { decodeLeaseToken, encodeLeaseToken, LEASE_TOKEN_NAME, leaseSlotPath, newLeaseToken } from './lease-token.js';

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
