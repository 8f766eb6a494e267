import { isNodepoolError } from '@nodepool/zk-protocol';
import { LaunchError } from '../../contract/errors.js';
import {
  DATABASE_ID_TAG,
  NODE_CREATED_TAG,
  NODE_ID_TAG,
  PROVIDER_TAG,
  type Instance,
} from '../../contract/instance.js';
import { createStateMachine, done, failed, goto, wait } from '../operations/state-machine.js';
import type { Handlers, MachineRun, StateMachine, Step } from '../../contract/state-machine.js';

/** The calls the machines make. */
export interface SimpleCalls {
  create(signal: AbortSignal): Promise<string>;
  delete(externalId: string, signal: AbortSignal): Promise<void>;
}

type CreateState = { readonly name: 'start' } | { readonly name: 'waiting-for-instance'; readonly externalId: string };
type DeleteState = { readonly name: 'start' | 'waiting-for-absence'; readonly externalId: string };

/** Parts of a creation. */
export interface CreateOptions {
  readonly calls: Pick<SimpleCalls, 'create'>;
  /** Tags the instance gets. */
  readonly metadata: Readonly<Record<string, string>>;
  /** An earlier attempt may have left an instance with these tags. */
  readonly isRepeated: boolean;
  /** For how long lists may miss it, where the driver says so. */
  readonly lagMs?: number | undefined;
}

interface CreateContext extends CreateOptions {
  readonly presence: Presence;
}

/** Tags that name one node; this process has made what is looked for. */
const IDENTITY = [NODE_ID_TAG, NODE_CREATED_TAG, PROVIDER_TAG, DATABASE_ID_TAG];
/** Some clouds list a new instance late; an instance that is not listed after this time never will be. */
const LATE_LISTING_MS = 30_000;

/** Whether lists have shown the instance. */
class Presence {
  readonly #lateMs: number;
  #seen = false;

  constructor(lagMs = 0) {
    this.#lateMs = Math.max(LATE_LISTING_MS, lagMs);
  }

  /** It is there. */
  found(): void {
    this.#seen = true;
  }

  /** It is not there. @returns whether it is gone for good */
  isGone(waitedMs: number): boolean {
    return this.#seen || waitedMs >= this.#lateMs;
  }
}

/** Adopts what an attempt whose answer was lost may have left, else creates. */
async function create(
  _state: CreateState,
  context: CreateContext,
  run: MachineRun,
): Promise<Step<CreateState, Instance>> {
  if (run.visits > 0 || context.isRepeated) {
    const left = (await run.instances.list()).find((instance) => isSame(instance, context.metadata));
    if (left) return goto({ name: 'waiting-for-instance', externalId: left.externalId });
  }
  return goto({ name: 'waiting-for-instance', externalId: await context.calls.create(run.signal) });
}

const createHandlers = {
  start: create,
  'waiting-for-instance': async ({ externalId }, { presence }, run) => {
    // Each visit but the first follows news: it sees a list of its own.
    const instance = await run.instances.find(externalId);
    if (!instance) {
      if (!presence.isGone(run.nowMs - run.enteredMs)) return wait();
      return failed(new LaunchError('status', `instance ${externalId} vanished while it started`));
    }
    presence.found();
    if (instance.deleted) {
      return failed(new LaunchError('status', `instance ${externalId} was deleted while it started`));
    }
    return instance.ready ? done(instance) : wait();
  },
} satisfies Handlers<CreateState, Instance, CreateContext>;

const deleteHandlers = {
  start: async ({ externalId }, calls, run) => {
    try {
      await calls.delete(externalId, run.signal);
    } catch (error) {
      if (isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) return done();
      throw error;
    }
    return goto({ name: 'waiting-for-absence', externalId });
  },
  'waiting-for-absence': async ({ externalId }, _calls, run) => {
    const instance = await run.instances.find(externalId);
    return !instance || instance.deleted ? done() : wait();
  },
} satisfies Handlers<DeleteState, void, Pick<SimpleCalls, 'delete'>>;

/** Creates an instance and waits until the list shows it ready. Fails as soon as it is sure that it has vanished. */
export function simpleCreateMachine(options: CreateOptions): StateMachine<Instance> {
  return createStateMachine<CreateState, Instance, CreateContext>({
    name: 'create',
    initial: { name: 'start' },
    handlers: createHandlers,
    context: { ...options, presence: new Presence(options.lagMs) },
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
  return !deleted && IDENTITY.every((tag) => metadata[tag] === wanted[tag]);
}
