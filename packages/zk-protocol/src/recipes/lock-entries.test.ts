import { describe, expect, it } from 'vitest';
import { loadVectors } from '../../test/vectors.js';
import { findForceUnlockTarget, findPredecessor, newLockEntryPrefix, sortContenders } from './lock-entries.js';

describe('lock entries', () => {
  const { cases, create_prefix_regex } = loadVectors<{
    create_prefix_regex: string;
    cases: {
      children: string[];
      contenders_in_order: string[];
      force_unlock_deletes: string | null;
      own?: string;
      predecessor?: string | null;
    }[];
  }>('locks');

  it('have the name format of kazoo', () => {
    expect(newLockEntryPrefix()).toMatch(new RegExp(create_prefix_regex));
    expect(newLockEntryPrefix()).not.toBe(newLockEntryPrefix());
  });

  it.each(cases)('are sorted as by kazoo: $children', (vector) => {
    expect(sortContenders(vector.children)).toEqual(vector.contenders_in_order);
    expect(findForceUnlockTarget(vector.children) ?? null).toBe(vector.force_unlock_deletes);
    if (vector.own !== undefined) {
      expect(findPredecessor(vector.children, vector.own) ?? null).toBe(vector.predecessor);
    }
  });
});
