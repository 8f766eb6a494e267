import type { PoolComponentRecord } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { poolConfig } from '../../../test/support/pool-config.js';
import { poolView } from '../../../test/support/pool-view.js';
import { begin, fail, steeringAt } from '../../../test/support/steering-at.js';
import type { Condition } from '../../contract/condition.js';
import type { Config } from '../../contract/config.js';
import { LaunchError, NotFoundError, QuotaError } from '../../contract/errors.js';
import type { ProviderSteering } from '../../features/steering/provider-steering.js';
import type { LivePoolView } from '../view/pool-view.js';
import { findOffers } from './label-offers.js';
import { unservedLabels } from './unserved-labels.js';

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

describe('a pool of this launcher', () => {
  const broken = new LaunchError('status', 'its disk burns');
  const offerBeside = (steering: ProviderSteering) => {
    const own = {
      ...poolView({ launcherId: 'h1-1', provider: 'cloud', pool: poolConfig('main', ['a']), launches: true, steering }),
      ...{ runner: { running: true }, controls: [] },
    } as unknown as LivePoolView;
    const sources = { config, views: [own], registered: [pool], ofDrivers: [], hosts: [], published: [], nowMs: 0 };
    return (findOffers(sources).get('a') ?? []).map(({ obstacle }) => obstacle?.reason);
  };

  it('fails as a whole if no label works, and in the label alone if others do; so does that of another launcher', () => {
    const steering = steeringAt(() => 0);
    fail(steering, 'a', broken);
    fail(steering, 'a', broken);
    const before = offerBeside(steering);
    fail(steering, 'a', broken);
    const all = offerBeside(steering);
    steering.launchEnded(begin(steering, 'b'), 'ready');
    for (let i = 0; i < 3; i++) fail(steering, 'a', broken);

    expect(before).toEqual([undefined, undefined]);
    expect(all).toEqual(['ProviderFails', 'ProviderFails']);
    expect(offerBeside(steering)).toEqual(['LabelFails', 'LabelFails']);
  });

  it('serves a label while the quota is used up, as nodes in use are given back', () => {
    let nowMs = 0;
    const steering = steeringAt(() => nowMs);
    for (; nowMs < 90_000; nowMs += 30_000) fail(steering, 'a', new QuotaError('Quota exceeded for cores'));

    expect(offerBeside(steering)).toEqual([undefined, undefined]);
  });

  it('fails in the label whose object the cloud lacks, although nothing is held back for it', () => {
    const steering = steeringAt(() => 0);
    for (let i = 0; i < 3; i++) fail(steering, 'a', new NotFoundError('no flavor "huge"'));

    expect(offerBeside(steering)).toEqual(['LabelFails', 'LabelFails']);
  });
});

describe('launchers that find one trouble of a provider', () => {
  const refused = { reason: 'ProviderFails', message: 'keystone answered with 401', nextStep: 'correct it' };
  const notStarted = { reason: 'ProviderNotStarted', message: 'it is not started: 401', nextStep: 'start it' };
  const broken = { reason: 'LabelFails', message: '3 launches failed', nextStep: 'look' };
  const offer = (obstacle: typeof refused, provider = 'sky') => ({ provider, pool: 'main', obstacle });
  const told = (...offers: ReturnType<typeof offer>[]) => unservedLabels(new Map([['a', offers]]));

  it.each([
    [notStarted, refused],
    [refused, notStarted],
    [broken, refused],
  ])('name one reason, the plainest: %o and %o', (one, other) => {
    expect(told(offer(one), offer(other))).toMatchObject([
      {
        ...{ reason: 'ProviderFails', nextStep: 'correct it', evidence: { onlyProvider: 'sky' } },
        message: 'no pool can serve it now: sky/main: keystone answered with 401',
      },
    ]);
  });

  it('name several for several providers', () => {
    expect(told(offer(notStarted), offer(refused, 'rain'))).toMatchObject([{ reason: 'Several' }]);
  });
});
