import {
  createStateMachine,
  done,
  failed,
  goto,
  NotFoundError,
  wait,
  type Handlers,
  type MachineRun,
  type StateMachine,
  type Step,
} from '@nodepool/core';
import type { CreateState } from './create-node.js';
import { waitFor, type DeleteContext } from './delete-node.js';
import { errorOfOperation, InstanceBusyError } from './errors.js';
import type { IncusInstance } from './instance.js';

/** State of a stop. */
export type StopState =
  | ({ readonly name: 'start' } & Target)
  | ({ readonly name: 'stopping'; readonly force: boolean } & Target)
  | ({ readonly name: 'waiting-for-stop'; readonly operation: string; readonly force: boolean } & Target)
  /** Another operation is running, perhaps the stop of a launcher that is gone. */
  | ({ readonly name: 'busy' } & Target);

interface Target {
  readonly externalId: string;
}

type StopStep = Step<StopState, CreateState>;
type Run = MachineRun<IncusInstance>;
type Waiting = Extract<StopState, { readonly operation: string }>;

const BUSY_PAUSE_MS = 500;

/** Stops one instance, by force if it does not end; the result is the state of its creation that starts it again. */
export function stopMachine(externalId: string, context: DeleteContext): StateMachine<CreateState, IncusInstance> {
  return createStateMachine<StopState, CreateState, DeleteContext, IncusInstance>({
    name: 'stop',
    initial: { name: 'start', externalId },
    handlers: stopHandlers,
    context,
  });
}

/** Handler of each state. */
export const stopHandlers = {
  start: async ({ externalId }, context, run) => {
    const found = await context.own(externalId, run.signal);
    if (found?.attempt === undefined) return failed(new NotFoundError(`instance "${externalId}" does not exist`));
    if (found.status !== 'Stopped') return goto<StopState>({ name: 'stopping', externalId, force: false });
    return done({ name: 'starting', externalId, attempt: found.attempt });
  },
  stopping: stop,
  'waiting-for-stop': waitForStop,
  busy: ({ externalId }, _context, run) =>
    run.visits === 0 ? wait(BUSY_PAUSE_MS) : goto<StopState>({ name: 'start', externalId }),
} satisfies Handlers<StopState, CreateState, DeleteContext, IncusInstance>;

async function stop(
  { externalId, force }: Extract<StopState, { name: 'stopping' }>,
  { client }: DeleteContext,
  run: Run,
): Promise<StopStep> {
  try {
    const { id } = await (force
      ? client.stopInstance(externalId, run.signal)
      : client.shutDown(externalId, run.signal));
    return goto<StopState>({ name: 'waiting-for-stop', externalId, operation: id, force });
  } catch (error) {
    if (error instanceof InstanceBusyError) return goto<StopState>({ name: 'busy', externalId });
    throw error;
  }
}

async function waitForStop(state: Waiting, context: DeleteContext, run: Run): Promise<StopStep> {
  const { externalId, operation } = state;
  const result = await context.operations.result(operation, run.visits > 0, run.signal);
  if (result === 'running') return waitFor(state, context);
  const error = result === 'forgotten' ? undefined : errorOfOperation(`stop of "${externalId}"`, result);
  if (!error) return goto<StopState>({ name: 'start', externalId });
  if (error instanceof InstanceBusyError) return goto<StopState>({ name: 'busy', externalId });
  if (state.force) return failed(error);
  run.logger.info('Instance does not end by itself; stopping it by force', { externalId, error });
  return goto<StopState>({ name: 'stopping', externalId, force: true });
}
