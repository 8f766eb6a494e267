import {
  CapacityError,
  ConfigError,
  createStateMachine,
  done,
  failed,
  goto,
  isNodepoolError,
  LaunchError,
  wait,
  type Handlers,
  type Instance,
  type MachineRun,
  type StateMachine,
  type Step,
} from '@nodepool/core';
import type { CreateContext, CreateState, Insert } from './create-state.js';
import { AlreadyExistsError, errorOfOperation, StockOutError } from './errors.js';
import { bootDiskName } from './insert-body.js';
import { isBroken, type GceInstance } from './instance.js';
import { running, startInstance, waitForStart } from './start-node.js';
import type { Placement } from './stock.js';

type CreateStep = Step<CreateState, Instance>;
type Run = MachineRun<GceInstance>;

const HOST_KEYS_PAUSE_MS = 1_000;

/** Creates one instance in the first placement with stock; done when it runs. */
export function createMachine(context: CreateContext): StateMachine<Instance, GceInstance> {
  return createStateMachine<CreateState, Instance, CreateContext, GceInstance>({
    name: 'create',
    initial: { name: 'start' },
    resumed: context.resumed?.state,
    handlers: createHandlers,
    context,
  });
}

/** Handler of each state. */
export const createHandlers = {
  start: choosePlacement,
  inserting: insert,
  identifying: identify,
  'name-taken': (state, { name }) => {
    if (state.isByOwn) return failed(LaunchError.takenByFormer(`instance "${name}" in ${state.zone}`));
    const message = `instance "${name}" exists in ${state.zone} and is not this provider's, so it is not changed`;
    return failed(new ConfigError(`${message}: two installations must not share a project and node ids`));
  },
  'waiting-for-operation': async (state, context, run) => {
    const { externalId, placement, operation } = state;
    const seen = await context.client.waitForOperation(placement.zone, operation, run.signal);
    const error = seen && errorOfOperation(`instance "${externalId}" in ${placement.zone}`, seen);
    return error ? operationFailed(error, state, context, run) : goto({ ...state, name: 'waiting-for-instance' });
  },
  'waiting-for-instance': async (state, context, run) => {
    const listed = await run.instances.find(state.externalId);
    // The list may contain an instance of this name in another zone.
    const instance =
      listed && listed.attempt !== state.requestId
        ? await context.look(state.placement.zone, state.externalId, run.signal)
        : listed;
    return instance?.attempt === state.requestId
      ? evaluate(instance, state.placement, context)
      : evaluateMissing(state, context, run);
  },
  starting: startInstance,
  'waiting-for-start': waitForStart,
  'waiting-for-host-keys': async ({ externalId, instance, isStarted }, context, run) => {
    const hostKeys = await context.hostKeys?.(instance, isStarted, run.signal);
    if (hostKeys) return done({ ...context.finish(instance), hostKeys });
    if (run.nowMs - run.enteredMs < context.hostKeysTimeoutMs) return wait(HOST_KEYS_PAUSE_MS);
    const message = `instance "${externalId}" published no host keys that match its SSH server`;
    return failed(new LaunchError('keyscan', `${message}: does its image have the guest agent?`));
  },
} satisfies Handlers<CreateState, Instance, CreateContext, GceInstance>;

async function choosePlacement(_state: CreateState, context: CreateContext): Promise<CreateStep> {
  const { stock, name } = context;
  const placements = await context.placements();
  if (placements.length === 0) {
    return failed(new ConfigError(`instance "${name}": no zone has one of the machine types of its label`));
  }
  const placement = placements.find((one) => stock.take(one));
  if (placement) {
    return goto<CreateState>({ name: 'inserting', externalId: name, placement, requestId: context.newRequestId() });
  }
  const places = placements.map(({ zone, machineType }) => `${machineType} in ${zone}`).join(', ');
  const seconds = stock.secondsUntilProbe(placements);
  return failed(new CapacityError(`instance "${name}": out of stock: ${places}; the next try is in ${seconds} s`));
}

