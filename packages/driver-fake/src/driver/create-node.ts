import {
  createStateMachine,
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
  type CreateOrder,
  type StateMachine,
  type Step,
} from '@nodepool/core';
import { isNodepoolError } from '@nodepool/zk-protocol';
import type { CloudInstance, InstanceOrder } from '../cloud/index.js';
import type { PacedCall } from './cloud-call.js';
import type { FakeInstance } from './instance.js';

/** State of a creation. */
export type CreateState =
  | { readonly name: 'start' }
  | { readonly name: 'looking-for-earlier-attempt' }
  | { readonly name: 'submitting' }
  | { readonly name: 'looking-for-lost-answer' }
  /** The instance was stopped: see `stop-node.ts`. */
  | { readonly name: 'starting'; readonly externalId: string }
  | { readonly name: 'waiting-for-instance'; readonly externalId: string };

/** Context of a creation. */
export interface CreateContext {
  readonly order: InstanceOrder;
  /** Counts from 1. Only a later attempt can find an instance of an earlier one. */
  readonly attempt: number;
  /** As in `CreateOrder`. */
  readonly resumed?: CreateOrder['resumed'];
  readonly call: PacedCall;
  /** Whether an instance was made for this node. */
  isOfNode(shown: CloudInstance): boolean;
  toInstance(shown: CloudInstance): FakeInstance;
}

type CreateStep = Step<CreateState, Instance>;
type Run = MachineRun<FakeInstance>;

/** Creates one instance; done when it is active. */
export function createMachine(context: CreateContext): StateMachine<Instance, FakeInstance> {
  return createStateMachine<CreateState, Instance, CreateContext, FakeInstance>({
    name: 'create',
    initial: { name: 'start' },
    resumed: context.resumed?.state,
    handlers: createHandlers,
    context,
  });
}

/** Handler of each state. */
export const createHandlers = {
  start: (_state, { attempt }) => goto({ name: attempt > 1 ? 'looking-for-earlier-attempt' : 'submitting' }),
  'looking-for-earlier-attempt': async (_state, context, run) =>
    (await adopt(context, run)) ?? goto({ name: 'submitting' }),
  submitting: submitInstance,
  'looking-for-lost-answer': async (_state, context, run) =>
    (await adopt(context, run)) ??
    failed(new LaunchError('network', `instance "${context.order.name}": the connection broke before it was created`)),
  starting: async ({ externalId }, { call, order }, run) => {
    try {
      await call('compute.POST.servers.action', 'powerOn', externalId, run.signal);
    } catch (error) {
      if (!isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) throw error;
      return failed(
        new LaunchError('status', `instance "${order.name}" (${externalId}) vanished while it was stopped`),
      );
    }
    return goto({ name: 'waiting-for-instance', externalId });
  },
  'waiting-for-instance': async ({ externalId }, { order }, run) => {
    const instance = await run.instances.find(externalId);
    if (!instance) {
      return failed(new LaunchError('status', `instance "${order.name}" (${externalId}) vanished while being created`));
    }
    return evaluate(instance, order.name);
  },
} satisfies Handlers<CreateState, Instance, CreateContext, FakeInstance>;

async function submitInstance(_state: CreateState, context: CreateContext, run: Run): Promise<CreateStep> {
  try {
    const made = await context.call('compute.POST.servers', 'create', context.order, run.signal);
    return accept(made, context);
  } catch (error) {
    // The answer may have been lost after the instance was created. The lookup is cheap, so it also follows a call
    // that never reached the cloud.
    if (isNodepoolError(error, 'NODEPOOL_PROVIDER_UNAVAILABLE')) return goto({ name: 'looking-for-lost-answer' });
    throw error;
  }
}

/** Adopts an instance with the tags of the node, also one that is broken: the attempt fails with it. */
async function adopt(context: CreateContext, run: Run): Promise<CreateStep | undefined> {
  const { order } = context;
  const tag = { name: NODE_ID_TAG, value: order.metadata[NODE_ID_TAG] ?? '' };
  const found = await context.call('compute.GET.servers', 'find', tag, run.signal);
  const present = found.filter((one) => context.isOfNode(one) && one.status !== 'deleting');
  const chosen = present.find(({ status }) => status !== 'error') ?? present[0];
  return chosen && accept(chosen, context);
}

/** An instance that is active already needs no further check. */
function accept(shown: CloudInstance, context: CreateContext): CreateStep {
  if (shown.status === 'active') return done(context.toInstance(shown));
  return goto({ name: 'waiting-for-instance', externalId: shown.id });
}

function evaluate(instance: FakeInstance, name: string): CreateStep {
  if (instance.ready) return done(instance);
  if (instance.status !== 'error') return wait();
  const fault = instance.fault ?? 'no reason given';
  const message = `instance "${name}" (${instance.externalId}) is in status "error": ${fault}`;
  return failed(
    /exceeds.*quota|quota exceeded/i.test(fault) ? new QuotaError(message) : new LaunchError('status', message),
  );
}
