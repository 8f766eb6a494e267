import {
  createStateMachine,
  DATABASE_ID_TAG,
  done,
  failed,
  goto,
  LaunchError,
  NODE_ID_TAG,
  QuotaError,
  wait,
  type Handlers,
  type Instance,
  type MachineRun,
  type StateMachine,
  type Step,
} from '@nodepool/core';
import { isNodepoolError } from '@nodepool/zk-protocol';
import type { CloudInstance, InstanceOrder } from '../cloud/index.js';
import type { PacedCall } from './cloud-call.js';
import type { FakeInstance } from './instance.js';

/** Where a creation stands. */
export type CreateState =
  | { readonly name: 'start' }
  | { readonly name: 'looking-for-earlier-attempt' }
  | { readonly name: 'submitting' }
  | { readonly name: 'looking-for-lost-answer' }
  | { readonly name: 'waiting-for-instance'; readonly externalId: string };

/** What a creation works with. */
export interface CreateContext {
  readonly order: InstanceOrder;
  /** Counts from 1: only a later attempt can find something of an earlier one. */
  readonly attempt: number;
  readonly call: PacedCall;
  toInstance(shown: CloudInstance): FakeInstance;
}

type CreateStep = Step<CreateState, Instance>;
type Run = MachineRun<FakeInstance>;

/** Creates one instance and ends when it runs. */
export function createMachine(context: CreateContext): StateMachine<Instance, FakeInstance> {
  return createStateMachine<CreateState, Instance, CreateContext, FakeInstance>({
    name: 'create',
    initial: { name: 'start' },
    handlers: createHandlers,
    context,
  });
}

/** A handler for each state. */
export const createHandlers = {
  start: (_state, { attempt }) => goto({ name: attempt > 1 ? 'looking-for-earlier-attempt' : 'submitting' }),
  'looking-for-earlier-attempt': async (_state, context, run) =>
    (await adopt(context, run)) ?? goto({ name: 'submitting' }),
  submitting: submitInstance,
  'looking-for-lost-answer': async (_state, context, run) =>
    (await adopt(context, run)) ??
    failed(new LaunchError('network', `instance "${context.order.name}": the connection broke before it was created`)),
  'waiting-for-instance': async ({ externalId }, { order }, run) => {
    const instance = await run.instances.find(externalId);
    if (!instance) {
      return failed(
        new LaunchError('status', `instance "${order.name}" (${externalId}) vanished while it was created`),
      );
    }
    return judge(instance, order.name);
  },
} satisfies Handlers<CreateState, Instance, CreateContext, FakeInstance>;

async function submitInstance(_state: CreateState, context: CreateContext, run: Run): Promise<CreateStep> {
  try {
    const made = await context.call('compute.POST.servers', 'create', context.order, run.signal);
    return accept(made, context);
  } catch (error) {
    // The answer may have been lost after the instance was made. A call that was not even taken is known not to have
    // made any, but asking is cheap and being wrong is not.
    if (isNodepoolError(error, 'NODEPOOL_PROVIDER_UNAVAILABLE')) return goto({ name: 'looking-for-lost-answer' });
    throw error;
  }
}

/** Continues with an instance that carries the node's tag, and that of the database: each counts its nodes from zero. */
async function adopt(context: CreateContext, run: Run): Promise<CreateStep | undefined> {
  const { order } = context;
  const tag = { name: NODE_ID_TAG, value: order.metadata[NODE_ID_TAG] ?? '' };
  const found = await context.call('compute.GET.servers', 'find', tag, run.signal);
  const own = found.filter(({ metadata }) => metadata[DATABASE_ID_TAG] === order.metadata[DATABASE_ID_TAG]);
  const usable = own.find(({ status }) => status === 'active' || status === 'building');
  return usable && accept(usable, context);
}

/** An instance that runs already need not be looked at again. */
function accept(shown: CloudInstance, context: CreateContext): CreateStep {
  if (shown.status === 'active') return done(context.toInstance(shown));
  return goto({ name: 'waiting-for-instance', externalId: shown.id });
}

function judge(instance: FakeInstance, name: string): CreateStep {
  if (instance.ready) return done(instance);
  if (instance.status !== 'error') return wait();
  const fault = instance.fault ?? 'no reason given';
  const message = `instance "${name}" (${instance.externalId}) is in status "error": ${fault}`;
  return failed(
    /exceeds.*quota|quota exceeded/i.test(fault) ? new QuotaError(message) : new LaunchError('status', message),
  );
}
