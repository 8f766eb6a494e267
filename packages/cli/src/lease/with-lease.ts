import { unfinishedAfter } from '@nodepool/core/service';
import { connectZooKeeper } from '../connection/connection.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { Interrupts } from '../terminal/interrupts.js';
import { acquireNodes } from './acquire.js';
import type { AcquireOptions } from './acquire.js';
import type { Lease } from './lease.js';

/** Time limit for returning nodes: without ZooKeeper, the end of the session returns them. */
const RELEASE_TIMEOUT_MS = 5000;

/** Lost nodes are not returned: their launcher deletes them. */
async function releaseInTime(context: CliContext, lease: Lease): Promise<void> {
  if (lease.lost.aborted) return;
  const late = await unfinishedAfter(RELEASE_TIMEOUT_MS, context.clock, new Map([['nodes', lease.release()]]));
  if (late.length === 0) return;
  throw new CliError('ZooKeeper did not answer while returning the nodes; they are deleted when the session ends');
}

/** An error of `use` takes precedence over an error of the release. */
async function useAndRelease<T>(
  context: CliContext,
  lease: Lease,
  onUnreturned: (error: unknown) => void,
  use: () => Promise<T>,
): Promise<T> {
  let result: T;
  try {
    result = await use();
  } catch (error) {
    await releaseInTime(context, lease).catch((releaseError: unknown) =>
      context.logger.debug('Failed to return the nodes', { error: releaseError }),
    );
    throw error;
  }
  await releaseInTime(context, lease).catch(onUnreturned);
  return result;
}

/**
 * Acquires nodes, runs `use` with them and returns them however `use` ends. Request and locks are ephemeral: they end with this
 * process at the latest.
 * @param onUnreturned - called with the error of a release that failed after a successful use
 * @returns what `use` returned
 */
export async function withLease<T>(
  context: CliContext,
  options: AcquireOptions,
  onUnreturned: (error: unknown) => void,
  use: (lease: Lease, interrupts: Interrupts) => Promise<T>,
): Promise<T> {
  const interrupts = new Interrupts();
  try {
    const zk = await connectZooKeeper(context, interrupts.signal);
    try {
      const lease = await acquireNodes(context, zk, options, interrupts.signal);
      return await useAndRelease(context, lease, onUnreturned, () => use(lease, interrupts));
    } finally {
      await zk.close();
    }
  } finally {
    interrupts.dispose();
  }
}
