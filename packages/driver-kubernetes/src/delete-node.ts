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
import { NotYetError } from './errors.js';
import type { KubernetesInstance } from './instance.js';
import { isForbidden } from './spaces.js';

/** State of a deletion. */
export type DeleteState =
  | { readonly name: 'start'; readonly externalId: string }
  | { readonly name: 'deleting'; readonly externalId: string; readonly uid: string | undefined }
  | { readonly name: 'waiting-until-gone'; readonly externalId: string; readonly uid: string | undefined };

/** Context of a deletion. */
export interface DeleteContext {
  /** The object of this name, of any owner. */
  look(signal: AbortSignal): Promise<KubernetesInstance | undefined>;
  /** Whether the instance may be deleted with the node. */
  mayDelete(instance: KubernetesInstance): boolean;
  /** Deletes the object with this uid. */
  delete(uid: string | undefined, signal: AbortSignal): Promise<void>;
  /** Whether changes arrive at present. Otherwise what was seen may be old. */
  isWatching(): boolean;
  /** Whether the account may not watch. */
  isPolling(): boolean;
  /** The present moment, for `changed`. */
  mark(): number;
  /** Resolves when the instance has changed since the mark. */
  changed(since: number, signal: AbortSignal): Promise<void>;
  /** Notes an instance that does not go; `undefined`: it is gone. */
  note(instance: KubernetesInstance | undefined): void;
}

type Run = MachineRun<KubernetesInstance>;
type DeleteStep = Step<DeleteState, void>;

/** A deletion that takes longer hangs. */
const HANGS_MS = 60_000;
/** A change that a broken watch hides is seen after this time; without a watch, changes are seen so often. */
const LOOK_AGAIN_MS = { watching: 5_000, polling: 1_000 };

/** Deletes one instance of this provider; done when it is gone. Never deletes other objects. */
export function deleteMachine(externalId: string, context: DeleteContext): StateMachine<void, KubernetesInstance> {
  return createStateMachine<DeleteState, void, DeleteContext, KubernetesInstance>({
    name: 'delete',
    initial: { name: 'start', externalId },
    handlers: deleteHandlers,
    context,
  });
}

/** Handler of each state. */
export const deleteHandlers = {
  start: async ({ externalId }, context, run) => {
    const found = (await run.instances.find(externalId)) ?? (await context.look(run.signal));
    if (!found) return done();
    if (!context.mayDelete(found)) {
      run.logger.warn('Not deleting: it was not made for this node', { externalId });
      return done();
    }
    const { uid, isEnding } = found;
    return goto<DeleteState>({ name: isEnding ? 'waiting-until-gone' : 'deleting', externalId, uid });
  },
  deleting: async ({ externalId, uid }, context, run) => {
    try {
      await context.delete(uid, run.signal);
    } catch (error) {
      if (isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) return done();
      if (!(error instanceof NotYetError) && !isForbidden(error)) throw error;
      // It is being deleted already, or the name has another object now, or it is a project that is gone.
      const found = await context.look(run.signal);
      if (found?.uid !== uid) return done();
      if (isForbidden(error)) throw error;
    }
    return goto<DeleteState>({ name: 'waiting-until-gone', externalId, uid });
  },
  'waiting-until-gone': waitUntilGone,
} satisfies Handlers<DeleteState, void, DeleteContext, KubernetesInstance>;

async function waitUntilGone(
  { externalId, uid }: Extract<DeleteState, { name: 'waiting-until-gone' }>,
  context: DeleteContext,
  run: Run,
): Promise<DeleteStep> {
  const mark = context.mark();
  const found = context.isWatching() ? await run.instances.find(externalId) : await context.look(run.signal);
  if (!found || found.uid !== uid) {
    context.note(undefined);
    return done();
  }
  if (run.nowMs - run.enteredMs >= HANGS_MS) context.note(found);
  const ms = LOOK_AGAIN_MS[context.isPolling() ? 'polling' : 'watching'];
  return wait({ ms, until: (signal) => context.changed(mark, signal) });
}
