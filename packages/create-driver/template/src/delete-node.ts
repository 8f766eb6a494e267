import {
  createStateMachine,
  done,
  goto,
  isNodepoolError,
  wait,
  type Handlers,
  type StateMachine,
} from '@nodepool/core';
import type { CloudClient } from './client.js';
import type { TemplateInstance } from './instance.js';

/** State of a deletion. */
type DeleteState =
  | { readonly name: 'start'; readonly externalId: string }
  | { readonly name: 'waiting-until-gone'; readonly externalId: string };

interface DeleteContext {
  readonly client: CloudClient;
}

/** Deletes one machine and completes when the cloud no longer lists it. */
export function deleteMachine(client: CloudClient, externalId: string): StateMachine<void, TemplateInstance> {
  return createStateMachine<DeleteState, void, DeleteContext, TemplateInstance>({
    name: 'delete',
    initial: { name: 'start', externalId },
    handlers,
    context: { client },
  });
}

const handlers = {
  start: async ({ externalId }, { client }, run) => {
    try {
      await client.delete(externalId, run.signal);
    } catch (error) {
      if (isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) return done();
      throw error;
    }
    return goto({ name: 'waiting-until-gone', externalId });
  },
  'waiting-until-gone': async ({ externalId }, _context, run) =>
    (await run.instances.find(externalId)) ? wait() : done(),
} satisfies Handlers<DeleteState, void, DeleteContext, TemplateInstance>;
