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
  const isMeant = (lease: LeaseRecord) => lease.token === token;
  const open = await fetchOpenLeases(zk, isMeant);
  return endLeases(zk, open, { isMeant, why: `token ${token} was revoked`, nowMs: clock.now() });
}

/** Leases that are waiting or active; without those that cannot be read. */
export async function fetchOpenLeases(zk: ZooKeeper, isMeant: (lease: LeaseRecord) => boolean): Promise<LeaseRecord[]> {
  const ids = (await ifPresent(zk.getChildren(LEASES_ROOT))) ?? [];
  const leases = await mapPipelined(ids, (id) => fetchOpen(zk, id, isMeant));
  return leases.filter((lease) => lease !== undefined);
}

/** Which leases to end, and what their owners read. */
interface LeaseEnd {
  /** Asked again for a lease that has changed. */
  readonly isMeant: (lease: LeaseRecord) => boolean;
  readonly why: string;
  readonly nowMs: number;
}

/** Ends leases. @returns how many were ended @throws CliError one changes all the time */
export async function endLeases(zk: ZooKeeper, leases: readonly LeaseRecord[], how: LeaseEnd): Promise<number> {
  const ended = await inBatches(leases, (lease) => end(zk, lease, how));
  return ended.filter(Boolean).length;
}

/** @returns `undefined`: it is over, is not meant, or cannot be read */
async function fetchOpen(
  zk: ZooKeeper,
  id: string,
  isMeant: (lease: LeaseRecord) => boolean,
): Promise<LeaseRecord | undefined> {
  const found = await ifPresent(zk.getData(leasePath(id)));
  const lease = found && decode(id, found);
  const isOpen = lease?.state === 'waiting' || lease?.state === 'active';
  return isOpen && isMeant(lease) ? lease : undefined;
}

function decode(id: string, { data, stat }: Awaited<ReturnType<ZooKeeper['getData']>>): LeaseRecord | undefined {
  try {
    return decodeLease(id, data, stat);
  } catch {
    return undefined; // launchers know no such lease either
  }
}

/** @returns false: it was over meanwhile */
async function end(zk: ZooKeeper, first: LeaseRecord, { isMeant, why, nowMs }: LeaseEnd): Promise<boolean> {
  let lease: LeaseRecord | undefined = first;
  for (let attempt = 1; lease; attempt++) {
    const { id, stat } = lease;
    const changes = { state: 'ended', endReason: why, dueTimeMs: null } as const;
    const data = encodeLease(withLease(lease, changes, nowMs));
    try {
      await zk.setData(leasePath(id), data, stat?.version ?? -1);
      return true;
    } catch (error) {
      if (!isZooKeeperError(error)) throw error;
      if (attempt === ATTEMPTS) throw new CliError(`lease ${id} could not be ended: ${error.message}; repeat it`);
      lease = await fetchOpen(zk, id, isMeant);
    }
  }
  return false;
}
