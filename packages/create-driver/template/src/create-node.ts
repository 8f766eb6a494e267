import {
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
import type { CloudClient, MachineOrder } from './client.js';
import type { TemplateInstance } from './instance.js';

/** State of a creation. */
type CreateState =
  | { readonly name: 'start' }
  | { readonly name: 'looking-for-lost-answer' }
  | { readonly name: 'waiting-for-instance'; readonly externalId: string };

interface CreateContext {
  readonly client: CloudClient;
  readonly order: MachineOrder;
}

/** Creates one machine and completes when it runs. */
export function createMachine(client: CloudClient, order: MachineOrder): StateMachine<Instance, TemplateInstance> {
  return createStateMachine<CreateState, Instance, CreateContext, TemplateInstance>({
    name: 'create',
    initial: { name: 'start' },
    handlers,
    context: { client, order },
  });
}

/** Each handler makes one call or observation and returns the next state. Core waits, repeats and persists. */
const handlers = {
  start: submit,
  'looking-for-lost-answer': findLost,
  'waiting-for-instance': async ({ externalId }, { order }, run) => {
    const instance = await run.instances.find(externalId);
    if (!instance) return failed(new LaunchError('status', `machine "${order.name}" vanished while it was made`));
    if (instance.status === 'broken') return failed(new LaunchError('status', `machine "${order.name}" is broken`));
    return instance.ready ? done(instance) : wait();
  },
} satisfies Handlers<CreateState, Instance, CreateContext, TemplateInstance>;

async function submit(_state: CreateState, { client, order }: CreateContext, run: MachineRun<TemplateInstance>) {
  try {
    const { id } = await client.create(order, run.signal);
    return goto<CreateState>({ name: 'waiting-for-instance', externalId: id });
  } catch (error) {
    // The call may have succeeded without a response. Look for the machine first: a retry could create a second one.
    if (isNodepoolError(error, 'NODEPOOL_PROVIDER_UNAVAILABLE')) {
      return goto<CreateState>({ name: 'looking-for-lost-answer' });
    }
    throw error;
  }
}

async function findLost(
  _state: CreateState,
  { client, order }: CreateContext,
  run: MachineRun<TemplateInstance>,
): Promise<Step<CreateState, Instance>> {
  const machines = await client.list(run.signal);
  // Compare all tags: a node id is unique only together with the provider name and the database id.
  const own = machines.find(({ tags }) => Object.entries(order.tags).every(([tag, value]) => tags[tag] === value));
  if (own) return goto({ name: 'waiting-for-instance', externalId: own.id });
  return failed(new LaunchError('network', `machine "${order.name}": the cloud did not answer, and made nothing`));
}
