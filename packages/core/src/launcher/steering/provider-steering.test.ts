import { describe, expect, it } from 'vitest';
import { CapacityError, ProviderUnavailableError, QuotaError, TimeoutError } from '../../contract/errors.js';
import { DEFAULT_HEALTH_LIMITS } from './health.js';
import type { ProviderSteering } from './provider-steering.js';
import { steeringAt } from '../../../test/support/steering-at.js';

const { failuresToOpen, firstPauseMs } = DEFAULT_HEALTH_LIMITS;
const timeout = () => new TimeoutError('not ready within 60 s', { operation: 'create' });
const stockOut = () => new CapacityError('no valid host was found');

function setUp() {
  const time = { now: 1_000_000 };
  const changes: string[] = [];
  const steering: ProviderSteering = steeringAt(
    () => time.now,
    () => changes.push(steering.report().provider.state),
  );
  const fail = (label: string, error: Error) => {
    const launch = steering.begin(label);
    const kind = launch.attemptFailed(error);
    launch.ended(false);
    return kind;
  };
  return { time, changes, steering, fail };
}

describe('what launches show of a provider', () => {
  it('closes all its labels when it fails for reasons of the cloud', () => {
    const { steering, fail, changes, time } = setUp();

    const kinds = Array.from({ length: failuresToOpen }, () => fail('small', timeout()));

    expect(kinds).toEqual(kinds.map(() => 'cloud'));
    expect(steering.isWell).toBe(false);
    expect(['small', 'big'].map((label) => steering.mayLaunch([label]))).toEqual([false, false]);
    expect(steering.nextProbeMs).toBe(time.now + firstPauseMs);
    expect(changes).toEqual(['open']);
  });

  it('closes a label alone when there is no capacity for it', () => {
    const { steering, fail } = setUp();

    for (let i = 0; i < failuresToOpen; i++) fail('big', stockOut());

    expect(steering.isWell).toBe(true);
    expect(['small', 'big'].map((label) => steering.mayLaunch([label]))).toEqual([true, false]);
    expect(steering.report().labels.map(({ label, health }) => [label, health.error])).toEqual([
      ['big', 'no valid host was found'],
    ]);
  });

  it('is not changed by quota', () => {
    const { steering, fail } = setUp();

    for (let i = 0; i < 10; i++) fail('small', new QuotaError('cores'));

    expect(steering.mayLaunch(['small'])).toBe(true);
    expect(steering.report().provider.failures).toBe(0);
  });

  it('lets one launch through when it is time, and all when that one is ready', () => {
    const { steering, fail, time, changes } = setUp();
    for (let i = 0; i < failuresToOpen; i++) fail('small', timeout());
    time.now += firstPauseMs;

    const probe = steering.begin('small');
    const during = steering.mayLaunch(['small']);
    probe.ended(true);

    expect(during).toBe(false);
    expect(steering.mayLaunch(['small'])).toBe(true);
    expect(changes).toEqual(['open', 'closed']);
  });

  it('closes all its labels when its API fails while nothing is launched, until it answers again', () => {
    const { steering, changes } = setUp();
    const down = new ProviderUnavailableError('the API answered 500');

    for (let i = 0; i < failuresToOpen; i++) steering.apiAnswered(down);
    const during = { isWell: steering.isWell, may: steering.mayLaunch(['small']), report: steering.report() };
    steering.apiAnswered(undefined);

    expect(during).toMatchObject({ isWell: false, may: false, report: { failing: 'calls' } });
    expect(during.report.provider).toMatchObject({ failures: failuresToOpen, error: 'the API answered 500' });
    expect(steering.mayLaunch(['small'])).toBe(true);
    expect(changes).toEqual(['open', 'closed']);
  });

  it('stays open when its API answers, and its launches fail', () => {
    const { steering, fail } = setUp();
    for (let i = 0; i < failuresToOpen; i++) fail('small', timeout());

    steering.apiAnswered(undefined);

    expect(steering.isWell).toBe(false);
  });

  it('takes no harm from calls that fail now and then', () => {
    const { steering } = setUp();

    for (let i = 0; i < 10; i++) {
      steering.apiAnswered(new ProviderUnavailableError('the connection was reset'));
      steering.apiAnswered(undefined);
    }

    expect(steering.isWell).toBe(true);
  });

  it('is probed by a launch when nobody else calls its API', () => {
    const { steering, time } = setUp();
    for (let i = 0; i < failuresToOpen; i++) steering.apiAnswered(new ProviderUnavailableError('down'));
    time.now += firstPauseMs;

    const may = steering.mayLaunch(['small']);
    steering.begin('small').ended(true);

    expect(may).toBe(true);
    expect(steering.isWell).toBe(true);
  });

  it('awaits the launches under way, of any label if all fail, as long as they are not late or over', () => {
    const { steering, fail } = setUp();
    const other = steering.begin('large');
    for (let i = 0; i < failuresToOpen; i++) fail('small', stockOut());
    const whenLabelFails = steering.isTold('small');
    for (let i = 0; i < failuresToOpen; i++) fail('small', timeout());
    const whenAllFail = steering.isTold('small');

    other.ended(false);

    expect({ whenLabelFails, whenAllFail }).toEqual({ whenLabelFails: false, whenAllFail: true });
    expect(steering.isTold('small')).toBe(false);
  });

  it('has its label probed again when the probe of the label failed for a reason of the provider', () => {
    const { steering, fail, time } = setUp();
    for (let i = 0; i < failuresToOpen; i++) fail('small', stockOut());
    time.now += firstPauseMs;

    fail('small', timeout());

    expect(steering.isWell).toBe(true);
    expect(steering.mayLaunch(['small'])).toBe(true);
  });

  it('lets another launch be the probe when the first ended for lack of quota', () => {
    const { steering, fail, time } = setUp();
    for (let i = 0; i < failuresToOpen; i++) fail('small', timeout());
    time.now += firstPauseMs;

    steering.begin('small').ended(false);

    expect(steering.mayLaunch(['small'])).toBe(true);
  });
});
