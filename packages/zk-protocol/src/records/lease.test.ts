import { describe, expect, it } from 'vitest';
import { decodeLease, encodeLease, leaseOf, newLease, withLease } from './lease.js';

const lease = newLease(
  {
    ...{ id: 'a1', owner: 'team', token: 'alice', labels: ['small', 'big'], ttlMs: 90_500, digest: 'd', keeper: 'k' },
    ...{ priority: 100, tenantName: 't', reason: 'try', dueTimeMs: 5_500, slots: [0, 3] },
  },
  1_500,
);

describe('a lease', () => {
  it('is read as it was written', () => {
    const read = decodeLease('a1', encodeLease(lease), undefined);

    expect({ ...read, raw: {} }).toEqual({ ...lease, raw: {} });
    expect(lease).toMatchObject({ state: 'waiting', createdTimeMs: 1_500, nodeIds: [], endReason: null });
  });

  it('keeps unknown keys', () => {
    const read = decodeLease('a1', Buffer.from('{"state":"active","ticket":7}'), undefined);

    expect(read && JSON.parse(encodeLease(read).toString())).toMatchObject({ state: 'active', ticket: 7 });
  });

  it('of a release that added keys of lessees to machines is read, and keeps what that release needs', () => {
    const old = { state: 'waiting', nodes: ['1'], ssh_key: 'ssh-ed25519 AAAA', key_settled_time: 1.5, key_failures: 2 };
    const keyHosts = [{ node: '1', provider: 'p', host: 'h', port: 22, username: 'u', host_keys: ['k'], error: null }];
    const read = decodeLease('a1', Buffer.from(JSON.stringify({ ...old, key_hosts: keyHosts })), undefined);

    expect(read).toMatchObject({ state: 'waiting', publicKey: null });
    const ended = read && withLease(read, { state: 'ended' }, 9_000);
    expect(ended && JSON.parse(encodeLease(ended).toString())).toMatchObject({
      ...{ ...old, state: 'ended', key_hosts: keyHosts },
    });
  });

  it('takes the time of a new state, and keeps that time when nothing but other fields change', () => {
    expect(withLease(lease, { state: 'active' }, 9_000).stateTimeMs).toBe(9_000);
    expect(withLease(lease, { ttlMs: 1 }, 9_000)).toMatchObject({ stateTimeMs: 1_500, ttlMs: 1 });
  });

  it.each([
    ['without a body', ''],
    ['in a state of a newer release', '{"state":"frozen"}'],
  ])('is none %s', (_what, body) => {
    expect(decodeLease('a1', Buffer.from(body), undefined)).toBeUndefined();
  });

  it('is not read with a value of the wrong type', () => {
    expect(() => decodeLease('a1', Buffer.from('{"state":"active","ttl":"long"}'), undefined)).toThrow(/lease a1/);
  });

  it.each([
    [{ lease: 'a1' }, 'a1'],
    [{ lease: 7 }, undefined],
    [null, undefined],
    ['a1', undefined],
    [['a1'], undefined],
  ])('is named by the data %j', (data, id) => {
    expect(leaseOf(data)).toBe(id);
  });
});
