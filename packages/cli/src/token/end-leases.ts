import {
  decodeLease,
  encodeLease,
  isZooKeeperError,
  leasePath,
  LEASES_ROOT,
  withLease,
  type LeaseRecord,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { ifPresent, inBatches, mapPipelined } from '../connection/fetch-records.js';

/** How often a lease is tried that launchers change at the same time. */
const ATTEMPTS = 5;

/**
 * Ends the leases that were requested with a token that is revoked already. A launcher returns their nodes, withdraws their
 * requests, and frees their numbers once the nodes are gone: a new token of the name has no more nodes than it may.
 * @returns how many were ended
 * @throws CliError one changes all the time
 */
export async function endLeasesOf(zk: ZooKeeper, token: string, { clock }: Pick<CliContext, 'clock'>): Promise<number> {
  const ids = (await ifPresent(zk.getChildren(LEASES_ROOT))) ?? [];
  const leases = await mapPipelined(ids, (id) => fetchOpen(zk, id, token));
  const open = leases.filter((lease) => lease !== undefined);
  const ended = await inBatches(open, (lease) => end(zk, lease, clock.now()));
  return ended.filter(Boolean).length;
}

/** @returns `undefined`: it is over, of another token, or cannot be read */
async function fetchOpen(zk: ZooKeeper, id: string, token: string): Promise<LeaseRecord | undefined> {
  const found = await ifPresent(zk.getData(leasePath(id)));
  const lease = found && decode(id, found);
  const isOpen = lease?.state === 'waiting' || lease?.state === 'active';
  return isOpen && lease.token === token ? lease : undefined;
}

function decode(id: string, { data, stat }: Awaited<ReturnType<ZooKeeper['getData']>>): LeaseRecord | undefined {
  try {
    return decodeLease(id, data, stat);
  } catch {
    return undefined; // launchers know no such lease either
  }
}

/** @returns false: it was over meanwhile */
async function end(zk: ZooKeeper, first: LeaseRecord, nowMs: number): Promise<boolean> {
  let lease: LeaseRecord | undefined = first;
  for (let attempt = 1; lease; attempt++) {
    const { id, token, stat } = lease;
    const changes = { state: 'ended', endReason: `token ${token} was revoked`, dueTimeMs: null } as const;
    const data = encodeLease(withLease(lease, changes, nowMs));
    try {
      await zk.setData(leasePath(id), data, stat?.version ?? -1);
      return true;
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
      if (attempt === ATTEMPTS) throw new CliError(`lease ${id} could not be ended: ${error.message}; repeat it`);
      lease = await fetchOpen(zk, id, token);
    }
  }
  return false;
}
