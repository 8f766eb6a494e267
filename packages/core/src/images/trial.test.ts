import { newBuild } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import {
  afterLaunch,
  afterPrevious,
  afterUses,
  canaryOf,
  fault,
  isInService,
  newCanary,
  shareOf,
  withCanary,
  withoutCanary,
  withoutProbe,
  withProbe,
  type Canary,
} from './trial.js';

const STEP_MS = 3_600_000;
const BEGUN = newCanary({ launches: 2, stepMs: STEP_MS }, 0);
const OK = { ready: 1, failed: 0 };
const BAD = { ready: 0, failed: 1 };
const works = (canary: Canary, nowMs = 0) =>
  afterLaunch(canary, { node: 'n', provider: 'sky', error: undefined }, nowMs);
const fails = (canary: Canary, provider = 'sky', nowMs = 0) =>
  afterLaunch(canary, { node: 'n', provider, error: 'no boot' }, nowMs);
/** Fails where the previous build then works. */
const failsAlone = (canary: Canary) => afterPrevious(fails(canary), 'sky', OK, 0);
const times = (count: number, step: (canary: Canary) => Canary, from: Canary) =>
  Array.from({ length: count }).reduce<Canary>(step, from);

/** As another launcher reads it. */
function stored(canary: Canary, nowMs: number): Canary | undefined {
  const build = newBuild({ image: 'debian', id: 'a' }, { state: 'ready' }, 0);
  return canaryOf(withCanary(build, canary), nowMs);
}

describe('a new build', () => {
  it('is tried with one launch at a time until a node is ready, then with 5, 25 and 100 % of them', () => {
    expect(shareOf(BEGUN, 'sky')).toBe('probe');
    const shares = [1, 2, 3, 4, 5].map((count) => times(count, works, BEGUN).share);

    expect(shares).toEqual([5, 5, 25, 25, 100]);
    expect(shareOf(times(5, works, BEGUN), 'sky')).toBe(100);
  });

  it('gets its share by time where there are few launches, once a node was ready', () => {
    const tried = works(BEGUN, 1_000);

    expect(stored(BEGUN, 1e12)?.share).toBe(0);
    expect(stored(tried, STEP_MS)?.share).toBe(5);
    expect(stored(tried, STEP_MS + 1_000)?.share).toBe(25);
    expect(stored(tried, 2 * STEP_MS + 1_000)?.share).toBe(100);
  });

  it('is tried with one launch in each provider, also when it is in service elsewhere', () => {
    const proven = times(5, works, BEGUN);
    const elsewhere = fails(proven, 'sea');

    expect([shareOf(works(BEGUN), 'sea'), shareOf(proven, 'sea')]).toEqual(['probe', 'probe']);
    expect([shareOf(elsewhere, 'sea'), shareOf(elsewhere, 'sky')]).toEqual([0, 100]);
    const failsInSea = (canary: Canary) => afterPrevious(fails(canary, 'sea'), 'sea', OK, 0);
    expect(fault(times(4, failsInSea, proven))).toBeUndefined();
    expect(fault(times(5, failsInSea, proven))).toContain('5 of 10 launches failed, of the build before it 0 of 5');
  });

  it('is restored unchanged from its record', () => {
    const canary = withProbe(failsAlone(works(BEGUN, 1_000)), '0000000007', 2_000);

    expect(stored(canary, 2_000)).toEqual(canary);
    expect(withoutProbe(canary, 'another')).toBe(canary);
    expect(withoutProbe(canary, '0000000007').probe).toBeUndefined();
  });

  it('is in service everywhere without its trial', () => {
    const build = withCanary(newBuild({ image: 'debian', id: 'a' }, { state: 'ready' }, 0), failsAlone(BEGUN));

    expect(isInService(build, 0)).toBe(false);
    expect(isInService(withoutCanary(build), 0)).toBe(true);
    expect(withoutCanary(withoutCanary(build))).toEqual(withoutCanary(build));
  });

  it('starts again if its record has an unknown form', () => {
    const build = newBuild({ image: 'debian', id: 'a' }, { state: 'ready' }, 0);

    expect(canaryOf({ ...build, raw: { canary: { share: 'all', now: 3, doubts: [] } } }, 5)?.share).toBe(0);
    expect(canaryOf({ ...build, raw: { canary: 'yes' } }, 5)).toBeUndefined();
  });
});

