import {
  createStateMachine,
  done,
  goto,
  isNodepoolError,
  wait,
  type Handlers,
  type MachineRun,
  type StateMachine,
  type Step,
} from '@nodepool/core';
import type { ComputeClient } from './client.js';
import { errorOfOperation } from './errors.js';
import type { GceInstance } from './instance.js';

/** State of a deletion. */
export type DeleteState =
  | { readonly name: 'start'; readonly externalId: string }
  | ({ readonly name: 'deleting'; readonly requestId: string } & Target)
  | ({ readonly name: 'waiting-for-operation' } & Operation)
  | ({ readonly name: 'waiting-until-gone' } & Operation);

interface Target {
  readonly externalId: string;
  readonly zone: string;
}

interface Operation extends Target {
  readonly operation: string;
}

/** Context of a deletion. */
export interface DeleteContext {
  readonly client: ComputeClient;
  /** The zone of the node's instance; `undefined`: no instance. @param listed - the listed instance of its name */
  zoneOf(name: string, listed: GceInstance | undefined, signal: AbortSignal): Promise<string | undefined>;
  newRequestId(): string;
}

type DeleteStep = Step<DeleteState, void>;
type Run = MachineRun<GceInstance>;

/** Checks of the list per check of a long operation. */
const LIST_CHECKS = 8;

/** Deletes one instance of this provider; done when it is gone. Never deletes other instances. */
export function deleteMachine(externalId: string, context: DeleteContext): StateMachine<void, GceInstance> {
  return createStateMachine<DeleteState, void, DeleteContext, GceInstance>({
    name: 'delete',
    initial: { name: 'start', externalId },
    handlers: deleteHandlers,
    context,
  });
}

/** Handler of each state. */
export const deleteHandlers = {
  start: async ({ externalId }, context, run) => {
    const listed = await run.instances.find(externalId);
    const zone = await context.zoneOf(externalId, listed, run.signal);
    if (zone === undefined) return done();
    return goto({ name: 'deleting', externalId, zone, requestId: context.newRequestId() });
  },
  deleting: async ({ externalId, zone, requestId }, { client }, run) => {
    try {
      const { name } = await client.deleteInstance(zone, externalId, requestId, run.signal);
      return goto<DeleteState>({ name: 'waiting-for-operation', externalId, zone, operation: name });
    } catch (error) {
      if (isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) return done();
      throw error;
    }
  },
  'waiting-for-operation': async (state, { client }, run) => {
    const seen = await client.waitForOperation(state.zone, state.operation, run.signal);
    if (seen?.status !== 'DONE') return goto<DeleteState>({ ...state, name: 'waiting-until-gone' });
    return evaluate(errorOfOperation(`deletion of "${state.externalId}"`, seen));
  },
  'waiting-until-gone': waitUntilGone,
} satisfies Handlers<DeleteState, void, DeleteContext, GceInstance>;

async function waitUntilGone(state: Operation, { client }: DeleteContext, run: Run): Promise<DeleteStep> {
  const instance = await run.instances.find(state.externalId);
  const isShown = instance?.az === state.zone;
  // A missing instance proves nothing, because its zone may not have answered. The operation decides.
  if (isShown && run.visits % LIST_CHECKS !== LIST_CHECKS - 1) return wait();
  const seen = await client.getOperation(state.zone, state.operation, run.signal);
  return seen.status === 'DONE' ? evaluate(errorOfOperation(`deletion of "${state.externalId}"`, seen)) : wait();
}

function evaluate(error: Error | undefined): DeleteStep {
  if (error && !isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) throw error;
  return done();
}
