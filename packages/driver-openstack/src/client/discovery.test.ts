import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import { isAtMost, serviceRoot, versionDocumentUrl } from './discovery.js';

describe('versionDocumentUrl', () => {
  it.each([
    ['https://x/compute/v2.1/p1', 'https://x/compute/v2.1/'],
    ['https://x/image', 'https://x/image/'],
    ['https://x', 'https://x/'],
  ])('of %s is %s', (endpoint, url) => {
    expect(versionDocumentUrl(endpoint)).toBe(url);
  });
});

describe('serviceRoot', () => {
  it('takes the path, but not the host, of the current version', () => {
    const versions: JsonObject[] = [
      { id: 'v2.0', status: 'SUPPORTED', links: [{ href: 'http://inside/v2/' }] },
      { id: 'v2.1', status: 'CURRENT', version: '2.93', min_version: '2.1', links: [{ href: 'http://inside/v2.1/' }] },
    ];

    expect(serviceRoot('compute', 'https://x/compute', { versions })).toEqual({
      url: 'https://x/compute/v2.1',
      minMicroversion: '2.1',
      maxMicroversion: '2.93',
    });
  });

  it('keeps an endpoint with a version, and assumes the usual path without a document', () => {
    expect(serviceRoot('volume', 'https://x/v3/p1', undefined).url).toBe('https://x/v3/p1');
    expect(serviceRoot('volume', 'https://x', undefined).url).toBe('https://x/v3');
  });

  it('reads the nested list of Keystone', () => {
    const document = { versions: { values: [{ id: 'v3.14', status: 'stable', links: [{ href: 'http://k/v3/' }] }] } };

    expect(serviceRoot('identity', 'https://k', document).url).toBe('https://k/v3');
  });
});

it('compares microversions as numbers', () => {
  expect([isAtMost('2.9', '2.37'), isAtMost('2.37', '2.37'), isAtMost('2.93', '2.37')]).toEqual([true, true, false]);
});
