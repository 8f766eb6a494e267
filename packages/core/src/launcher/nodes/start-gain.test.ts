import type { RequestId } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { LauncherEvents } from '../state/events.js';
import { StartGain } from './start-gain.js';

function setUp() {
  const clock = new VirtualClock();
  const events = new LauncherEvents();
  let aheadMs = 0;
  const setTimer = clock.setTimer.bind(clock);
  const own = { now: () => clock.now() + aheadMs, steadyNow: () => clock.steadyNow(), setTimer };
  const gain = new StartGain({ clock: own, events });
  const place = { provider: 'p', pool: 'main', label: 'a', request: '200-0000000001' as RequestId };
  const pass = async (seconds: number, kind: { isStart?: boolean; isResumed?: boolean } = {}) => {
    const launch = { ...place, need: { instances: 1 }, ...kind };
    events.emit('launchPlaced', { launch, zone: null });
    await clock.advance(seconds * 1000);
    events.emit('launchEnded', { launch, state: 'ready' });
  };
  return {
    ...{ clock, gain, setClock: (byMs: number) => (aheadMs += byMs) },
    launch: (...seconds: number[]) => seconds.reduce((last, s) => last.then(() => pass(s)), Promise.resolve()),
    resume: (seconds: number) => pass(seconds, { isResumed: true }),
    start: (...seconds: number[]) =>
      seconds.reduce((last, s) => last.then(() => pass(s, { isStart: true, isResumed: true })), Promise.resolve()),
    whyNot: () => gain.whyNot('p', 'a'),
  };
}

it('lets nodes be stopped while starting one is much faster than launching one', async () => {
  const { launch, start, whyNot } = setUp();

  await launch(100, 120);
  await start(5, 90, 7, 6);

  expect(whyNot()).toBeUndefined();
});

it('stops no more where starting one takes as long, with the reason, and tries again after a day', async () => {
  const { launch, start, whyNot, clock } = setUp();
  await launch(100);

  await start(85, 90);
  const after2 = whyNot();
  await start(95);
  const after3 = whyNot();
  await clock.advance(86_400_000);

  expect(after2).toBeUndefined();
  expect(after3).toMatch(/^until \d{4}-\d\d-\d\d \d\d:\d\d UTC: starting one takes 90.0 s, launching one 100.0 s$/);
  expect(whyNot()).toBeUndefined();
});

it('stops no more for a day when the clock is set', async () => {
  const { launch, start, whyNot, clock, setClock } = setUp();
  await launch(100);
  await start(95, 95, 95);

  setClock(2 * 86_400_000);
  const after = whyNot();
  setClock(-4 * 86_400_000);
  await clock.advance(86_400_000);

  expect(after).toContain('starting one takes 95.0 s');
  expect(whyNot()).toBeUndefined();
});

it('learns nothing from launches that another launcher began', async () => {
  const { launch, resume, start, whyNot } = setUp();
  await launch(100);

  await resume(1);
  await start(20, 20, 20);

  expect(whyNot()).toBeUndefined();
});
