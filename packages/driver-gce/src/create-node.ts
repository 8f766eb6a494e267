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
import type { JsonObject } from '@nodepool/core';
import type { ComputeClient } from './client.js';
import { AlreadyExistsError, errorOfOperation, StockOutError } from './errors.js';
import { bootDiskName } from './insert-body.js';
import { isBroken, type GceInstance } from './instance.js';
import type { Placement, Stock } from './stock.js';

/** Where a creation stands. The external id is the name, so it is stored before anything is made. */
export type CreateState =
  | { readonly name: 'start' }
  | ({ readonly name: 'inserting' } & Insert)
  /** Why the insert was refused: something of its name exists. */
  | ({ readonly name: 'identifying'; readonly refusal: string } & Insert)
  /** Without an external id: the instance of this name is not the node's. */
  | { readonly name: 'name-taken'; readonly zone: string }
  | ({ readonly name: 'waiting-for-operation'; readonly operation: string } & Insert)
  /** No operation: the instance was there when a lost insert was repeated. */
  | ({ readonly name: 'waiting-for-instance'; readonly operation: string | undefined } & Insert)
  | { readonly name: 'waiting-for-host-keys'; readonly externalId: string; readonly instance: GceInstance };

/** One order to make the instance. */
interface Insert {
  readonly externalId: string;
  readonly placement: Placement;
  /** A repeated insert with the same id makes no second instance. The instance carries it. */
  readonly requestId: string;
}

/** What a creation works with. */
export interface CreateContext {
  readonly client: ComputeClient;
  readonly stock: Stock;
  readonly name: string;
  /** Where it may be made, best first. */
  placements(): Promise<readonly Placement[]>;
  body(placement: Placement, requestId: string): Promise<JsonObject>;
  /** The instance of this name, whoever made it. */
  look(zone: string, name: string, signal: AbortSignal): Promise<GceInstance | undefined>;
  /** An instance is proven to be made for this node. */
  isOfNode(instance: GceInstance): boolean;
  /** Something the order names does not exist any more. */
  forget(): void;
  newRequestId(): string;
  /** What the node is to know of the instance. */
  finish(instance: GceInstance): GceInstance;
  /**
   * Its host keys, as it published them, once they are those of its SSH server. `undefined`: they are not asked for.
   */
  readonly hostKeys?: ((instance: GceInstance, signal: AbortSignal) => Promise<string[] | undefined>) | undefined;
  readonly hostKeysTimeoutMs: number;
}

type CreateStep = Step<CreateState, Instance>;
type Run = MachineRun<GceInstance>;

const HOST_KEYS_PAUSE_MS = 1_000;

/** Creates one instance, in the first place that has stock, and ends when it runs. */
export function createMachine(context: CreateContext): StateMachine<Instance, GceInstance> {
  return createStateMachine<CreateState, Instance, CreateContext, GceInstance>({
    name: 'create',
    initial: { name: 'start' },
    handlers: createHandlers,
    context,
  });
}

/** A handler for each state. */
export const createHandlers = {
  start: choosePlacement,
  inserting: insert,
  identifying: identify,
  'name-taken': (state, { name }) => {
    const message = `instance "${name}" exists in ${state.zone} and is not this provider's, so it is left as it is`;
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
    // The list may show an instance of this name in another zone.
    const instance =
      listed && listed.attempt !== state.requestId
        ? await context.look(state.placement.zone, state.externalId, run.signal)
        : listed;
    return instance?.attempt === state.requestId
      ? judge(instance, state.placement, context)
      : judgeMissing(state, context, run);
  },
  'waiting-for-host-keys': async ({ externalId, instance }, context, run) => {
    const hostKeys = await context.hostKeys?.(instance, run.signal);
    if (hostKeys) return done({ ...context.finish(instance), hostKeys });
    if (run.nowMs - run.enteredMs < context.hostKeysTimeoutMs) return wait(HOST_KEYS_PAUSE_MS);
    const message = `instance "${externalId}" published no host keys that its SSH server has`;
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

/** Repeated with the same request id when there is no answer: it never makes two. */
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

/** There is an instance of this name. Only this insert's own is used, and only this node's is deleted. */
async function identify(
  state: Extract<CreateState, { name: 'identifying' }>,
  context: CreateContext,
  run: Run,
): Promise<CreateStep> {
  const { externalId, placement, requestId, refusal } = state;
  const { zone } = placement;
  const found = await context.look(zone, externalId, run.signal);
  if (found?.attempt === requestId) return goto({ ...state, name: 'waiting-for-instance', operation: undefined });
  if (found && !context.isOfNode(found)) return goto<CreateState>({ name: 'name-taken', zone });
  const why = found ? `instance "${externalId}" in ${zone} is of an earlier attempt; it is deleted` : refusal;
  return failed(new LaunchError('status', why));
}

/** Out of stock: the next place. Else the attempt ends, and core judges by the error. */
function refused(error: unknown, placement: Placement, context: CreateContext, run: Run): CreateStep {
  if (error instanceof StockOutError) {
    context.stock.exhausted(placement);
    run.logger.info('Out of stock; trying elsewhere', { ...placement });
    return goto<CreateState>({ name: 'start' });
  }
  if (isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) {
    context.forget();
    return failed(new LaunchError('status', error.message, { cause: error }));
  }
  throw error;
}

function judge(instance: GceInstance, placement: Placement, context: CreateContext): CreateStep {
  const { externalId, status, az } = instance;
  if (instance.ready) {
    context.stock.served(placement);
    if (context.hostKeys) return goto<CreateState>({ name: 'waiting-for-host-keys', externalId, instance });
    return done(context.finish(instance));
  }
  if (!isBroken(instance)) return wait();
  const why = placement.spot ? ': a Spot VM that was preempted' : '';
  return failed(new LaunchError('status', `instance "${externalId}" in ${az} is ${status}${why}`));
}

/**
 * It is not in the list: its operation knows why. A list is no proof that there is none, as its zone may have failed to answer;
 * so the instance itself is asked for.
 */
async function judgeMissing(
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
  if (instance?.attempt === requestId) return judge(instance, placement, context);
  return failed(new LaunchError('status', `instance "${externalId}" in ${zone} vanished while it was made`));
}

/** No instance came of the insert. Its boot disk may have stayed: it is deleted now, or else as a leak after the node. */
async function operationFailed(error: Error, insert: Insert, context: CreateContext, run: Run): Promise<CreateStep> {
  const { externalId, placement, requestId } = insert;
  if (error instanceof AlreadyExistsError) {
    return goto<CreateState>({ ...insert, name: 'identifying', refusal: error.message });
  }
  const disk = bootDiskName(externalId, requestId);
  try {
    await context.client.deleteDisk(placement.zone, disk, context.newRequestId(), run.signal);
    run.logger.info('Deleted the boot disk of an instance that failed', { disk, zone: placement.zone });
  } catch (cause) {
    run.signal.throwIfAborted();
    const isGone = isNodepoolError(cause, 'NODEPOOL_NOT_FOUND');
    if (!isGone)
      run.logger.warn('Failed to delete a boot disk; retrying when its node is gone', { disk, error: cause });
  }
  return refused(error, placement, context, run);
}
