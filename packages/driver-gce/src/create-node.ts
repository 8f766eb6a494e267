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
import { isBroken, type GceInstance } from './instance.js';
import type { Placement, Stock } from './stock.js';

/** Where a creation stands. The external id is the name, so it is stored before anything is made. */
export type CreateState =
  | { readonly name: 'start' }
  | {
      readonly name: 'inserting';
      readonly externalId: string;
      readonly placement: Placement;
      readonly requestId: string;
    }
  | {
      readonly name: 'waiting-for-operation';
      readonly externalId: string;
      readonly placement: Placement;
      readonly operation: string;
    }
  | {
      readonly name: 'waiting-for-instance';
      readonly externalId: string;
      readonly placement: Placement;
      /** `undefined`: there was an instance of this name already. */
      readonly operation: string | undefined;
    }
  | { readonly name: 'waiting-for-host-keys'; readonly externalId: string; readonly instance: GceInstance };

/** What a creation works with. */
export interface CreateContext {
  readonly client: ComputeClient;
  readonly stock: Stock;
  readonly name: string;
  /** Where it may be made, best first. */
  placements(): Promise<readonly Placement[]>;
  body(placement: Placement): Promise<JsonObject>;
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

/** After an operation has ended its instance is in the list; a second look is for lists that lag behind. */
const LOOKS = 2;
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
  'waiting-for-operation': async ({ externalId, placement, operation }, context, run) => {
    const seen = await context.client.waitForOperation(placement.zone, operation, run.signal);
    const error = seen && errorOfOperation(`instance "${externalId}" in ${placement.zone}`, seen);
    return error ? refused(error, placement, context, run) : lookAt({ externalId, placement, operation });
  },
  'waiting-for-instance': async (state, context, run) => {
    const instance = await run.instances.find(state.externalId);
    return instance ? judge(instance, state.placement, context) : judgeMissing(state, context, run);
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
  { externalId, placement, requestId }: Extract<CreateState, { name: 'inserting' }>,
  context: CreateContext,
  run: Run,
): Promise<CreateStep> {
  try {
    const body = await context.body(placement);
    const { name } = await context.client.insertInstance(placement.zone, body, requestId, run.signal);
    return goto<CreateState>({ name: 'waiting-for-operation', externalId, placement, operation: name });
  } catch (error) {
    if (error instanceof AlreadyExistsError) return lookAt({ externalId, placement, operation: undefined });
    return refused(error, placement, context, run);
  }
}

function lookAt(what: { externalId: string; placement: Placement; operation: string | undefined }): CreateStep {
  return goto<CreateState>({ name: 'waiting-for-instance', ...what });
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

/** It is not in the list: the operation knows why. */
async function judgeMissing(
  { externalId, placement, operation }: Extract<CreateState, { name: 'waiting-for-instance' }>,
  context: CreateContext,
  run: Run,
): Promise<CreateStep> {
  const { zone } = placement;
  if (operation === undefined) {
    const message = `instance "${externalId}" exists in ${zone} and is not this provider's`;
    return failed(new ConfigError(`${message}: two installations must not share a project and node ids`));
  }
  const seen = await context.client.getOperation(zone, operation, run.signal);
  const error = errorOfOperation(`instance "${externalId}" in ${zone}`, seen);
  if (error) return refused(error, placement, context, run);
  if (seen.status !== 'DONE' || run.visits < LOOKS) return wait();
  return failed(new LaunchError('status', `instance "${externalId}" in ${zone} vanished while it was made`));
}
