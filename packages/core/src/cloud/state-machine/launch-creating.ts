import { isNodepoolError } from '@nodepool/zk-protocol';
import type { Deadline } from '../../async/deadline.js';
import type { Instance } from '../../contract/instance.js';
import { runMachine } from '../operations/run-machine.js';
import type { LaunchStepTo, LaunchWork } from './launch-work.js';
import { fieldsOfInstance, type NodeImage } from './node-fields.js';

/** Errors that say that the cloud made nothing. */
const NOTHING_MADE = ['NODEPOOL_QUOTA', 'NODEPOOL_CAPACITY', 'NODEPOOL_CONFIG', 'NODEPOOL_NOT_FOUND'];

function madeNothing(error: unknown): boolean {
  return NOTHING_MADE.some((code) => isNodepoolError(error, code));
}

/** Runs the driver's state machine that makes an instance. Its id is stored in the node as soon as the cloud tells it. */
export async function createInstance(
  work: LaunchWork,
  stage: LaunchStepTo<'creating'>,
  { signal }: Deadline,
): Promise<LaunchStepTo<'scanning' | 'storing'>> {
  return afterCreation(work, await create(work, stage, signal), stage.image);
}

async function create(
  work: LaunchWork,
  { attempt, image }: LaunchStepTo<'creating'>,
  signal: AbortSignal,
): Promise<Instance> {
  const { order, node, label, pool, logger } = work;
  const machine = work.services.adapter.getCreateStateMachine({
    hostname: `np${order.node.id}`,
    label,
    pool,
    imageExternalId: image.externalId,
    metadata: work.tags(),
    request: order.request,
    node,
    az: node.az,
    attempt,
    logger,
  });
  let known: string | undefined;
  try {
    const instance = await runMachine(machine, {
      ...work.runOptions(signal),
      saveExternalId: async (externalId) => {
        known = externalId;
        order.created?.();
        work.leftovers.add(externalId);
        await work.store({ ...image.fields, externalId });
      },
    });
    if (typeof (instance as Instance | undefined)?.externalId !== 'string') {
      throw new Error(`machine "${machine.name}" ended without an instance: return done(instance)`);
    }
    work.leftovers.add(instance.externalId);
    return instance;
  } catch (error) {
    if (known === undefined) work.unknownSinceMs = madeNothing(error) ? undefined : work.services.clock.now();
    else if (machine.state.externalId === undefined && machine.complete) await letGo(work, known);
    throw error;
  }
}

/** The cloud has an instance of this id that is not the node's, or none: it must not be deleted with the node. */
async function letGo(work: LaunchWork, externalId: string): Promise<void> {
  work.leftovers.delete(externalId);
  if (!work.storeError) await work.store({ externalId: null });
}

/** What follows when the instance runs. */
export function afterCreation(
  { label, pool }: LaunchWork,
  instance: Instance,
  image: NodeImage,
): LaunchStepTo<'scanning' | 'storing'> {
  const fields = { ...image.fields, ...fieldsOfInstance(instance, pool, image) };
  const hasHostKeys = typeof fields.interfaceIp === 'string';
  return label.hostKeyChecking && hasHostKeys ? { name: 'scanning', instance, fields } : { name: 'storing', fields };
}
