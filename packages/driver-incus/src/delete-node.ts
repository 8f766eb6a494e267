import {
  createStateMachine,
  done,
  goto,
  isNodepoolError,
  ProviderUnavailableError,
  wait,
  type Handlers,
  type MachineRun,
  type StateMachine,
  type Step,
} from '@nodepool/core';
import type { ApiOperation } from './api.js';
import type { IncusClient } from './client.js';
import { errorOfOperation, InstanceBusyError } from './errors.js';
import type { IncusInstance } from './instance.js';
import type { Operations } from './operations.js';

/** State of a deletion. */
export type DeleteState =
  | ({ readonly name: 'start' } & Target)
  | ({ readonly name: 'stopping' } & Target)
  | ({ readonly name: 'waiting-for-stop'; readonly operation: string } & Target)
  | ({ readonly name: 'deleting' } & Target)
  | ({ readonly name: 'waiting-for-deletion'; readonly operation: string } & Target)
  /** Another operation is running, such as the start of a creation that was given up. */
  | ({ readonly name: 'busy' } & Target);

interface Target {
  readonly externalId: string;
}

/** Context of a deletion, and of a stop. */
export interface DeleteContext {
  readonly client: IncusClient;
  readonly operations: Operations;
  /** The instance of this name, if it belongs to the node. */
  own(name: string, signal: AbortSignal): Promise<IncusInstance | undefined>;
}

type DeleteStep = Step<DeleteState, void>;
type Run = MachineRun<IncusInstance>;

const BUSY_PAUSE_MS = 500;

/** Stops by force and deletes one instance of this provider; done when it is gone. Never deletes other instances. */
export function deleteMachine(externalId: string, context: DeleteContext): StateMachine<void, IncusInstance> {
  return createStateMachine<DeleteState, void, DeleteContext, IncusInstance>({
    name: 'delete',
    initial: { name: 'start', externalId },
    handlers: deleteHandlers,
    context,
  });
}

/** Handler of each state. */
export const deleteHandlers = {
  start: async ({ externalId }, context, run) => {
    const found = await context.own(externalId, run.signal);
    if (!found) return done();
    return goto<DeleteState>({ name: found.status === 'Stopped' ? 'deleting' : 'stopping', externalId });
  },
  stopping: async ({ externalId }, { client }, run) =>
    attempt(externalId, async () => {
      const { id } = await client.stopInstance(externalId, run.signal);
      return goto<DeleteState>({ name: 'waiting-for-stop', externalId, operation: id });
    }),
  'waiting-for-stop': async (state, context, run) => {
    const result = await context.operations.result(state.operation, run.visits > 0, run.signal);
    if (result === 'running') return waitFor(state, context);
    const error = result === 'forgotten' ? undefined : errorOfOperation(`stop of "${state.externalId}"`, result);
    if (error && !(error instanceof InstanceBusyError)) logFailure(run, error);
    return goto<DeleteState>({ name: 'deleting', externalId: state.externalId });
  },
  deleting: async ({ externalId }, { client }, run) =>
    attempt(externalId, async () => {
      const { id } = await client.deleteInstance(externalId, run.signal);
      return goto<DeleteState>({ name: 'waiting-for-deletion', externalId, operation: id });
    }),
  'waiting-for-deletion': async (state, context, run) => {
    const { externalId, operation } = state;
    const result = await context.operations.result(operation, run.visits > 0, run.signal);
    if (result === 'running') return waitFor(state, context);
    if (result !== 'forgotten') return ended(externalId, result);
    return goto<DeleteState>({ name: 'start', externalId });
  },
  busy: ({ externalId }, _context, run) =>
    run.visits === 0 ? wait(BUSY_PAUSE_MS) : goto<DeleteState>({ name: 'start', externalId }),
} satisfies Handlers<DeleteState, void, DeleteContext, IncusInstance>;

/** Makes a call. Missing: the instance is gone. Busy: it was started again, or another operation is running. */
async function attempt(externalId: string, call: () => Promise<DeleteStep>): Promise<DeleteStep> {
  try {
    return await call();
  } catch (error) {
    if (isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) return done();
    if (error instanceof InstanceBusyError) return goto<DeleteState>({ name: 'busy', externalId });
    throw error;
  }
}

function ended(externalId: string, operation: ApiOperation): DeleteStep {
  const error = errorOfOperation(`deletion of "${externalId}"`, operation);
  if (!error || /not found/i.test(operation.err)) return done();
  if (error instanceof InstanceBusyError) return goto<DeleteState>({ name: 'busy', externalId });
  // of any cause, it is retried
  throw new ProviderUnavailableError(error.message, { cause: error });
}

function logFailure({ logger }: Run, error: Error): void {
  logger.warn('Stopping an instance failed; deleting it nevertheless', { error });
}

/** Waits until an operation has ended. */
export function waitFor({ operation }: { operation: string }, { operations }: DeleteContext): Step<never, never> {
  return wait({ ms: operations.checkMs, until: (signal) => operations.changed(operation, signal) });
}
