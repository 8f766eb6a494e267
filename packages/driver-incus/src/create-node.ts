import {
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
  type JsonObject,
  type MachineRun,
  type CreateOrder,
  type StateMachine,
  type Step,
} from '@nodepool/core';
import type { IncusClient } from './client.js';
import { AlreadyExistsError, errorOfOperation, InstanceBusyError } from './errors.js';
import { isBroken, type IncusInstance } from './instance.js';
import type { Operations } from './operations.js';

/** State of a creation. The external id is the name, so it is stored before the instance exists. */
export type CreateState =
  | { readonly name: 'start' }
  | ({ readonly name: 'creating' } & Creation)
  /** The creation was refused because the name exists. */
  | ({ readonly name: 'identifying' } & Creation)
  /** Without an external id: the instance of this name belongs to another node. */
  | { readonly name: 'name-taken'; readonly isByOwn: boolean }
  | ({ readonly name: 'waiting-for-creation'; readonly operation: string } & Creation)
  | ({ readonly name: 'starting' } & Creation)
  | ({ readonly name: 'waiting-for-start'; readonly operation: string } & Creation)
  /** The start was refused: it runs, or another operation does, of the launcher that began the creation. */
  | ({ readonly name: 'busy' } & Creation)
  | ({ readonly name: 'waiting-for-address' } & Creation)
  | { readonly name: 'reading-host-keys'; readonly externalId: string; readonly instance: IncusInstance };

/** One creation of the instance. */
interface Creation {
  readonly externalId: string;
  /** Key of the instance that tells this creation from an earlier one. */
  readonly attempt: string;
}

/** Login data that no image tells. */
export type Login = Pick<Instance, 'connectionType' | 'connectionPort' | 'username'>;

/** Context of a creation. */
export interface CreateContext {
  readonly client: IncusClient;
  readonly operations: Operations;
  readonly name: string;
  /** Cluster member, or `@` and a cluster group. */
  readonly target: string | undefined;
  /** The server starts the instance in the operation that creates it. */
  readonly startsOnCreation: boolean;
  body(attempt: string): JsonObject;
  newAttempt(): string;
  /** Whether an instance was created for this node. */
  isOfNode(instance: IncusInstance): boolean;
  /** Whether an instance was provably created for a node of this provider and database. */
  isOwn(instance: IncusInstance): boolean;
  look(signal: AbortSignal): Promise<IncusInstance | undefined>;
  /** Host keys read from inside; `undefined`: they cannot be read. Missing: they are not wanted. */
  readonly hostKeys?: ((instance: IncusInstance, signal: AbortSignal) => Promise<string[] | undefined>) | undefined;
  /** The image was uploaded by a builder, which may have deleted it since. */
  readonly usesUpload: boolean;
  readonly login: Login;
}

type CreateStep = Step<CreateState, Instance>;
type Run = MachineRun<IncusInstance>;
type Waiting = Extract<CreateState, { readonly operation: string }>;

const BUSY_PAUSE_MS = 500;

/**
 * Creates and starts one instance; done when it has an address.
 * @param resumed - where the launcher that began it was
 */
export function createMachine(
  context: CreateContext,
  resumed?: CreateOrder['resumed'],
): StateMachine<Instance, IncusInstance> {
  return createStateMachine<CreateState, Instance, CreateContext, IncusInstance>({
    name: 'create',
    initial: { name: 'start' },
    resumed: resumed?.state,
    handlers: createHandlers,
    context,
  });
}

