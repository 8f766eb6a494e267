import { unfinishedAfter } from '@nodepool/core/service';
import { findServerOrSocket } from '../connection/local-server.js';
import { findServer } from '../connection/server.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { Interrupts } from '../terminal/interrupts.js';
import type { AcquireOptions } from './acquire-options.js';
import type { Lease } from './lease.js';

/** Time limit for returning nodes: without an answer, the end of the session or of the lease returns them. */
const RELEASE_TIMEOUT_MS = 5000;
const NORMAL_PRIORITY = 200;

/** Lost nodes are not returned: their launcher deletes them. */
async function releaseInTime(context: CliContext, lease: Lease): Promise<void> {
  if (lease.lost.aborted) return;
  const late = await unfinishedAfter(RELEASE_TIMEOUT_MS, context.clock, new Map([['nodes', lease.release()]]));
  if (late.length === 0) return;
  throw new CliError(lease.lateText);
}

/** What users of a launcher's socket cannot have. */
function needsZooKeeper({ provider, force, priority }: AcquireOptions): boolean {
  return provider !== undefined || force || priority < NORMAL_PRIORITY;
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
    result = await use().finally(() => lease.dispose());
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
 * Acquires nodes, from a server over HTTP or through ZooKeeper, runs `use` with them and returns them however `use` ends. If this
 * process is killed, request and nodes end soon: with its session, or when the lease is not renewed.
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
  const useLease = (lease: Lease) => useAndRelease(context, lease, onUnreturned, () => use(lease, interrupts));
  try {
    const find = needsZooKeeper(options) ? findServer : findServerOrSocket;
    const server = await find(context, options.server);
    if (server) {
      const { acquireFromServer } = await import('./acquire-from-server.js');
      return await useLease(await acquireFromServer(context, server, options, interrupts.signal));
    }
    const { connectZooKeeper } = await import('../connection/connection.js');
    const { acquireNodes } = await import('./acquire-from-zookeeper.js');
    const zk = await connectZooKeeper(context, interrupts.signal);
    try {
      return await useLease(await acquireNodes(context, zk, options, interrupts.signal));
    } finally {
      await zk.close();
    }
  } finally {
    interrupts.dispose();
  }
}
