import { describe, expect, it } from 'vitest';
import { ComputeBudget } from './compute-budget.js';

describe('ComputeBudget', () => {
  it('refuses dear answers once they took more than a quarter of the time, and allows them again later', () => {
    let [nowMs, spentMs] = [0, 0];
    const budget = new ComputeBudget({ now: () => nowMs, setTimer: () => () => {} }, () => spentMs);
    const dear = () => budget.spend(() => (spentMs += 100));
    const answered = Array.from({ length: 10 }, dear).filter(Boolean).length;
    nowMs += 60_000;
    const later = dear();

    expect(answered).toBe(5);
    expect(later).toBeDefined();
  });

  it('hardly ever refuses cheap ones', () => {
    let [nowMs, spentMs] = [0, 0];
    const budget = new ComputeBudget({ now: () => nowMs, setTimer: () => () => {} }, () => spentMs);

    for (let call = 0; call < 1_000; call++) {
      nowMs += 10;
      expect(budget.spend(() => (spentMs += 2))).toBeDefined();
    }
  });
});
