import { describe, expect, it } from 'vitest';
import { begin, fail, steeringAt } from '../../../test/support/steering-at.js';
import { newCondition } from '../../contract/condition.js';
import { CONDITIONS } from '../../contract/driver-conditions.js';
import { CapacityError, ProviderUnavailableError, QuotaError, TimeoutError } from '../../contract/errors.js';
import type { ProviderSteering } from '../../features/steering/provider-steering.js';
import type { LabelOffer } from './label-offers.js';
import { launchConditions } from './launch-conditions.js';

const NOW_MS = 50_000;
const refused = () => Object.assign(new ProviderUnavailableError('keystone answered with 401'), { status: 401 });
const served = (provider: string): LabelOffer => ({ provider, pool: 'main', obstacle: undefined });

function failing(makeError: () => Error): ProviderSteering {
  const steering = steeringAt(() => NOW_MS);
  for (let i = 0; i < 3; i++) fail(steering, 'big', makeError());
  return steering;
}

function conditionsOf(steering: ProviderSteering, offers: Record<string, LabelOffer[]>) {
  const facts = { offers: new Map(Object.entries(offers)), ofDrivers: [] };
  return launchConditions([{ provider: 'sky', report: steering.report() }], facts);
}

describe('a provider whose launches fail', () => {
  it('names the class of the error, the labels that no other provider serves, and the next step', () => {
    const [found, ...others] = conditionsOf(failing(refused), { big: [served('sky')] });

    expect(others).toEqual([]);
    expect(found).toMatchObject({
      ...{ kind: 'provider', name: 'sky', type: 'LaunchesFail', severity: 'error', reason: 'Unauthorized' },
      ...{ sinceMs: NOW_MS, lastSeenMs: NOW_MS, evidence: { failures: 3 } },
      message: '3 launches in a row failed: keystone answered with 401; no other provider serves "big"',
    });
    expect(found?.nextStep).toContain('correct the credentials of provider "sky"');
  });

  it('reports that other providers serve its labels', () => {
    const [found] = conditionsOf(failing(refused), { big: [served('sky'), served('rain')] });

    expect(found?.message).toContain('other providers serve its labels');
  });

  it('names the next step that its driver knows', () => {
    const nextStep = 'correct password in /etc/openstack/clouds.yaml';
    const cause = newCondition(CONDITIONS, 'LoginRefused', {
      ...{ name: 'sky', reason: 'Unauthorized', message: '401', nextStep },
    });
    const report = failing(refused).report();

    const [found] = launchConditions([{ provider: 'sky', report }], { offers: new Map(), ofDrivers: [cause] });

    expect(found?.nextStep).toBe(nextStep);
  });

  it('is no longer told once a launch succeeds', () => {
    const steering = failing(refused);

    steering.launchEnded(begin(steering, 'big'), 'ready');

    expect(conditionsOf(steering, {})).toEqual([]);
  });

  it('is not told of a label that its pools cannot use, as nothing probes it; another condition says why', () => {
    const obstacle = { reason: 'LabelUnavailable', message: 'there is no image "debian"', nextStep: '' };
    const unusable = { ...served('sky'), obstacle };
    const steering = failing(() => new CapacityError('none left'));

    expect(conditionsOf(steering, { big: [unusable, { ...unusable, pool: 'other' }] })).toEqual([]);
    expect(conditionsOf(steering, { big: [unusable, served('sky')] })).toMatchObject([{ type: 'LabelLaunchesFail' }]);
  });

  it('is not told for a label without capacity; the label is', () => {
    const found = conditionsOf(
      failing(() => new CapacityError('none left')),
      { big: [served('sky')] },
    );

    expect(found).toMatchObject([
      {
        kind: 'label',
        name: 'sky/big',
        type: 'LabelLaunchesFail',
        severity: 'warning',
        reason: 'NoCapacity',
      },
    ]);
  });
});

describe('a label whose launches fail', () => {
  const timeout = () => new TimeoutError('not ready within 30 s', { operation: 'create' });
  const told = (steering: ProviderSteering) =>
    conditionsOf(steering, {}).map(({ name, type, evidence }) => [name, type, evidence['failures']]);

  it('is reported at the second attempt if each takes its time, until one succeeds', () => {
    const time = { now: NOW_MS };
    const steering = steeringAt(() => time.now);
    fail(steering, 'big', timeout());
    const first = told(steering);
    time.now += 30_000;
    fail(steering, 'big', timeout());
    const second = conditionsOf(steering, {});
    steering.launchEnded(begin(steering, 'big'), 'ready');

    expect(first).toEqual([]);
    expect(second).toMatchObject([
      {
        ...{ name: 'sky/big', type: 'LabelLaunchesFail', severity: 'warning', reason: 'Timeout', sinceMs: NOW_MS },
        message: '2 launches of label "big" in a row failed: not ready within 30 s',
        evidence: { provider: 'sky', label: 'big', failures: 2 },
      },
    ]);
    expect(told(steering)).toEqual([]);
  });

  it('is reported after three attempts, although another label works in between', () => {
    const steering = steeringAt(() => NOW_MS);
    for (const label of ['big', 'big', 'small', 'big']) {
      if (label === 'small') steering.launchEnded(begin(steering, label), 'ready');
      else fail(steering, label, timeout());
    }

    expect(told(steering)).toEqual([['sky/big', 'LabelLaunchesFail', 3]]);
  });

  it('without capacity has advice unless it was ready there before', () => {
    const [never, once] = [steeringAt(() => NOW_MS), steeringAt(() => NOW_MS)];
    once.launchEnded(begin(once, 'big'), 'ready');
    const steps = [never, once].map((steering) => {
      for (let i = 0; i < 3; i++) fail(steering, 'big', new CapacityError('No valid host was found.'));
      return conditionsOf(steering, {})[0]?.nextStep;
    });

    expect(steps).toEqual([
      expect.stringMatching(/^look at the flavor, the image and the zone of the label .* "sky"/),
      '',
    ]);
  });

  it('is reported at the third refusal for lack of quota within more than 20 s, with what the cloud said', () => {
    let nowMs = NOW_MS;
    const steering = steeringAt(() => nowMs);
    const refuse = () => fail(steering, 'big', new QuotaError('403: Quota exceeded for cores'));
    for (let i = 0; i < 3; i++) refuse(); // at one moment, as at a pool that is full
    const before = told(steering);
    nowMs += 20_000;
    refuse();

    expect(before).toEqual([]);
    expect(conditionsOf(steering, {})).toMatchObject([
      {
        ...{ name: 'sky/big', type: 'LabelLaunchesFail', severity: 'warning', reason: 'Quota' },
        message: '4 launches of label "big" in a row failed: 403: Quota exceeded for cores',
      },
    ]);
  });

  it('is not reported again once its provider fails, nor long after its last launch', () => {
    const time = { now: NOW_MS };
    const steering = steeringAt(() => time.now);
    fail(steering, 'big', timeout());
    time.now += 30_000;
    fail(steering, 'big', timeout());
    time.now += 600_000;
    const later = told(steering);
    fail(steering, 'big', timeout());

    expect(later).toEqual([]);
    expect(told(steering)).toEqual([['sky', 'LaunchesFail', 3]]);
  });
});
