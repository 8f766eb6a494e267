import { describe, expect, it } from 'vitest';
import { newCanary, type Canary } from '../../images/trial.js';
import { NONE } from '../../images/rates.js';
import {
  applyCounts,
  countLaunch,
  countUses,
  isWorthStoring,
  putBackCounts,
  takeCounts,
  type CanaryCounts,
} from './canary-counts.js';

const NEW = 'b'.repeat(32);
const READY = { ready: 1, failed: 0 };
const FAILED = { ready: 0, failed: 1 };

const canary = (fields: Partial<Canary> = {}): Canary => ({
  ...newCanary({ launches: 2, stepMs: 1_000 }, 0),
  ...fields,
});

describe('counts that are not stored yet', () => {
  it('are worth storing when a decision waits for them', () => {
    const counts: CanaryCounts = new Map();
    countLaunch(counts, NEW, 'sky', READY);

    expect(isWorthStoring(counts, NEW, canary())).toBe(false);
    expect(isWorthStoring(counts, NEW, canary({ doubts: { sea: 1 } }))).toBe(false);
    expect(isWorthStoring(counts, NEW, canary({ doubts: { sky: 1 } }))).toBe(true);
  });

  it('are worth storing when nodes of the new build were given back at once, unless it was refused', () => {
    const counts: CanaryCounts = new Map();
    countUses(counts, NEW, { now: FAILED, before: NONE });

    expect(isWorthStoring(counts, NEW, canary())).toBe(true);
    expect(isWorthStoring(counts, NEW, canary({ refused: 'it never boots' }))).toBe(false);
  });

  it('are worth storing once there are twenty, of launches and uses together', () => {
    const counts: CanaryCounts = new Map();
    for (let i = 0; i < 10; i++) countLaunch(counts, NEW, 'sky', READY);
    for (let i = 0; i < 9; i++) countUses(counts, NEW, { now: NONE, before: READY });

    const before = isWorthStoring(counts, NEW, canary());
    countLaunch(counts, NEW, 'sea', FAILED);

    expect([before, isWorthStoring(counts, NEW, canary())]).toEqual([false, true]);
  });

  it('are taken once, and counted with those that follow when they could not be stored', () => {
    const counts: CanaryCounts = new Map();
    countLaunch(counts, NEW, 'sky', READY);
    countUses(counts, NEW, { now: READY, before: NONE });

    const taken = takeCounts(counts, NEW);
    const whileTaken = counts.has(NEW);
    countLaunch(counts, NEW, 'sky', FAILED);
    putBackCounts(counts, NEW, taken);

    expect(whileTaken).toBe(false);
    expect(applyCounts(takeCounts(counts, NEW), canary(), 0)).toMatchObject({
      before: { sky: { ready: 1, failed: 1 } },
      uses: { now: READY, before: NONE },
    });
  });

  it('leave nothing behind when there were none', () => {
    const counts: CanaryCounts = new Map();

    putBackCounts(counts, NEW, takeCounts(counts, NEW));

    expect(counts.has(NEW)).toBe(false);
  });
});
