import { newPoolComponent, newRequest, type LauncherId, type NodeId, type RequestId } from '@nodepool/zk-protocol';
import { newNode, type PoolComponentRecord } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { poolConfig } from '../../../test/support/pool-config.js';
import { poolView } from '../../../test/support/pool-view.js';
import { begin, fail, steeringAt } from '../../../test/support/steering-at.js';
import { LaunchError } from '../../contract/errors.js';
import type { ProviderSteering } from '../../features/steering/provider-steering.js';
import { MIN_READY_REQUESTOR } from './candidates.js';
import { chooseProbes, findAlternative, findSuccessor } from './health-rules.js';
import { judgeStanding } from './rules.js';
import type { PoolView } from './types.js';

const OWN = 'nl01-PoolWorker.own-main-1' as LauncherId;

function pool(provider: string, fields: Partial<PoolComponentRecord> = {}): PoolComponentRecord {
  const launcherId = (provider === 'own' ? OWN : `nl02-PoolWorker.${provider}-main-2`) as LauncherId;
  const names = { hostname: 'nl02', version: '1', launcherId, name: 'main', providerName: provider };
  return { ...newPoolComponent({ ...names, supportedLabels: ['small'], firstPoolPauseMs: 250 }), ...fields };
}

function failing(now = () => 0): ProviderSteering {
  const steering = steeringAt(now);
  for (let i = 0; i < 3; i++) fail(steering, 'small', new LaunchError('status', 'it is in error'));
  return steering;
}

function view(others: readonly PoolComponentRecord[], fields: Partial<PoolView> = {}): PoolView {
  const own = { launcherId: OWN, provider: 'own', pool: poolConfig('main', ['small']), launches: true };
  return poolView({ ...own, registered: [pool('own'), ...others], steering: failing(), ...fields });
}

const request = (fields: object = {}) => {
  return { ...newRequest({ labels: ['small'] }, 0), id: '200-0000000001' as RequestId, ...fields };
};
const rule = (of: PoolView, fields: object = {}) => judgeStanding(request(fields), of)?.reason.rule;

describe('the labels with which a provider is probed', () => {
  const label = (name: string, minReady = 0) => ({ name, minReady });

  it.each([
    ['the provider fails', [label('a'), label('b')], { isWell: false, fails: [] }, ['a']],
    [
      'the provider fails, and a label is on standby',
      [label('a'), label('b', 1)],
      { isWell: false, fails: ['a'] },
      ['b'],
    ],
    ['two labels fail', [label('a'), label('b', 1), label('c')], { isWell: true, fails: ['a', 'b'] }, ['a', 'b']],
    ['the provider is slow', [label('a'), label('b')], { isWell: true, fails: [] }, []],
    [
      'the provider is slow, and a label is on standby',
      [label('a'), label('b', 1)],
      { isWell: true, fails: [] },
      ['b'],
    ],
    ['it is not time', [], { isWell: false, fails: [] }, []],
  ])('%s', (_what, due, { isWell, fails }: { isWell: boolean; fails: string[] }, chosen) => {
    expect(chooseProbes(due, { isWell, isFailing: (name) => fails.includes(name), compareProbes: () => 0 })).toEqual(
      chosen,
    );
  });
});

