import { describe, expect, it } from 'vitest';
import { newCanary, type Canary } from '../../canary/canary.js';
import { NONE } from '../../canary/rates.js';
import { applyCounts, CanaryCounts } from './canary-counts.js';

const NEW = 'b'.repeat(32);
const READY = { ready: 1, failed: 0 };
const FAILED = { ready: 0, failed: 1 };

const canary = (fields: Partial<Canary> = {}): Canary => ({
  ...newCanary({ launches: 2, stepMs: 1_000 }, 0),
  ...fields,
});

describe('counts that are not stored yet', () => {
  it('are worth telling when a decision waits for them', () => {
    const counts = new CanaryCounts();
    counts.addLaunch(NEW, 'sky', READY);

    expect(counts.isWorthTelling(NEW, canary())).toBe(false);
    expect(counts.isWorthTelling(NEW, canary({ doubts: { sea: 1 } }))).toBe(false);
    expect(counts.isWorthTelling(NEW, canary({ doubts: { sky: 1 } }))).toBe(true);
  });

  it('are worth telling when nodes of the new build were given back at once, unless it was refused', () => {
    const counts = new CanaryCounts();
    counts.addUses(NEW, { now: FAILED, before: NONE });

    expect(counts.isWorthTelling(NEW, canary())).toBe(true);
    expect(counts.isWorthTelling(NEW, canary({ refused: 'it never boots' }))).toBe(false);
  });

  it('are worth telling once there are twenty, of launches and uses together', () => {
    const counts = new CanaryCounts();
    for (let i = 0; i < 10; i++) counts.addLaunch(NEW, 'sky', READY);
    for (let i = 0; i < 9; i++) counts.addUses(NEW, { now: NONE, before: READY });

    const before = counts.isWorthTelling(NEW, canary());
    counts.addLaunch(NEW, 'sea', FAILED);

    expect([before, counts.isWorthTelling(NEW, canary())]).toEqual([false, true]);
  });

  it('are taken once, and counted with those that follow when they could not be stored', () => {
    const counts = new CanaryCounts();
    counts.addLaunch(NEW, 'sky', READY);
    counts.addUses(NEW, { now: READY, before: NONE });

    const taken = counts.take(NEW);
    const whileTaken = counts.has(NEW);
    counts.addLaunch(NEW, 'sky', FAILED);
    counts.putBack(NEW, taken);

    expect(whileTaken).toBe(false);
    expect(applyCounts(counts.take(NEW), canary(), 0)).toMatchObject({
      before: { sky: { ready: 1, failed: 1 } },
      uses: { now: READY, before: NONE },
    });
  });

  it('leave nothing behind when there were none', () => {
    const counts = new CanaryCounts();

    counts.putBack(NEW, counts.take(NEW));

    expect(counts.has(NEW)).toBe(false);
  });
});
