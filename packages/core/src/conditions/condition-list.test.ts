import { describe, expect, it } from 'vitest';
import type { FoundCondition } from '../contract/condition.js';
import { ConditionList } from './condition-list.js';

const failing = (name: string, message = 'no route'): FoundCondition => ({
  ...{ kind: 'provider', name, type: 'LaunchesFail', severity: 'error', reason: 'Unreachable', message },
  ...{ nextStep: 'look', evidence: {} },
});
const slow = (name: string): FoundCondition => ({
  ...{ ...failing(name, 'slow'), type: 'SlowLaunches', severity: 'warning', reason: 'Slow', nextStep: '' },
});

describe('ConditionList', () => {
  it('starts a condition with its cause and ends it with the cause', () => {
    const list = new ConditionList();

    const first = list.update([failing('sky')], 1_000);
    const second = list.update([failing('sky')], 2_000);
    const third = list.update([], 3_000);

    expect(first.began).toMatchObject([{ name: 'sky', status: 'true', severity: 'error', sinceMs: 1_000 }]);
    expect(second).toEqual({ began: [], ended: [], hasChanged: false });
    expect(third.ended).toMatchObject([{ name: 'sky', sinceMs: 1_000, lastSeenMs: 2_000 }]);
    expect(third.hasChanged).toBe(true);
    expect(list.all).toEqual([]);
  });

  it('keeps since when something is wrong while its message changes', () => {
    const list = new ConditionList();
    list.update([failing('sky')], 1_000);

    const { began, hasChanged } = list.update([failing('sky', 'quota')], 5_000);

    expect({ began, hasChanged }).toEqual({ began: [], hasChanged: true });
    expect(list.all).toMatchObject([{ message: 'quota', sinceMs: 1_000, lastSeenMs: 5_000 }]);
  });

  it('shows an old error with its age', () => {
    const list = new ConditionList();

    list.update([{ ...failing('sky'), sinceMs: 100, lastSeenMs: 200 }], 9_000);

    expect(list.all).toMatchObject([{ sinceMs: 100, lastSeenMs: 200 }]);
  });

  it('has one condition of a type for each subject, errors first', () => {
    const list = new ConditionList();

    list.update([slow('a'), failing('b'), failing('b', 'again'), failing('a')], 0);

    expect(list.all.map(({ name, type, message }) => `${type} ${name} ${message}`)).toEqual([
      'LaunchesFail a no route',
      'LaunchesFail b no route',
      'SlowLaunches a slow',
    ]);
  });

  it('states how many it omits, omits errors last, and cuts long messages', () => {
    const list = new ConditionList();
    const nodes = Array.from({ length: 120 }, (_, index) => ({ ...slow(`p${index}`), message: 'x'.repeat(900) }));

    list.update([...nodes, failing('sky')], 0, 'nl01');

    expect(list.all).toHaveLength(100);
    expect(list.all[0]).toMatchObject({ name: 'sky' });
    expect(list.all.at(-1)).toMatchObject({
      type: 'ConditionsLeftOut',
      name: 'nl01',
      message: '22 further conditions are left out',
    });
    expect(list.all[1]?.message).toHaveLength(500);
  });
});
