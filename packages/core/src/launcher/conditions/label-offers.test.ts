import type { PoolComponentRecord } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import type { Condition } from '../../contract/condition.js';
import type { Config } from '../../contract/config.js';
import { findOffers } from './label-offers.js';

const pool = {
  ...{ providerName: 'cloud', name: 'main', hostname: 'h2', launcherId: 'h2-1', supportedLabels: ['a'] },
} as unknown as PoolComponentRecord;
const config = { labels: new Map([['a', { name: 'a', minReady: 0 }]]) } as unknown as Config;

it.each([
  ['LaunchesFail', 'ProviderFails'],
  ['LoginRefused', 'ProviderFails'],
  ['NotStarted', 'ProviderNotStarted'],
  ['ResourcesLeaked', undefined],
])('takes the error %s of a provider of another launcher as the obstacle %s of its labels', (type, expected) => {
  const condition: Condition = {
    ...{ kind: 'provider', name: 'cloud', type, status: 'true', severity: 'error', reason: 'Error', message: 'm' },
    ...{ nextStep: '', evidence: {}, sinceMs: 0, lastSeenMs: 0 },
  };
  const published = [{ service: 'launcher h2', conditions: [condition] }];
  const sources = { config, views: [], registered: [pool], ofDrivers: [], hosts: [], published, nowMs: 0 };

  const [offer] = findOffers(sources).get('a') ?? [];

  expect(offer?.obstacle?.reason).toBe(expected);
});
