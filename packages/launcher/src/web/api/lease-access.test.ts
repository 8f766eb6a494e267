import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '@nodepool/core/testing';
import { newLeaseToken, type LeaseTokenRecord } from '@nodepool/zk-protocol';
import type { ApiToken } from '@nodepool/core/config';
import type { Leases } from '@nodepool/core/launcher';
import { LeaseAccess, mayLease } from './lease-access.js';

const hash = createHash('sha256').update('secret').digest('hex');

interface World {
  readonly isReady?: boolean;
  readonly knowledge?: Leases['knowledge'];
  readonly owner?: string;
  readonly apiTokens?: ApiToken[];
  readonly distrust?: string | undefined;
}

function accessWith(world: World = {}) {
  const { isReady = true, knowledge = 'starting', owner = 'team', distrust } = world;
  const { apiTokens = [{ name: 'root', token: 'admins-own' }] } = world;
  const clock = new VirtualClock(1_000);
  const rights = { owner, labels: ['*'], maxTtlMs: 1, maxNodes: 3, tenantName: null, highestPriority: 200 };
  const alice = newLeaseToken({ ...rights, admin: false, name: 'alice', hash, endTimeMs: 9_000 }, 0);
  const stored = new Map<string, LeaseTokenRecord>(isReady ? [['alice', alice]] : []);
  const tokens = { get: (name: string) => stored.get(name), ready: isReady };
  const access = new LeaseAccess({
    ...{ clock, leases: { tokens, knowledge }, trust: { distrusts: () => distrust } },
    config: () => ({ apiTokens }),
  });
  const call = (authorization: string | undefined, localUser?: string) =>
    access.callerOf({ authorization, localUser, address: '127.0.0.1' });
  return { clock, call };
}

describe('who calls', () => {
  it('is not known yet while the tokens are being read, except operators', () => {
    const { call } = accessWith({ isReady: false });

    expect(() => call('Bearer alice.secret')).toThrow(expect.objectContaining({ status: 503, code: 'starting' }));
    expect(call('Bearer admins-own').admin).toBe(true);
  });

  it('is not known either while a launcher that was started is cut off from ZooKeeper', () => {
    const { call } = accessWith({ isReady: false, knowledge: 'cut-off' });

    expect(() => call('Bearer alice.secret')).toThrow(expect.objectContaining({ status: 503, code: 'zookeeper' }));
  });

  it('is the owner of a token for leases, or an admin with a token of the secure file', () => {
    const { call } = accessWith();

    expect(call('Bearer alice.secret')).toMatchObject({ name: 'alice', owner: 'team', maxNodes: 3, admin: false });
    expect(call('Bearer admins-own')).toMatchObject({ name: 'root', owner: 'root', maxNodes: null, admin: true });
  });

  it.each([
    'Bearer alice.Secret',
    'Bearer alice.',
    'Bearer .secret',
    'Bearer alice',
    'Basic alice.secret',
    'alice.secret',
    '',
  ])('is not known by %j', (authorization) => {
    for (const apiTokens of [[], [{ name: 'root', token: 'admins-own' }]]) {
      expect(() => accessWith({ apiTokens }).call(authorization)).toThrow(expect.objectContaining({ status: 401 }));
    }
  });

  it('reads how to get rights if the token is right, but its record not signed, and only then', () => {
    const { call } = accessWith({ distrust: 'create it again' });

    const refusal = { status: 401, code: 'token-not-signed', message: 'create it again' };
    expect(() => call('Bearer alice.secret')).toThrow(expect.objectContaining(refusal));
    expect(() => call('Bearer alice.other')).toThrow(expect.objectContaining({ code: 'bad-token' }));
    expect(call('Bearer admins-own').admin).toBe(true);
  });

  it('is not known any more when the token has expired', async () => {
    const { call, clock } = accessWith();
    await clock.advance(8_000);

    expect(() => call('Bearer alice.secret')).toThrow(expect.objectContaining({ code: 'bad-token' }));
  });

  it('is a user of this computer, who has logged in on its socket; no other without a token', () => {
    const { call } = accessWith();

    expect(call('Bearer uid.1000.9.f', 'uid:1000@nl01')).toMatchObject({
      ...{ name: 'uid:1000@nl01', owner: 'uid:1000@nl01', labels: ['*'], maxNodes: null, highestPriority: 200 },
      ...{ admin: false, isOperator: false },
    });
    expect(() => call(undefined)).toThrow(expect.objectContaining({ status: 401 }));
  });

  it('is not known by a token whose owner looks like a user of this computer', () => {
    const { call } = accessWith({ owner: 'uid:1000@nl01' });

    expect(() => call('Bearer alice.secret')).toThrow(expect.objectContaining({ status: 401 }));
  });
});

it('limits how often a token may call', async () => {
  const { call, clock } = accessWith();
  for (let i = 0; i < 1_000; i++) call('Bearer alice.secret');

  expect(() => call('Bearer alice.secret')).toThrow(expect.objectContaining({ status: 429, code: 'too-fast' }));
  expect(call('Bearer admins-own').name).toBe('root');
  await clock.advance(1_000);
  for (let i = 0; i < 500; i++) call('Bearer alice.secret');
});

it('lets a token that never pauses call as often as others', async () => {
  const { call, clock } = accessWith();
  for (let i = 0; i < 1_000; i++) call('Bearer alice.secret');
  let admitted = 0;
  for (let ms = 0; ms < 100; ms++) {
    await clock.advance(1);
    try {
      call('Bearer alice.secret');
      admitted++;
    } catch (error) {
      expect(error).toMatchObject({ code: 'too-fast' });
    }
  }
  expect(admitted).toBe(50);
});

it.each([
  [['*'], 'small', true],
  [['small'], 'small', true],
  [['small'], 'smaller', false],
  [['ubuntu-*', 'small'], 'ubuntu-24.04', true],
  [['ubuntu-*'], 'my-ubuntu-1', false],
  [['u.*'], 'ubuntu', false],
  [['a*c'], 'abc', true],
  [[], 'small', false],
])('labels %j cover %s: %s', (labels, label, covers) => {
  const rights = { owner: 'o', maxTtlMs: 1, maxNodes: null, tenantName: null, highestPriority: 200, admin: false };
  expect(mayLease({ ...rights, labels }, label)).toBe(covers);
});
