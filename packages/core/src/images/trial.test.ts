import { newBuild } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import {
  afterLaunches,
  faultOf,
  isInService,
  launchesIn,
  NEW_TRIAL,
  NO_LAUNCHES,
  trialOf,
  withoutTrial,
  withTrial,
} from './trial.js';

const counts = (ready: number, failed: number) => ({ ready, failed });
const build = newBuild({ image: 'debian', id: 'a' }, { state: 'ready' }, 0);
const failedTwice = afterLaunches(NEW_TRIAL, 'sky', { now: counts(0, 2), before: counts(2, 1), error: 'no boot' });

/** After how many failures in a row a build is withdrawn beside these launches of the build before it. */
function withdrawnAfter(ready: number, failed: number): number {
  for (let n = 1; ; n++) if (faultOf({ now: counts(0, n), before: counts(ready, failed) }) !== undefined) return n;
}

/**
 * Probability that a good build is withdrawn in a cloud where this share of launches fails, if nothing else is launched there. Each
 * try succeeds, which ends the trial, or is followed by an attempt with the build before it.
 */
function mistaken(share: number): number {
  const known = new Map<string, number>();
  const from = (failed: number, shared: number): number => {
    if (faultOf({ now: counts(0, failed), before: counts(failed, shared) }) !== undefined) return 1;
    if (failed + shared > 200) return 0;
    const at = `${failed} ${shared}`;
    const found =
      known.get(at) ?? share * (1 - share) * from(failed + 1, shared) + share ** 2 * from(failed, shared + 1);
    known.set(at, found);
    return found;
  };
  return from(0, 0);
}

describe('a new build whose launches all fail', () => {
  it.each([
    ['3 of 3 if those of the build before it succeed', 6, 0, 3],
    ['3 of 3 where few fail', 190, 10, 3],
    ['4 of 4 if it was launched only beside each failure', 4, 0, 4],
    ['7 of 7 where half of them fail', 100, 100, 7],
    ['9 of 9 where 59 % fail', 82, 118, 9],
    ['7 of 7 if nothing is known', 0, 0, 7],
    ['9 of 9 where 60 % fail', 80, 120, 9],
    ['9 of 9 where nine of ten fail', 200, 1_800, 9],
  ])('is withdrawn after %s', (_, ready, failed, expected) => {
    expect(withdrawnAfter(ready, failed)).toBe(expected);
  });

  it('is not withdrawn for the state of a cloud in one trial of a hundred', () => {
    for (const share of [0.01, 0.05, 0.2, 0.5, 0.6, 0.8, 0.9]) expect(mistaken(share)).toBeLessThan(0.01);
  });

  it('is withdrawn with both counts and the probability', () => {
    expect(faultOf({ now: counts(0, 3), before: counts(20, 0) })).toBe(
      '3 of 3 launches failed, of the build before it 0 of 20; chance explains that with a probability of 0.06 %',
    );
    expect(faultOf({ now: counts(0, 5), before: counts(20, 0) })).toContain('a probability of less than 0.01 %');
  });
});

it('one launch that succeeds keeps a build, however many fail', () => {
  expect(faultOf({ now: counts(1, 500), before: counts(500, 0) })).toBeUndefined();
});

describe('the trial in the record of a build', () => {
  it('is read as it was stored, and counts each provider by itself', () => {
    const more = afterLaunches(failedTwice, 'sea', { now: counts(1, 0), before: NO_LAUNCHES, error: null });
    const stored = trialOf(withTrial(build, more)) ?? expect.fail();

    expect(stored).toEqual(more);
    expect(launchesIn(stored, 'sky')).toEqual({ now: counts(0, 2), before: counts(2, 1) });
    expect(launchesIn(stored, 'air')).toEqual({ now: NO_LAUNCHES, before: NO_LAUNCHES });
    expect(stored.error).toBe('no boot');
  });

  it('is over once a node is ready, or without it', () => {
    const tried = withTrial(build, failedTwice);
    const proven = afterLaunches(failedTwice, 'sea', { now: counts(1, 0), before: NO_LAUNCHES, error: null });

    const ready = withTrial(build, proven);
    expect([build, tried, ready].map((one) => isInService(one))).toEqual([true, false, true]);
    expect(['sea', 'sky'].map((provider) => isInService(ready, provider))).toEqual([true, false]);
    expect(withoutTrial(tried)).toEqual(build);
  });

  it('reads as nothing where it has an unknown form', () => {
    expect(trialOf({ raw: { canary: { now: 3, before: { sky: [] }, error: 7 } } })).toEqual({
      ...NEW_TRIAL,
      before: { sky: NO_LAUNCHES },
    });
    expect(trialOf({ raw: { canary: 'yes' } })).toBeUndefined();
  });

  // they have shares in percent, doubts, and a probe over all launchers
  it('is shared with former releases: what they note stays, and they read what they need', () => {
    const theirs = { doubts: { sky: 1 }, probe: { node: '7', since: 5 }, launches: 9, step_time: 60, since: 4 };
    const known = { ...build, raw: { canary: { ...theirs, share: 5, now: { sky: counts(1, 0) }, refused: null } } };

    const next = afterLaunches(trialOf(known) ?? expect.fail(), 'sea', {
      now: counts(0, 1),
      before: NO_LAUNCHES,
      error: 'x',
    });

    expect(isInService(known)).toBe(true);
    expect(withTrial(known, next).raw['canary']).toEqual({
      ...{ ...theirs, share: 100, refused: null, error: 'x' },
      ...{ now: { sky: counts(1, 0), sea: counts(0, 1) }, before: { sea: NO_LAUNCHES } },
    });
    expect(withTrial(build, NEW_TRIAL).raw['canary']).toEqual({
      ...{ share: 0, launches: 5, step_time: 3_600, now: {}, before: {}, error: null },
    });
  });
});
