import {
  createStateMachine,
  done,
  failed,
  goto,
  isNodepoolError,
  LaunchError,
  NotFoundError,
  wait,
  type Handlers,
  type MachineRun,
  type StateMachine,
  type Step,
} from '@nodepool/core';
import type { ComputeClient } from './client.js';
import type { DeleteContext } from './delete-node.js';
import { errorOfOperation } from './errors.js';
import { isStopped, placementOf, type GceInstance } from './instance.js';
import type { StartingState } from './create-state.js';

/** State of a stop. */
export type StopState =
  | { readonly name: 'start'; readonly externalId: string }
  | { readonly name: 'stopping'; readonly externalId: string; readonly zone: string; readonly requestId: string }
  | {
      readonly name: 'waiting-until-stopped';
      readonly externalId: string;
      readonly zone: string;
      readonly operation: string;
    };

/** Context of a stop. */
export interface StopContext extends DeleteContext {
  readonly client: ComputeClient;
  /** The instance of this name, of any owner. */
  look(zone: string, name: string, signal: AbortSignal): Promise<GceInstance | undefined>;
}

type StopStep = Step<StopState, StartingState>;
type Run = MachineRun<GceInstance>;

const LOOK_MS = 1_000;

/** Stops one instance of this provider; the result is the state of its creation that starts it again. */
export function stopMachine(externalId: string, context: StopContext): StateMachine<StartingState, GceInstance> {
  return createStateMachine<StopState, StartingState, StopContext, GceInstance>({
    name: 'stop',
    initial: { name: 'start', externalId },
    handlers: stopHandlers,
    context,
  });
}

/** Handler of each state. */
export const stopHandlers = {
  start: async ({ externalId }, context, run) => {
    const listed = await run.instances.find(externalId);
    const zone = await context.zoneOf(externalId, listed, run.signal);
    if (zone === undefined) return failed(gone(externalId));
    const instance = await context.look(zone, externalId, run.signal);
    if (instance && isStopped(instance)) return stopped(instance, context);
    return goto({ name: 'stopping', externalId, zone, requestId: context.newRequestId() });
  },
  stopping: async ({ externalId, zone, requestId }, { client }, run) => {
    try {
      const { name } = await client.stopInstance(zone, externalId, requestId, run.signal);
      return goto<StopState>({ name: 'waiting-until-stopped', externalId, zone, operation: name });
    } catch (error) {
      if (isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) return failed(gone(externalId));
      throw error;
    }
  },
  'waiting-until-stopped': waitUntilStopped,
} satisfies Handlers<StopState, StartingState, StopContext, GceInstance>;

async function waitUntilStopped(
  { externalId, zone, operation }: Extract<StopState, { name: 'waiting-until-stopped' }>,
  context: StopContext,
  run: Run,
): Promise<StopStep> {
  const { client } = context;
  const waited = await client.waitForOperation(zone, operation, run.signal);
  const seen = waited ?? (await client.getOperation(zone, operation, run.signal));
  const error = errorOfOperation(`stop of "${externalId}"`, seen);
  if (error) return failed(error);
  if (seen.status !== 'DONE') return wait(LOOK_MS);
  const instance = await context.look(zone, externalId, run.signal);
  if (!instance) return failed(gone(externalId));
  if (isStopped(instance)) return stopped(instance, context);
  return failed(new LaunchError('status', `instance "${externalId}" in ${zone} is ${instance.status} after its stop`));
}

function stopped(instance: GceInstance, context: StopContext): StopStep {
  const { externalId } = instance;
  return done({ name: 'starting', externalId, placement: placementOf(instance), requestId: context.newRequestId() });
}

function gone(externalId: string): Error {
  return new NotFoundError(`instance "${externalId}" does not exist`);
}