describe('a provider whose launches fail', () => {
  it('leaves a request to a pool of another provider', () => {
    expect(judgeStanding(request(), view([pool('other')]))).toMatchObject({
      action: 'defer',
      reason: {
        rule: 'provider-failing',
        text: expect.stringMatching(/^provider "own": 3 launches in a row failed/) as string,
      },
    });
  });

  it.each([
    ['there is no other pool', []],
    [
      'the other pool is of the same provider',
      [pool('own', { launcherId: 'nl02-PoolWorker.own-main-2' as LauncherId })],
    ],
    ['the other pool is paused', [pool('other', { paused: true })]],
    ['the other pool fails as well', [pool('other', { health: 'open' })]],
    ['the other pool is of the original', [pool('other', { firstPoolPauseMs: null })]],
    ['the other pool lacks the label', [pool('other', { supportedLabels: ['big'] })]],
  ])('serves as ever when %s', (_when, others) => {
    expect(rule(view(others))).toBeUndefined();
  });

  it('makes standby nodes for probes only, also when there is no other pool', () => {
    const fields = { requestor: MIN_READY_REQUESTOR };
    const time = { now: 0 };
    const steering = failing(() => time.now);

    const before = judgeStanding(request(fields), view([], { steering }));
    time.now = 10_000;

    expect(before).toMatchObject({ action: 'defer', reason: { rule: 'provider-failing', remedy: 'a probe succeeds' } });
    expect(rule(view([], { steering }), fields)).toBeUndefined();
  });

  it('serves as ever when the other pool has declined', () => {
    expect(rule(view([pool('other')]), { declinedBy: [pool('other').launcherId] })).toBeUndefined();
  });

  it('serves requests that name it, which all other pools leave to it', () => {
    expect(rule(view([pool('other')]), { provider: 'own' })).toBeUndefined();
  });

  it('gives out its ready nodes', () => {
    const node = { ...newNode({ state: 'ready', labels: ['small'] }, 0), id: '0000000001' as NodeId };

    expect(rule(view([pool('other')], { freeNodes: () => [node] }))).toBeUndefined();
  });

  it('leaves a request that has just come to a pool of the original, for a moment', () => {
    const original = pool('other', { firstPoolPauseMs: null });

    expect(rule(view([original], { isPausing: () => true }))).toBe('provider-failing');
  });

  it('does as ever without steering', () => {
    expect(rule(view([pool('other')], { steering: undefined }))).toBeUndefined();
  });
});

describe('a standby node that is asked for to probe a provider', () => {
  const probe = (provider: string) => ({ requestor: MIN_READY_REQUESTOR, provider });
  const due = () => {
    const time = { now: 0 };
    const steering = failing(() => time.now);
    time.now = 10_000;
    return steering;
  };

  it('is made by that provider when it is time', () => {
    expect(rule(view([pool('other')], { steering: due() }), probe('own'))).toBeUndefined();
  });

  it.each([
    ['it is not time', failing()],
    ['the provider is well', steeringAt(() => 0)],
    ['steering is off', undefined],
  ])('changes nothing when %s', (_when, steering) => {
    const verdict = judgeStanding(request(probe('own')), view([pool('other')], { steering }));

    expect(verdict).toMatchObject({ action: 'skip', reason: { rule: 'provider-failing' } });
  });

  it('is skipped while another probe is in progress', () => {
    const steering = due();
    begin(steering, 'small');

    expect(rule(view([pool('other')], { steering }), probe('own'))).toBe('provider-failing');
  });

  it('is never made by another provider, even when that one has declined it or is gone', () => {
    const declined = { ...probe('other'), declinedBy: [pool('other').launcherId] };

    for (const fields of [probe('other'), declined, probe('gone')]) {
      expect(judgeStanding(request(fields), view([pool('other')], { steering: undefined }))).toMatchObject({
        action: 'skip',
        reason: { rule: 'yield-to-provider' },
      });
    }
  });
});

it('a pool known from an old registration is no alternative: nothing tells whether it is paused', () => {
  expect(findAlternative(request(), view([pool('other', { legacy: true })]))).toBeUndefined();
});

describe('after a launch that failed, a request', () => {
  const original = pool('original', { firstPoolPauseMs: null });

  it('goes to a pool that takes what it can at once', () => {
    expect(findSuccessor(request(), view([pool('other', { firstPoolPauseMs: 0 })]))).toMatchObject({
      providerName: 'other',
    });
  });

  it('stays while a pool of the original is registered, whatever its labels', () => {
    const lacking = { ...original, supportedLabels: ['big'] };

    expect(findSuccessor(request(), view([pool('other'), original]))).toBeUndefined();
    expect(findSuccessor(request(), view([pool('other'), lacking]))).toBeUndefined();
  });

  it('goes to a pool that is in the old registry as well', () => {
    const twice = [pool('other'), pool('other', { firstPoolPauseMs: null, legacy: true })];

    expect(findSuccessor(request(), view(twice))).toMatchObject({ providerName: 'other' });
  });
});
