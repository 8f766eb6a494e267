import { createStateMachine, done, goto, wait, type Handlers, type StateMachine } from '@nodepool/core';
import { isNodepoolError } from '@nodepool/zk-protocol';
import type { PacedCall } from './cloud-call.js';
import type { FakeInstance } from './instance.js';

/** State of a deletion. */
export type DeleteState =
  | { readonly name: 'start'; readonly externalId: string }
  | { readonly name: 'waiting-until-gone'; readonly externalId: string };

/** Deletes one instance; done when the cloud no longer lists it. */
export function deleteMachine(externalId: string, call: PacedCall): StateMachine<void, FakeInstance> {
  return createStateMachine<DeleteState, void, PacedCall, FakeInstance>({
    name: 'delete',
    initial: { name: 'start', externalId },
    handlers: deleteHandlers,
    context: call,
  });
}

/** Handler of each state. */
export const deleteHandlers = {
  start: async ({ externalId }, call, run) => {
    try {
      const isGone = await call('compute.DELETE.servers', 'remove', externalId, run.signal);
      return isGone ? done() : goto({ name: 'waiting-until-gone', externalId });
    } catch (error) {
      if (isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) return done();
      throw error;
    }
  },
  'waiting-until-gone': async ({ externalId }, _call, run) =>
    (await run.instances.find(externalId)) ? wait() : done(),
} satisfies Handlers<DeleteState, void, PacedCall, FakeInstance>;
