import { createStateMachine, done, goto, wait, type Handlers, type StateMachine } from '@nodepool/core';
import { isNodepoolError } from '@nodepool/zk-protocol';
import type { CloudClient } from '../cloud/index.js';
import type { FakeInstance } from './instance.js';
import type { PacedCall } from './paced-call.js';

/** Where a deletion stands. */
export type DeleteState =
  | { readonly name: 'start'; readonly externalId: string }
  | { readonly name: 'waiting-until-gone'; readonly externalId: string };

/** What a deletion works with. */
export interface DeleteContext {
  readonly client: CloudClient;
  /** Makes a call when its turn comes. */
  readonly call: PacedCall;
}

/** Deletes one instance and ends when the cloud no longer shows it. */
export function deleteMachine(externalId: string, context: DeleteContext): StateMachine<void, FakeInstance> {
  return createStateMachine<DeleteState, void, DeleteContext, FakeInstance>({
    name: 'delete',
    initial: { name: 'start', externalId },
    handlers: deleteHandlers,
    context,
  });
}

/** A handler for each state. */
export const deleteHandlers = {
  start: async ({ externalId }, { client, call }, run) => {
    try {
      const isGone = await call('compute.DELETE.servers', (signal) => client.remove(externalId, signal), run.signal);
      return isGone ? done() : goto({ name: 'waiting-until-gone', externalId });
    } catch (error) {
      if (isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) return done();
      throw error;
    }
  },
  'waiting-until-gone': async ({ externalId }, _context, run) =>
    (await run.instances.find(externalId)) ? wait() : done(),
} satisfies Handlers<DeleteState, void, DeleteContext, FakeInstance>;
