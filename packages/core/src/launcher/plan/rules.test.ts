import {
  newPoolComponent,
  newRequest,
  type LauncherId,
  type PoolComponentRecord,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { poolConfig } from '../../../test/support/pool-config.js';
import { poolView } from '../../../test/support/pool-view.js';
import { steeringAt } from '../../../test/support/steering-at.js';
import { judgeStanding, mayHaveCapacityElsewhere } from './rules.js';
import type { PoolView } from './types.js';

const ME = 'me' as LauncherId;

function request(labels: readonly string[] = ['a'], fields: Partial<RequestRecord> = {}): RequestRecord {
  return { ...newRequest({ labels }, 0), id: '200-0000000001' as RequestId, ...fields };
}

/** A registered pool `main` of a provider with label `a`. */
function registered(providerName: string, fields: Partial<PoolComponentRecord> = {}): PoolComponentRecord {
  return newPoolComponent({
    ...{ hostname: 'h', state: 'running', version: null, name: 'main', priority: 100, paused: false },
    ...{ providerName, launcherId: providerName as LauncherId, supportedLabels: ['a'] },
    ...fields,
  });
}

const own = registered('cloud', { launcherId: ME });

/** Pool `main` of `cloud`, which launches label `a`; the given pools are registered too. */
function view(others: readonly PoolComponentRecord[] = [], fields: Partial<PoolView> = {}): PoolView {
  return poolView({
    ...{ launcherId: ME, provider: 'cloud', pool: poolConfig('main', ['a']), launches: true, pausesAtQuota: true },
    registered: [own, ...others],
    ...fields,
  });
}

/** Action and rule, `queue` when no rule speaks against the request. */
function judge(wanted: RequestRecord, of: PoolView): string {
  const verdict = judgeStanding(wanted, of);
  return verdict ? `${verdict.action}: ${verdict.reason.rule}` : 'queue';
}

it.each([
  [['a', 'other'], 'node type(s) [other] not available'],
  [['othr'], 'node type(s) [othr] not available; no pool has "othr", did you mean "other"? Labels: a, other'],
  [['x', 'a'], 'node type(s) [x] not available; no pool has "x", did you mean "a"? Labels: a, other'],
  [
    ['nothing-like-it'],
    'node type(s) [nothing-like-it] not available; no pool has "nothing-like-it"; labels: a, other',
  ],
])('says which labels there are instead of %j', (labels, text) => {
  const verdict = judgeStanding(request(labels), view([registered('rack', { supportedLabels: ['other'] })]));

  expect(verdict).toMatchObject({ action: 'decline', reason: { rule: 'label-unavailable', text } });
});

describe('a request that is no business of the pool', () => {
  it.each([
    ['the launcher stops', request(), view([], { stopping: true }), 'skip: stopping'],
    ['it is not waiting', request(['a'], { state: 'pending' }), view(), 'skip: not-requested'],
    ['the pool has declined it', request(['a'], { declinedBy: [ME] }), view(), 'skip: already-declined'],
  ])('as %s', (_why, wanted, of, expected) => {
    expect(judge(wanted, of)).toBe(expected);
  });

  it('repeats why it was handed over to another pool', () => {
    const reasons = { [ME]: { rule: 'failed-over', text: 'launch of "a" failed: no host', timeMs: 1 } };

    expect(judgeStanding(request(['a'], { declinedBy: [ME], declineReasons: reasons }), view())).toMatchObject({
      action: 'skip',
      reason: { rule: 'failed-over', text: 'launch of "a" failed: no host' },
    });
  });

  it('otherwise belongs into its queue', () => {
    expect(judge(request(), view([registered('other')]))).toBe('queue');
  });
});

describe('a request that a pool yields', () => {
  const better = registered('better', { priority: 50 });

  it('goes to the pool with the better priority', () => {
    expect(judge(request(), view([better]))).toBe('yield: yield-to-priority');
  });

  it.each([
    ['waits for capacity itself', { ...better, paused: true }, request()],
    ['has declined it', better, request(['a'], { declinedBy: [better.launcherId] })],
    ['lacks a label', { ...better, supportedLabels: ['b'] }, request()],
    ['has no label at all', { ...better, supportedLabels: [] }, request()],
  ])('stays when that pool %s', (_why, other, wanted) => {
    expect(judge(wanted, view([other]))).toBe('queue');
  });

  it('goes to the provider it names, regardless of priority', () => {
    expect(judge(request(['a'], { provider: 'worse' }), view([registered('worse', { priority: 200 })]))).toBe(
      'yield: yield-to-provider',
    );
  });

  it('stays when the provider it asks for has no pool that could serve it', () => {
    expect(judge(request(['a'], { provider: 'gone' }), view())).toBe('queue');
  });

  it('stays with the provider it asks for, unless another pool of that provider is better', () => {
    const wanted = request(['a'], { provider: 'cloud' });

    expect(judge(wanted, view([better]))).toBe('queue');
    expect(judge(wanted, view([registered('cloud', { priority: 50, launcherId: 'x' as LauncherId })]))).toBe(
      'yield: yield-to-priority',
    );
  });
});

describe('a label that the pool lacks', () => {
  const wanted = request(['a', 'b']);

  it('is left to a pool that has all of them', () => {
    expect(judge(wanted, view([registered('other', { supportedLabels: ['a', 'b'] })]))).toBe('defer: label-elsewhere');
  });

  it('names each of those pools once, however many launchers have it', () => {
    const others = ['nl02', 'nl03'].map((launcher) =>
      registered('other', { launcherId: launcher as LauncherId, supportedLabels: ['a', 'b'] }),
    );

    expect(judgeStanding(wanted, view(others))?.reason).toMatchObject({
      text: 'this pool lacks "b"; "other/main" can serve the request',
      details: { pools: ['other/main'] },
    });
  });

  it('is a reason to decline when no pool has all of them', () => {
    expect(judge(wanted, view([registered('other', { supportedLabels: ['b'] })]))).toBe('decline: label-unavailable');
  });
});

describe('a request that the pool can never serve', () => {
  const needs = { need: () => ({ instances: 1, cores: 4 }), providerUsed: {}, poolUsed: {} };

  it.each<[string, Partial<PoolView>, string]>([
    ['the pool is switched off', { pool: poolConfig('main', ['a'], { maxServers: 0 }) }, 'pool-disabled'],
    ['the label is switched off', { disabledLabels: new Set(['a']) }, 'label-disabled'],
    ['the label is in error', { errorLabels: new Set(['a']) }, 'label-unavailable'],
    ['the image is not there', { labelReady: () => false }, 'images-unavailable'],
    ['there are fewer machines', { labelCapacity: () => 1 }, 'exceeds-quota'],
    ['the cloud is too small', { quota: { ...needs, providerTotal: { cores: 7 } } }, 'exceeds-quota'],
    ['the pool is too small', { pool: poolConfig('main', ['a'], { maxServers: 1 }) }, 'exceeds-quota'],
  ])('is declined: %s', (_why, fields, rule) => {
    expect(judge(request(['a', 'a']), view([], fields))).toBe(`decline: ${rule}`);
  });

  it('differs from a request for which there is merely no capacity now', () => {
    const quota = { ...needs, providerTotal: { cores: 8 }, providerUsed: { cores: 8 } };

    expect(judge(request(['a', 'a']), view([], { quota }))).toBe('queue');
  });

  it('differs from one that only the use of others prevents', () => {
    const steering = steeringAt(() => 0);
    const ofCloud = (cores: number) => ({ ...needs, providerTotal: { cores }, usedByOthers: { cores: 4 } });
    const text = (cores: number) =>
      judgeStanding(
        request(['a', 'a']),
        view([], { steering, quota: { ...ofCloud(cores), providerUsed: { cores: 1 } } }),
      )?.reason.text;

    expect(judge(request(['a', 'a']), view([], { steering, quota: ofCloud(4) }))).toBe('queue');
    expect(judge(request(['a', 'a']), view([], { steering, quota: ofCloud(3) }))).toBe('decline: exceeds-quota');
    expect(judge(request(['a', 'a']), view([], { quota: ofCloud(4) })), 'steering: off').toBe('decline: exceeds-quota');
    expect(text(3)).toMatch(/needs 8 cores, provider "cloud" allows 7 in all \(own nodes use 1, others 4\)$/);
  });

  it('may be larger than a quota that does not count', () => {
    const pool = poolConfig('main', ['a'], { ignoreProviderQuota: true });

    expect(judge(request(['a', 'a']), view([], { pool, quota: { ...needs, providerTotal: { cores: 7 } } }))).toBe(
      'queue',
    );
  });

  it('is not one that only waits for max-concurrency to be raised from 0', () => {
    expect(judge(request(), view([], { maxConcurrency: 0 }))).toBe('defer: max-concurrency');
    expect(judge(request(['b']), view([], { maxConcurrency: 0 })), 'what it never can is declined').toBe(
      'decline: label-unavailable',
    );
  });
});

describe('a request for which there is no capacity', () => {
  const elsewhere = (...others: PoolComponentRecord[]) => mayHaveCapacityElsewhere(request(), view(others));

  it('may find some in a pool of the same priority that does not wait', () => {
    expect(elsewhere(registered('other'))).toBe(true);
    expect(elsewhere(registered('other', { paused: true }))).toBe(false);
    expect(elsewhere()).toBe(false);
  });

  it('has to be accepted where a pool of a lower priority waits for that', () => {
    expect(elsewhere(registered('other'), registered('last', { priority: 200 }))).toBe(false);
  });
});
