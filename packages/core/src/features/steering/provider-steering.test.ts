import { describe, expect, it } from 'vitest';
import {
  CapacityError,
  NotFoundError,
  ProviderUnavailableError,
  QuotaError,
  TimeoutError,
} from '../../contract/errors.js';
import { begin, fail, newLaunch, steeringAt } from '../../../test/support/steering-at.js';
import { silentLogger } from '../../contract/logger.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { LauncherEvents } from '../../launcher/state/events.js';
import { DEFAULT_HEALTH_LIMITS } from './health.js';
import { ProviderSteering } from './provider-steering.js';

const { failuresToOpen, firstPauseMs } = DEFAULT_HEALTH_LIMITS;
const timeout = () => new TimeoutError('not ready within 60 s', { operation: 'create' });
const stockOut = () => new CapacityError('no valid host was found');

function setUp() {
  const time = { now: 1_000_000 };
  const events = new LauncherEvents();
  const steering = steeringAt(() => time.now, events);
  const changes: string[] = [];
  events.on('healthChanged', () => changes.push(steering.report().provider.state));
  return { time, changes, steering };
}

describe('what launches show of a provider', () => {
  it('stops all its labels when it fails for reasons of the cloud', () => {
    const { steering, changes, time } = setUp();

    for (let i = 0; i < failuresToOpen; i++) fail(steering, 'small', timeout());

    expect(steering.isWell).toBe(false);
    expect(['small', 'big'].map((label) => steering.mayLaunch([label]))).toEqual([false, false]);
    expect(steering.nextProbeMs).toBe(time.now + firstPauseMs);
    expect(changes).toEqual(['failing']);
  });

  it('stops a label alone when there is no capacity for it', () => {
    const { steering } = setUp();

    for (let i = 0; i < failuresToOpen; i++) fail(steering, 'big', stockOut());

    expect(steering.isWell).toBe(true);
    expect(['small', 'big'].map((label) => steering.mayLaunch([label]))).toEqual([true, false]);
    expect(steering.report().labels.map(({ label, health }) => [label, health.error])).toEqual([
      ['big', 'no valid host was found'],
    ]);
  });

  it('is not changed by quota', () => {
    const { steering } = setUp();

    for (let i = 0; i < 10; i++) fail(steering, 'small', new QuotaError('cores'));

    expect(steering.mayLaunch(['small'])).toBe(true);
    expect(steering.report().provider.failures).toBe(0);
  });

  it('is not changed by what the cloud does not have, which is reported of the label until a launch works', () => {
    const { steering } = setUp();

    for (let i = 0; i < failuresToOpen; i++) fail(steering, 'small', new NotFoundError('no such network'));

    expect([steering.isWell, steering.mayLaunch(['small'])]).toEqual([true, true]);
    expect(steering.report().doubted).toMatchObject([
      { label: 'small', health: { state: 'healthy', failures: failuresToOpen, reason: 'NotFound' } },
    ]);
    const launch = begin(steering, 'small');
    steering.launchEnded(launch, 'ready');
    expect(steering.report().doubted).toEqual([]);
  });

  it('lets one launch through when it is time, and all when that one is ready', () => {
    const { steering, time, changes } = setUp();
    for (let i = 0; i < failuresToOpen; i++) fail(steering, 'small', timeout());
    time.now += firstPauseMs;

    const probe = begin(steering, 'small');
    const during = steering.mayLaunch(['small']);
    steering.launchEnded(probe, 'ready');

    expect(during).toBe(false);
    expect(steering.mayLaunch(['small'])).toBe(true);
    expect(changes).toEqual(['failing', 'healthy']);
  });

  it('stops all its labels when its API fails while nothing is launched, until it answers again', () => {
    const { steering, changes } = setUp();
    const down = new ProviderUnavailableError('the API answered 500');

    for (let i = 0; i < failuresToOpen; i++) steering.apiAnswered(down);
    const during = { isWell: steering.isWell, may: steering.mayLaunch(['small']), report: steering.report() };
    steering.apiAnswered(undefined);

    expect(during).toMatchObject({ isWell: false, may: false, report: { failing: 'calls' } });
    expect(during.report.provider).toMatchObject({ failures: failuresToOpen, error: 'the API answered 500' });
    expect(steering.mayLaunch(['small'])).toBe(true);
    expect(changes).toEqual(['failing', 'healthy']);
  });

  it('still fails when its API answers, and its launches fail', () => {
    const { steering } = setUp();
    for (let i = 0; i < failuresToOpen; i++) fail(steering, 'small', timeout());

    steering.apiAnswered(undefined);

    expect(steering.isWell).toBe(false);
  });

  it('tolerates occasional failures of calls', () => {
    const { steering } = setUp();

    for (let i = 0; i < 10; i++) {
      steering.apiAnswered(new ProviderUnavailableError('the connection was reset'));
      steering.apiAnswered(undefined);
    }

    expect(steering.isWell).toBe(true);
  });

  it('is probed by a launch when nothing else calls its API', () => {
    const { steering, time } = setUp();
    for (let i = 0; i < failuresToOpen; i++) steering.apiAnswered(new ProviderUnavailableError('down'));
    time.now += firstPauseMs;

    const may = steering.mayLaunch(['small']);
    steering.launchEnded(begin(steering, 'small'), 'ready');

    expect(may).toBe(true);
    expect(steering.isWell).toBe(true);
  });

  it('awaits the launches in progress, of any label if all fail, unless they are late or have ended', () => {
    const { steering } = setUp();
    const other = begin(steering, 'large');
    for (let i = 0; i < failuresToOpen; i++) fail(steering, 'small', stockOut());
    const whenLabelFails = steering.isProbed('small');
    for (let i = 0; i < failuresToOpen; i++) fail(steering, 'small', timeout());
    const whenAllFail = steering.isProbed('small');

    steering.launchEnded(other, 'failed');

    expect({ whenLabelFails, whenAllFail }).toEqual({ whenLabelFails: false, whenAllFail: true });
    expect(steering.isProbed('small')).toBe(false);
  });

  it('has its label probed again when the probe of the label failed for a reason of the provider', () => {
    const { steering, time } = setUp();
    for (let i = 0; i < failuresToOpen; i++) fail(steering, 'small', stockOut());
    time.now += firstPauseMs;

    fail(steering, 'small', timeout());

    expect(steering.isWell).toBe(true);
    expect(steering.mayLaunch(['small'])).toBe(true);
  });

  it('lets another launch be the probe when the first ended for lack of quota', () => {
    const { steering, time } = setUp();
    for (let i = 0; i < failuresToOpen; i++) fail(steering, 'small', timeout());
    time.now += firstPauseMs;

    steering.launchEnded(begin(steering, 'small'), 'aborted');

    expect(steering.mayLaunch(['small'])).toBe(true);
  });

  it('stops a label alone that fails while another one works, also if the provider seemed to fail first', () => {
    const { steering, time } = setUp();
    for (let i = 0; i < failuresToOpen; i++) fail(steering, 'broken', timeout());
    const first = { isWell: steering.isWell, order: ['broken', 'sound'].sort((a, b) => steering.compareProbes(a, b)) };
    time.now += firstPauseMs;

    steering.launchEnded(begin(steering, 'sound'), 'ready');
    for (let i = 0; i < 10; i++) fail(steering, 'broken', timeout());

    expect(first).toEqual({ isWell: false, order: ['sound', 'broken'] });
    expect(steering.isWell).toBe(true);
    expect(['broken', 'sound'].map((label) => steering.mayLaunch([label]))).toEqual([false, true]);
  });

  it('fails as a whole when several labels fail, of which each worked before', () => {
    const { steering, time } = setUp();
    for (const label of ['a', 'b']) steering.launchEnded(begin(steering, label), 'ready');

    for (let i = 0; i < failuresToOpen; i++) fail(steering, i % 2 === 0 ? 'a' : 'b', timeout());
    time.now += firstPauseMs;
    fail(steering, 'a', timeout());

    expect(steering.isWell).toBe(false);
    expect(['a', 'b', 'c'].sort((a, b) => steering.compareProbes(a, b))).toEqual(['c', 'b', 'a']);
  });

  it('is probed by no launch that was made for lack of an alternative, which may heal it all the same', () => {
    const { steering, time } = setUp();
    for (let i = 0; i < failuresToOpen; i++) fail(steering, 'small', timeout());
    time.now += firstPauseMs;

    const only = { ...newLaunch('small'), isLastResort: true };
    steering.launchBegun(only);
    const during = [steering.isProbeDue(['big']), steering.isProbed('big')];
    steering.launchEnded(only, 'ready');

    expect(during).toEqual([true, false]);
    expect(steering.isWell).toBe(true);
  });

  it('does not wait for the end of a probe of a label without a usual time', async () => {
    const clock = new VirtualClock();
    const steering = new ProviderSteering('cloud', {
      ...{ clock, events: new LauncherEvents(), logger: silentLogger, zk: { state: 'CONNECTED' } },
    });
    for (let i = 0; i < failuresToOpen; i++) fail(steering, 'small', timeout());
    await clock.advance(firstPauseMs);

    begin(steering, 'small');
    await clock.advance(119_000);
    const early = steering.isProbed('small');
    await clock.advance(2 * firstPauseMs + 2_000);

    expect([early, steering.isProbed('small'), steering.isProbeDue(['small'])]).toEqual([true, false, true]);
    steering.close();
  });
});
