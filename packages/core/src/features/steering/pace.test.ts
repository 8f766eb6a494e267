import type { ZooKeeper } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { ProviderUnavailableError, TimeoutError } from '../../contract/errors.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { DEFAULT_HEALTH_LIMITS } from './health.js';
import { LAUNCHES_AT_ONCE } from './pace.js';
import { ProviderSteering } from './provider-steering.js';
import { begin as beginLaunch } from '../../../test/support/steering-at.js';
import { silentLogger } from '../../contract/logger.js';
import { LauncherEvents, type Launch } from '../../launcher/state/events.js';

const { failuresToOpen, firstPauseMs, longestPauseMs } = DEFAULT_HEALTH_LIMITS;
const USUAL_MS = 40_000;
const LATE_MS = 60_000;

/** A provider of which is known how long its machines take. */
async function setUp() {
  const clock = new VirtualClock();
  const events = new LauncherEvents();
  const zk: { state: ZooKeeper['state'] } = { state: 'CONNECTED' };
  const steering = new ProviderSteering('cloud', { clock, events, logger: silentLogger, zk });
  const changes: string[] = [];
  events.on('healthChanged', () => changes.push(steering.report().speed.state));
  const begin = () => {
    const launch = beginLaunch(steering, 'small');
    steering.instanceCreated(launch);
    return launch;
  };
  const busy: Launch[] = [];
  const runAtOnce = async (count: number, tookMs: number) => {
    const launches = Array.from({ length: count }, begin);
    await clock.advance(tookMs);
    for (const launch of launches) steering.launchEnded(launch, 'ready');
  };
  /** As many launches as are allowed, and another one for each that ends. */
  const busyRound = async (tookMs: number) => {
    while (busy.length < steering.launchLimit) busy.push(begin());
    await clock.advance(tookMs);
    for (const launch of busy.splice(0)) {
      steering.launchEnded(launch, 'ready');
      busy.push(begin());
    }
  };
  await runAtOnce(10, USUAL_MS);
  return { clock, zk, changes, steering, begin, run: (tookMs: number) => runAtOnce(1, tookMs), runAtOnce, busyRound };
}

