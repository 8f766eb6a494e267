import { expect, it } from 'vitest';
import { poolConfig } from '../../../test/support/pool-config.js';
import { poolView } from '../../../test/support/pool-view.js';
import { RemainingQuota } from './remaining-quota.js';
import type { QuotaView } from './types.js';

const quotaOf = (providerTotal: Record<string, number> | undefined, more: Partial<QuotaView> = {}) =>
  new RemainingQuota(
    poolView({
      ...{ launcherId: 'me', provider: 'p', pool: poolConfig('main', ['a'], { maxServers: 3 }), launches: true },
      quota: {
        need: () => ({ instances: 1, cores: 2 }),
        providerTotal,
        providerUsed: { cores: 2 },
        poolUsed: {},
        ...more,
      },
    }),
  );

it('counts what is reserved, in the pool only if it says so', () => {
  const quota = quotaOf({ cores: 10 });
  quota.reserve({ need: { instances: 1, cores: 2 } });
  const launched = ['a', 'a'];
  const before = quota.findShortage('a', launched);
  quota.reserve({ need: { instances: 1 }, isInPool: true });

  expect(before).toBeUndefined();
  expect(quota.findShortage('a', launched)).toMatchObject({
    reason: { text: 'pool "main": the request needs at least 3 instances, 2 free, 1 kept for requests ahead' },
    ...{ isProviderShort: false, isKnown: true },
  });
});

it('is that of the provider first, and not known before the cloud has answered', () => {
  expect(quotaOf({ cores: 3 }).findShortage('a', [])).toMatchObject({
    reason: { text: 'provider "p": label "a" needs 2 cores, 1 free' },
    ...{ isProviderShort: true, isKnown: true },
  });
  expect(quotaOf(undefined).findShortage('a', [])).toMatchObject({ isProviderShort: false, isKnown: false });
});

it('has the text of the last refusal while limits are read because of it', () => {
  const refusal = 'Quota exceeded for cores';
  expect(quotaOf(undefined, { refusal }).findShortage('a', [])?.reason.text).toBe(
    'limits of provider "p" are being read; the cloud last refused a launch: Quota exceeded for cores',
  );
});

it('names the refused credentials, and what to do, where limits cannot be read for them', () => {
  const loginRefused = { message: 'keystone answered with 401', nextStep: 'correct the password' };
  expect(quotaOf(undefined, { loginRefused }).findShortage('a', [])).toMatchObject({
    reason: {
      text: 'limits of provider "p" cannot be read: keystone answered with 401',
      remedy: 'correct the password',
    },
    ...{ isProviderShort: false, isKnown: false },
  });
});