/** Without an answer, the insert is repeated with the same request id, so that it never creates two instances. */
async function insert(
  state: Extract<CreateState, { name: 'inserting' }>,
  context: CreateContext,
  run: Run,
): Promise<CreateStep> {
  const { placement, requestId } = state;
  try {
    const body = await context.body(placement, requestId);
    const { name } = await context.client.insertInstance(placement.zone, body, requestId, run.signal);
    return goto<CreateState>({ ...state, name: 'waiting-for-operation', operation: name });
  } catch (error) {
    if (error instanceof AlreadyExistsError) return goto({ ...state, name: 'identifying', refusal: error.message });
    return refused(error, placement, context, run);
  }
}

/** The name exists: uses only the instance of this insert, and deletes only an instance of this node. */
async function identify(
  state: Extract<CreateState, { name: 'identifying' }>,
  context: CreateContext,
  run: Run,
): Promise<CreateStep> {
  const { externalId, placement, requestId, refusal } = state;
  const { zone } = placement;
  const found = await context.look(zone, externalId, run.signal);
  if (found?.attempt === requestId) return goto({ ...state, name: 'waiting-for-instance', operation: undefined });
  if (found && !context.isOfNode(found)) {
    return goto<CreateState>({ name: 'name-taken', zone, isByOwn: context.isOwn(found) });
  }
  const why = found ? `instance "${externalId}" in ${zone} is of an earlier attempt; it is deleted` : refusal;
  return failed(new LaunchError('status', why));
}

/** Out of stock: tries the next placement. Otherwise ends the attempt; core decides by the error. */
function refused(error: unknown, placement: Placement, context: CreateContext, run: Run): CreateStep {
  if (error instanceof StockOutError) {
    context.stock.exhausted(placement);
    run.logger.info('Out of stock; trying another placement', { ...placement });
    return goto<CreateState>({ name: 'start' });
  }
  if (isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) {
    context.forget();
    return failed(new LaunchError('status', error.message, { cause: error }));
  }
  throw error;
}

function evaluate(instance: GceInstance, placement: Placement, context: CreateContext): CreateStep {
  const { externalId, status, az } = instance;
  if (instance.ready) {
    context.stock.served(placement);
    return running(instance, context, false);
  }
  if (!isBroken(instance)) return wait();
  const why = placement.spot ? ': a Spot VM that was preempted' : '';
  return failed(new LaunchError('status', `instance "${externalId}" in ${az} is ${status}${why}`));
}

/**
 * Handles an instance that is not listed, by its operation. A list proves nothing, because its zone may not have answered,
 * so this reads the instance itself.
 */
async function evaluateMissing(
  state: Extract<CreateState, { name: 'waiting-for-instance' }>,
  context: CreateContext,
  run: Run,
): Promise<CreateStep> {
  const { externalId, placement, requestId, operation } = state;
  const { zone } = placement;
  if (operation !== undefined) {
    const seen = await context.client.getOperation(zone, operation, run.signal);
    const error = errorOfOperation(`instance "${externalId}" in ${zone}`, seen);
    if (error) return operationFailed(error, state, context, run);
    if (seen.status !== 'DONE') return wait();
  }
  const instance = await context.look(zone, externalId, run.signal);
  if (instance?.attempt === requestId) return evaluate(instance, placement, context);
  return failed(new LaunchError('status', `instance "${externalId}" in ${zone} vanished during its creation`));
}

/** The insert failed. Deletes its orphaned boot disk; if that fails, the leak clean-up does it after the node is deleted. */
async function operationFailed(error: Error, insert: Insert, context: CreateContext, run: Run): Promise<CreateStep> {
  const { externalId, placement, requestId } = insert;
  if (error instanceof AlreadyExistsError) {
    return goto<CreateState>({ ...insert, name: 'identifying', refusal: error.message });
  }
  const disk = bootDiskName(externalId, requestId);
  try {
    await context.client.deleteDisk(placement.zone, disk, context.newRequestId(), run.signal);
    run.logger.info('Deleted boot disk of a failed instance', { disk, zone: placement.zone });
  } catch (cause) {
    run.signal.throwIfAborted();
    const isGone = isNodepoolError(cause, 'NODEPOOL_NOT_FOUND');
    if (!isGone)
      run.logger.warn('Deleting a boot disk failed; retrying after its node is deleted', { disk, error: cause });
  }
  return refused(error, placement, context, run);
}
