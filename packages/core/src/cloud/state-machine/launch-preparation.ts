import { backoffMs, delay, isNodepoolError, orAbort, steadyNow } from '@nodepool/zk-protocol';
import { startDeadline } from '../../async/deadline.js';
import { CapacityError } from '../../contract/errors.js';
import { isOurs } from '../ownership/ownership.js';
import { runMachine } from '../operations/run-machine.js';
import type { LaunchWork } from './launch-work.js';
import { imageOfLabel, type NodeImage } from './node-fields.js';

const RETRY = { firstMs: 1_000, longestMs: 30_000 };

/**
 * Deletes what earlier attempts made, so that there are never two instances for one node. Failures are tried again until
 * the attempt's time is over. Then looks for the image that the next instance is made from.
 */
export async function prepareAttempt(work: LaunchWork, signal: AbortSignal): Promise<NodeImage> {
  const { config, images } = work.services;
  await deleteAll(work, signal);
  const upload = work.chooseUpload();
  const image = (work.image = imageOfLabel(config, work.label, upload ? { newestUpload: () => upload } : images));
  if (!image) {
    throw new CapacityError(`image "${work.label.diskimage}" has no ready upload in provider "${config.name}"`, {
      statsdKey: 'error.nodepool',
    });
  }
  return image;
}

async function deleteAll(work: LaunchWork, signal: AbortSignal): Promise<void> {
  const { clock, random } = work.services;
  for (let failures = 0; work.unknownSinceMs !== undefined || work.leftovers.size > 0; failures++) {
    try {
      if (work.unknownSinceMs !== undefined) {
        await untilListed(work, work.unknownSinceMs, signal);
        await findUnknown(work, signal);
      }
      for (const externalId of work.leftovers) await deleteOne(work, externalId, signal);
    } catch (error) {
      if (signal.aborted || work.storeError) throw error;
      work.logger.warn('Could not delete what an earlier attempt left; trying again', { error });
      await delay(clock, backoffMs(failures, RETRY, random), signal);
    }
  }
}

async function deleteOne(work: LaunchWork, externalId: string, signal: AbortSignal): Promise<void> {
  try {
    const order = { externalId, node: work.node, logger: work.logger };
    await runMachine(work.services.adapter.getDeleteStateMachine(order), work.runOptions(signal));
  } catch (error) {
    if (!isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) throw error;
  }
  work.leftovers.delete(externalId);
}

/** Waits until lists show whatever had been made by then. */
async function untilListed({ services, logger }: LaunchWork, sinceMs: number, signal: AbortSignal): Promise<void> {
  const { adapter, clock } = services;
  const waitMs = sinceMs + (adapter.listLagMs ?? 0) - steadyNow(clock);
  if (waitMs <= 0) return;
  logger.info('Waiting until lists show what an earlier attempt may have made', { ms: waitMs });
  await delay(clock, waitMs, signal);
}

/** The cloud may have made an instance whose id never arrived here: it carries the node's tags. */
async function findUnknown(work: LaunchWork, signal: AbortSignal): Promise<void> {
  const { instances, config, databaseId } = work.services;
  for (const { externalId, metadata, deleted } of await instances.list(instances.mark(), signal)) {
    if (deleted || !isOurs(metadata, config.name, databaseId, work.node)) continue;
    work.leftovers.add(externalId);
    if (work.node.externalId !== externalId) await work.store({ externalId });
  }
  work.unknownSinceMs = undefined;
}

/** Notes possible leftovers of the last attempt, so that they are deleted with the node and not only found as leaked. */
export async function noteLeftovers(work: LaunchWork): Promise<void> {
  const deadline = startDeadline(work.services.clock, RETRY.longestMs, work.signal);
  try {
    if (work.unknownSinceMs !== undefined) await orAbort(findUnknown(work, deadline.signal), deadline.signal);
    const [externalId] = work.leftovers;
    const isNoted = typeof work.node.externalId === 'string' && work.leftovers.has(work.node.externalId);
    if (externalId !== undefined && !isNoted) await work.store({ externalId });
  } catch (error) {
    work.logger.warn('Could not look for what the launch left; it will be found as leaked', { error });
  } finally {
    deadline.end();
  }
}