describe('a provider whose launches take longer than usual', () => {
  it('is slow as soon as several in a row are late, long before they end', async () => {
    const { clock, changes, steering, begin } = await setUp();

    const launches = Array.from({ length: failuresToOpen }, begin);
    await clock.advance(LATE_MS - 1);
    const before = steering.isSlow;
    await clock.advance(1);

    expect([before, steering.isSlow]).toEqual([false, true]);
    expect(steering.report().speed).toMatchObject({
      state: 'failing',
      error: 'launches of "small" take longer than 60 s',
    });
    expect(changes).toEqual(['failing']);
    expect([steering.isWell, steering.mayLaunch(['small'])]).toEqual([true, true]);
    for (const launch of launches) steering.launchEnded(launch, 'ready');
    expect(steering.isSlow).toBe(true);
  });

  it('is not slow while ZooKeeper is away, for which ready nodes wait', async () => {
    const { clock, zk, changes, steering, begin } = await setUp();

    const launches = Array.from({ length: failuresToOpen }, begin);
    zk.state = 'SUSPENDED';
    await clock.advance(2 * LATE_MS);
    for (const launch of launches) steering.launchEnded(launch, 'failed');

    expect(changes).toEqual([]);
  });

  it('is not slow when one in time is between those that are late, or nothing is usual yet', async () => {
    const { clock, steering, run, begin } = await setUp();

    for (let i = 0; i < 10; i++) await run(i % failuresToOpen === 0 ? USUAL_MS : 400_000);
    for (let i = 0; i < 10; i++) steering.instanceCreated(beginLaunch(steering, 'new'));
    steering.launchEnded(begin(), 'aborted'); // given up
    await clock.advance(600_000);

    expect(steering.isSlow).toBe(false);
  });

  it('does not become what is usual within an hour', async () => {
    const { clock, steering, begin, run } = await setUp();
    Array.from({ length: failuresToOpen }, begin);
    await clock.advance(LATE_MS);
    const beganMs = clock.now();

    while (clock.now() - beganMs < 3_000_000) await run(400_000);
    Array.from({ length: failuresToOpen }, begin);
    await clock.advance(2 * LATE_MS);
    const { error } = steering.report().speed;
    for (let i = 0; i < 20; i++) await run(400_000);
    await run(400_000);

    expect(error).toBe('launches of "small" take longer than 112 s');
    expect(steering.report().speed.state).toBe('healthy');
  });

  it('is probed at growing pauses while no probe has to be waited for to its end', async () => {
    const { clock, steering, begin } = await setUp();
    Array.from({ length: failuresToOpen }, begin);
    await clock.advance(LATE_MS);
    const pauses: number[] = [];

    for (let i = 0; i < 6; i++) {
      const { nextProbeMs = 0 } = steering;
      pauses.push(nextProbeMs - clock.now());
      await clock.advance(nextProbeMs - clock.now());
      const isDue = !steering.isSlow;
      begin();
      expect([isDue, steering.isSlow]).toEqual([true, true]);
      await clock.advance(LATE_MS);
    }

    expect(pauses.slice(0, 2)).toEqual([firstPauseMs, 2 * firstPauseMs]);
    expect(Math.max(...pauses)).toBe(longestPauseMs);
  });

  // Ends: SlowLaunches Slow
  it('is well again with the first launch that takes its usual time', async () => {
    const { clock, changes, steering, begin, run } = await setUp();
    Array.from({ length: failuresToOpen }, begin);
    await clock.advance(LATE_MS + firstPauseMs);

    await run(USUAL_MS);

    expect(steering.report().speed.state).toBe('healthy');
    expect(changes).toEqual(['failing', 'probing', 'healthy']);
  });

  it('measures each attempt from its own creation', async () => {
    const { clock, steering, begin } = await setUp();
    const launches = Array.from({ length: failuresToOpen }, begin);

    for (let i = 0; i < 3; i++) {
      await clock.advance(USUAL_MS);
      for (const launch of launches) {
        steering.attemptFailed(launch, new ProviderUnavailableError('a moment'));
        steering.instanceCreated(launch);
      }
    }

    expect(steering.report().speed.failures).toBe(0);
    expect(clock.pendingTimers).toBe(failuresToOpen);
    for (const launch of launches) steering.launchEnded(launch, 'ready');
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('launches at once', () => {
  it('are twice as many with each round that takes its usual time', async () => {
    const { busyRound, steering } = await setUp();

    for (let i = 0; i < 3; i++) await busyRound(USUAL_MS);

    expect(steering.launchLimit).toBe(8 * LAUNCHES_AT_ONCE);
  });

  it('are no more than at first when so many are not wanted', async () => {
    const { steering, runAtOnce } = await setUp();

    for (let i = 0; i < 20; i++) await runAtOnce(20, USUAL_MS);

    expect(steering.launchLimit).toBe(LAUNCHES_AT_ONCE);
  });

  it('are as many as at first when the provider becomes slow', async () => {
    const { busyRound, steering } = await setUp();
    await busyRound(USUAL_MS);
    const before = steering.launchLimit;

    await busyRound(2 * USUAL_MS);

    expect([before, steering.launchLimit]).toEqual([2 * LAUNCHES_AT_ONCE, LAUNCHES_AT_ONCE]);
  });
});

it('a failing provider is probed again while a probe hangs, and works again with whichever succeeds', async () => {
  const { clock, steering, begin } = await setUp();
  const timeout = new TimeoutError('not ready within 600 s', { operation: 'create' });
  for (let i = 0; i < failuresToOpen; i++) {
    const launch = begin();
    steering.attemptFailed(launch, timeout);
    steering.launchEnded(launch, 'failed');
  }
  await clock.advance(firstPauseMs);
  const hanging = begin();
  const during = steering.mayLaunch(['small']);

  await clock.advance(LATE_MS + 2 * firstPauseMs);
  const may = steering.mayLaunch(['small']);
  const second = begin();
  await clock.advance(USUAL_MS);
  steering.launchEnded(second, 'ready');
  steering.attemptFailed(hanging, timeout);
  steering.launchEnded(hanging, 'failed');

  expect([during, may]).toEqual([false, true]);
  expect(steering.isWell).toBe(true);
});
