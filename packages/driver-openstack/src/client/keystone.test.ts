import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import { readToken } from './keystone.js';

const NOW_MS = 1_000_000;

describe('readToken', () => {
  it('measures the lifetime from now, since the clock of Keystone may differ', () => {
    const token = { issued_at: '2020-01-01T00:00:00Z', expires_at: '2020-01-01T01:00:00Z', project: { id: 'p1' } };

    expect(readToken('t', { token }, NOW_MS)).toEqual({
      ...{ id: 't', issuedMs: NOW_MS, expiresMs: NOW_MS + 3_600_000, projectId: 'p1', catalog: [] },
    });
  });

  it('never expires without an expiry', () => {
    expect(readToken('t', { token: {} }, NOW_MS)?.expiresMs).toBe(Infinity);
  });

  it('reads both names of a region', () => {
    const endpoints: JsonObject[] = [
      { interface: 'public', region_id: 'north', url: 'https://x' },
      { interface: 'public', region: 'south', url: 'https://y' },
      { interface: 'public', url: 'https://z' },
    ];
    const token = readToken('t', { token: { catalog: [{ type: 'compute', name: 'nova', endpoints }] } }, NOW_MS);

    expect(token?.catalog[0]?.endpoints.map(({ region }) => region)).toEqual(['north', 'south', undefined]);
  });

  it.each([
    ['without the header', undefined, { token: {} }],
    ['without a token', 't', {}],
    ['that is no object', 't', 'token'],
  ])('is undefined for an answer %s', (_what, id, body) => {
    expect(readToken(id, body, NOW_MS)).toBeUndefined();
  });
});
