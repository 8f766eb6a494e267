import { done, failed, goto, isNodepoolError, LaunchError, wait } from '@nodepool/core';
import type { Instance, MachineRun, Step } from '@nodepool/core';
import type { CreateContext, CreateState, StartingState, WaitingForStartState } from './create-state.js';
import { errorOfOperation, StockOutError } from './errors.js';
import type { GceInstance } from './instance.js';

type CreateStep = Step<CreateState, Instance>;
type Run = MachineRun<GceInstance>;
type Started = StartingState | WaitingForStartState;

const LOOK_MS = 1_000;

/** Starts an instance that was stopped. */
export async function startInstance(state: StartingState, context: CreateContext, run: Run): Promise<CreateStep> {
  const { externalId, placement, requestId } = state;
  try {
    const { name } = await context.client.startInstance(placement.zone, externalId, requestId, run.signal);
    return goto<CreateState>({ name: 'waiting-for-start', externalId, placement, operation: name });
  } catch (error) {
    if (run.signal.aborted || isNodepoolError(error, 'NODEPOOL_PROVIDER_UNAVAILABLE')) throw error;
    return startFailed(error, state, context);
  }
}

/** The operation ends when the instance runs, with a new external address unless that is reserved. */
export async function waitForStart(state: WaitingForStartState, context: CreateContext, run: Run): Promise<CreateStep> {
  const { externalId, placement, operation } = state;
  const { zone } = placement;
  const waited = await context.client.waitForOperation(zone, operation, run.signal);
  const seen = waited ?? (await context.client.getOperation(zone, operation, run.signal));
  const error = errorOfOperation('its operation', seen);
  if (error) return startFailed(error, state, context);
  if (seen.status !== 'DONE') return wait(LOOK_MS);
  const instance = await context.look(zone, externalId, run.signal);
  if (!instance?.ready) {
    return startFailed(new Error(`it is ${instance?.status ?? 'gone'} after its start`), state, context);
  }
  context.stock.served(placement);
  return running(instance, context, true);
}

/** The instance runs: reads its host keys where the label asks for it. */
export function running(instance: GceInstance, context: CreateContext, isStarted: boolean): CreateStep {
  if (!context.hostKeys) return done(context.finish(instance));
  const { externalId } = instance;
  return goto<CreateState>({ name: 'waiting-for-host-keys', externalId, instance, isStarted });
}

/** A failed attempt, whatever the reason: the instance exists, and the next attempt makes another one in its place. */
function startFailed(cause: unknown, { externalId, placement }: Started, { stock }: CreateContext): CreateStep {
  if (cause instanceof StockOutError) stock.exhausted(placement);
  const why = cause instanceof Error ? cause.message : String(cause);
  const message = `stopped instance "${externalId}" in ${placement.zone} did not start: ${why}`;
  return failed(new LaunchError('status', message, { cause }));
}
