import { expect, it } from 'vitest';
import { usagePhase } from './usage-phase.js';

it.each([
  ['building', false, 'boot'],
  ['building', true, 'boot'],
  ['ready', false, 'standby'],
  ['ready', true, 'use'],
  ['in-use', true, 'use'],
  ['hold', true, 'hold'],
])('a node in state %s begins a phase (allocated: %s)', (state, isAllocated, phase) => {
  expect(usagePhase(state, isAllocated, false)).toBe(phase);
});

it('the nodes of a lease are in use, and a node that is deleted stays in its phase', () => {
  expect(usagePhase('hold', false, true)).toBe('use');
  expect(['init', 'used', 'deleting', 'failed', 'unheard-of'].map((state) => usagePhase(state, true, false))).toEqual(
    Array(5).fill(undefined),
  );
});