/** Handler of each state. */
export const createHandlers = {
  start: (_state, context) =>
    goto<CreateState>({ name: 'creating', externalId: context.name, attempt: context.newAttempt() }),
  creating: create,
  identifying: async (state, context, run) => {
    const found = await context.look(run.signal);
    if (found?.attempt === state.attempt) return goto({ ...state, name: 'starting' });
    if (found && !context.isOfNode(found)) {
      return goto<CreateState>({ name: 'name-taken', isByOwn: context.isOwn(found) });
    }
    return failed(new LaunchError('status', `instance "${state.externalId}" is of an earlier attempt; it is deleted`));
  },
  'name-taken': ({ isByOwn }, { name }) => {
    if (isByOwn) return failed(LaunchError.takenByFormer(`instance "${name}"`));
    const message = `instance "${name}" exists and is not this node's, so it is not changed: rename or delete it, or use a project`;
    const nextStep = 'rename or delete the instance, or give the provider a "project" of its own';
    return failed(new ConfigError(message, [], { reason: 'NameTaken', nextStep }));
  },
  'waiting-for-creation': async (state, context, run) => {
    const result = await resultOf(state, context, run);
    if (result === 'running') return waitFor(state, context);
    if (result instanceof Error) return refused(result, state, context);
    return goto({ ...state, name: context.startsOnCreation && result === 'done' ? 'waiting-for-address' : 'starting' });
  },
  starting: start,
  'waiting-for-start': async (state, context, run) => {
    const result = await resultOf(state, context, run);
    if (result === 'running') return waitFor(state, context);
    if (result === 'done') return goto({ ...state, name: 'waiting-for-address' });
    if (result instanceof InstanceBusyError) return goto({ ...state, name: 'busy' });
    if (result instanceof Error) throw result;
    return goto({ ...state, name: 'starting' });
  },
  busy: async (state, context, run) => {
    if (run.visits > 0) return goto({ ...state, name: 'starting' });
    const found = await context.look(run.signal);
    if (found?.status === 'Running') return goto({ ...state, name: 'waiting-for-address' });
    return wait(BUSY_PAUSE_MS);
  },
  'waiting-for-address': async (state, { hostKeys, login }, run) => {
    const instance = await run.instances.find(state.externalId);
    if (instance?.attempt !== state.attempt) {
      return failed(new LaunchError('status', `instance "${state.externalId}" vanished during its creation`));
    }
    if (instance.ready) {
      return hostKeys
        ? goto({ name: 'reading-host-keys', externalId: state.externalId, instance })
        : done({ ...instance, ...login });
    }
    if (!isBroken(instance)) return wait();
    const why = `instance "${state.externalId}" is ${instance.status} after its start`;
    return failed(new LaunchError('status', `${why}: read its console ("console --show-log") and its log`));
  },
  'reading-host-keys': async ({ instance }, { hostKeys, login }, run) => {
    const keys = await hostKeys?.(instance, run.signal);
    if (keys) return done({ ...instance, ...login, hostKeys: keys, onlyTheseHostKeys: true });
    run.logger.info('Host keys cannot be read from inside; using those that its SSH server shows', {
      externalId: instance.externalId,
    });
    return done({ ...instance, ...login });
  },
} satisfies Handlers<CreateState, Instance, CreateContext, IncusInstance>;

/** Without an answer, the call is repeated: a second instance of the same name is impossible. */
async function create(
  state: Extract<CreateState, { name: 'creating' }>,
  context: CreateContext,
  run: Run,
): Promise<CreateStep> {
  const { client, target } = context;
  try {
    const { id } = await client.createInstance(context.body(state.attempt), target, run.signal);
    return goto<CreateState>({ ...state, name: 'waiting-for-creation', operation: id });
  } catch (error) {
    if (error instanceof Error) return refused(error, state, context);
    throw error;
  }
}

async function start(
  state: Extract<CreateState, { name: 'starting' }>,
  context: CreateContext,
  run: Run,
): Promise<CreateStep> {
  const { client } = context;
  try {
    const { id } = await client.startInstance(state.externalId, run.signal);
    return goto<CreateState>({ ...state, name: 'waiting-for-start', operation: id });
  } catch (error) {
    if (!isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) throw error;
    return failed(new LaunchError('status', `instance "${state.externalId}" vanished during its creation`));
  }
}

/** Ends the attempt, unless the instance of this name may be the wanted one; core decides by the error. */
function refused(error: Error, state: Creation, context: CreateContext): CreateStep {
  if (error instanceof AlreadyExistsError) {
    return goto<CreateState>({ name: 'identifying', externalId: state.externalId, attempt: state.attempt });
  }
  if (context.usesUpload && error instanceof ConfigError && error.reason === 'ImageMissing') {
    return failed(new LaunchError('status', error.message, { cause: error }));
  }
  throw error;
}

/** Result of an operation. After a restart of the daemon the instance itself tells what became of its creation. */
async function resultOf(
  { operation, externalId, attempt, name }: Waiting,
  context: CreateContext,
  run: Run,
): Promise<'running' | 'done' | 'unknown' | Error> {
  const result = await context.operations.result(operation, run.visits > 0, run.signal);
  if (result === 'running') return 'running';
  if (result !== 'forgotten') return errorOfOperation(`instance "${externalId}"`, result) ?? 'done';
  const found = await context.look(run.signal);
  if (found?.attempt === attempt && found.status === 'Running') return 'done';
  if (found?.attempt === attempt && name === 'waiting-for-start') return 'unknown';
  return new LaunchError(
    'status',
    `instance "${externalId}": how its creation ended is unknown, as after a restart of the daemon`,
  );
}

function waitFor({ operation }: Waiting, { operations }: CreateContext): CreateStep {
  return wait({ ms: operations.checkMs, until: (signal) => operations.changed(operation, signal) });
}
