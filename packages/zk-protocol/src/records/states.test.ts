import { expect, it } from 'vitest';
import { TransitionError } from './errors.js';
import { assertNodeTransition, assertRequestTransition, isFree, isKnownNodeState } from './states.js';
import { NODE_TRANSITIONS, REQUEST_TRANSITIONS } from './states.js';
import { NODE_STATES, REQUEST_STATES, type RequestId } from './types.js';

it('allows an operator to hold a node in any state, but no new node', () => {
  for (const state of NODE_STATES) assertNodeTransition(state, 'hold', 'operator');

  expect(() => assertNodeTransition(undefined, 'hold', 'operator')).toThrow(TransitionError);
});

it('rejects a change that another actor may make, and names all of it', () => {
  expect(() => assertNodeTransition('ready', 'in-use', 'launcher')).toThrow(
    '"launcher" may not change the state of a node from "ready" to "in-use"',
  );
  expect(() => assertRequestTransition(undefined, 'pending', 'launcher')).toThrow(
    '"launcher" may not change the state of a request from "(new)" to "pending"',
  );
});

it('rejects a state that the data model does not know', () => {
  expect(isKnownNodeState('paused')).toBe(false);
  expect(() => assertNodeTransition('paused', 'in-use', 'zuul')).toThrow(TransitionError);
});

it('lets every state be reached, and every state that a launcher leaves end in removal', () => {
  const reached = (transitions: readonly { to: string | undefined }[]) => new Set(transitions.map(({ to }) => to));

  expect(NODE_STATES.filter((state) => !reached(NODE_TRANSITIONS).has(state))).toEqual([]);
  expect(REQUEST_STATES.filter((state) => !reached(REQUEST_TRANSITIONS).has(state))).toEqual([]);
  expect(NODE_TRANSITIONS.filter(({ to }) => to === undefined).map(({ from }) => from)).toEqual(['deleted']);
});

it('considers a ready node free only while it is not allocated', () => {
  expect(isFree({ state: 'ready', allocatedTo: null })).toBe(true);
  expect(isFree({ state: 'ready', allocatedTo: '200-1' as RequestId })).toBe(false);
  expect(isFree({ state: 'in-use', allocatedTo: null })).toBe(false);
});
