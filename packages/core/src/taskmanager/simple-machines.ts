import { isNodepoolError } from '@nodepool/zk-protocol';
import { LaunchError } from '../errors.js';
import { NODE_ID_TAG, PROVIDER_TAG, type Instance } from '../operations/instance.js';
import { createStateMachine } from '../operations/state-machine.js';
import { done, failed, goto, wait } from '../operations/steps.js';
import type { Handlers, MachineRun, StateMachine, Step } from '../operations/types.js';

/** The calls the machines make. */
export interface SimpleCalls {
  create(): Promise<string>;
  delete(externalId: string): Promise<void>;
}

type CreateState = { readonly name: 'start' } | { readonly name: 'waiting for instance'; readonly externalId: string };
type DeleteState = { readonly name: 'start' | 'waiting for absence'; readonly externalId: string };

interface CreateContext {
  readonly calls: Pick<SimpleCalls, 'create'>;
  readonly metadata: Readonly<Record<string, string>>;
  readonly isRepeated: boolean;
}

/** Adopts what an attempt whose answer was lost may have left, else creates. */
async function create(
  _state: CreateState,
  context: CreateContext,
  run: MachineRun,
): Promise<Step<CreateState, Instance>> {
  if (run.visits > 0 || context.isRepeated) {
    const left = (await run.instances.list()).find((instance) => isSame(instance, context.metadata));
    if (left) return goto({ name: 'waiting for instance', externalId: left.externalId });
  }
  return goto({ name: 'waiting for instance', externalId: await context.calls.create() });
}

const createHandlers = {
  start: create,
  'waiting for instance': async ({ externalId }, _context, run) => {
    const instance = await run.instances.find(externalId);
    if (!instance) return wait();
    if (instance.deleted)
      return failed(new LaunchError('status', `instance ${externalId} was deleted while it started`));
    return instance.ready ? done(instance) : wait();
  },
} satisfies Handlers<CreateState, Instance, CreateContext>;

const deleteHandlers = {
  start: async ({ externalId }, calls) => {
    try {
      await calls.delete(externalId);
    } catch (error) {
      if (isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) return done();
      throw error;
    }
    return goto({ name: 'waiting for absence', externalId });
  },
  'waiting for absence': async ({ externalId }, _calls, run) => {
    const instance = await run.instances.find(externalId);
    return !instance || instance.deleted ? done() : wait();
  },
} satisfies Handlers<DeleteState, void, Pick<SimpleCalls, 'delete'>>;

/** Creates an instance and waits until the list shows it ready. */
export function simpleCreateMachine(context: CreateContext): StateMachine<Instance> {
  return createStateMachine<CreateState, Instance, CreateContext>({
    name: 'create',
    initial: { name: 'start' },
    handlers: createHandlers,
    context,
  });
}

/** Deletes an instance and waits until the list no longer shows it. */
export function simpleDeleteMachine(externalId: string, calls: Pick<SimpleCalls, 'delete'>): StateMachine<void> {
  return createStateMachine<DeleteState, void, Pick<SimpleCalls, 'delete'>>({
    name: 'delete',
    initial: { name: 'start', externalId },
    handlers: deleteHandlers,
    context: calls,
  });
}

function isSame({ metadata, deleted }: Instance, wanted: Readonly<Record<string, string>>): boolean {
  return !deleted && metadata[NODE_ID_TAG] === wanted[NODE_ID_TAG] && metadata[PROVIDER_TAG] === wanted[PROVIDER_TAG];
}