describe('a failure of a new build', () => {
  it('stops its launches until the previous build has been launched in that provider', () => {
    const doubted = fails(works(BEGUN));

    expect(shareOf(doubted, 'sky')).toBe(0);
    expect(shareOf(afterPrevious(doubted, 'other', OK, 0), 'sky')).toBe(0);
    expect(afterPrevious(doubted, 'sky', OK, 0)).toMatchObject({ now: { sky: { ready: 1, failed: 1 } }, doubts: {} });
    expect(shareOf(afterPrevious(doubted, 'sky', OK, 0), 'sky')).toBe(5);
  });

  it('does not count when the previous build fails as well', () => {
    const after = times(10, (canary) => afterPrevious(fails(canary), 'sky', BAD, 0), BEGUN);

    expect(after).toMatchObject({ now: {}, before: {} });
    expect(shareOf(after, 'sky')).toBe('probe');
    expect(fault(after)).toBeUndefined();
  });

  it('is forgotten when nothing is launched there any more', () => {
    const doubted = fails(BEGUN, 'gone', 5_000);

    expect(shareOf(stored(doubted, 5_000 + STEP_MS - 1) ?? doubted, 'gone')).toBe(0);
    expect(stored(doubted, 5_000 + STEP_MS)).toMatchObject({ doubts: {}, now: {}, share: 0 });
  });

  it('condemns it when chance does not explain the failures, and states the probability', () => {
    expect(fault(times(4, failsAlone, BEGUN))).toBeUndefined();
    expect(fault(times(5, failsAlone, BEGUN))).toBe(
      '5 of 5 launches failed, of the build before it 0 of 5; ' +
        'chance explains that with a probability of 0.40 %; the last error was: no boot',
    );
    const busy = afterPrevious(BEGUN, 'sky', { ready: 20, failed: 0 }, 0);
    expect(fault(times(2, failsAlone, busy))).toBeUndefined();
    expect(fault(times(3, failsAlone, busy))).toContain('with a probability of 0.04 %');
  });

  it('does not condemn it for a cloud in which half of all launches fail', () => {
    const flaky = afterPrevious(BEGUN, 'sky', { ready: 4, failed: 5 }, 0);

    expect(fault(times(3, failsAlone, flaky))).toBeUndefined();
  });

  it('does not condemn it for a provider in which each build fails often', () => {
    const elsewhere = afterPrevious(BEGUN, 'sea', { ready: 200, failed: 0 }, 0);
    const flaky = afterPrevious(elsewhere, 'sky', { ready: 4, failed: 5 }, 0);

    expect(fault(times(3, failsAlone, flaky))).toBeUndefined();
  });

  it('condemns it when its nodes are returned at once more often than those of the previous build', () => {
    const of = (now: [number, number], before: [number, number]) => ({
      now: { ready: now[0], failed: now[1] },
      before: { ready: before[0], failed: before[1] },
    });

    expect(fault(afterUses(works(BEGUN), of([2, 3], [20, 20])))).toBeUndefined();
    expect(fault(afterUses(afterUses(works(BEGUN), of([1, 2], [40, 1])), of([0, 1], [5, 0])))).toBe(
      '3 of 4 nodes were given back at once, of the build before it 1 of 46; ' +
        'chance explains that with a probability of 0.08 %',
    );
  });

  it('condemns it when it fails more often than the previous build, and not otherwise', () => {
    const tried = { ...times(3, works, BEGUN), before: { sky: { ready: 200, failed: 2 } } };
    const flaky = { ...tried, now: { sky: { ready: 40, failed: 0 } }, before: { sky: { ready: 180, failed: 20 } } };

    expect(fault(times(3, failsAlone, tried))).toContain('3 of 6 launches failed, of the build before it 2 of 205');
    expect(fault(times(4, failsAlone, flaky))).toBeUndefined();
  });
});
