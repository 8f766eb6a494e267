import type { Context } from '../state/context.js';

/**
 * What a launcher knows of leases:
 * - `starting`: it has not read all records since its start
 * - `current`: what is true now, or was within the session timeout
 * - `cut-off`: it has been cut off from ZooKeeper for longer, has just woken, or is reading its records again
 */
export type LeaseKnowledge = 'starting' | 'current' | 'cut-off';

/** @param caches - of all records that leases consist of */
export function leaseKnowledge(
  { zk, life }: { zk: Pick<Context['zk'], 'state' | 'sessionLeftMs'>; life: Pick<Context['life'], 'isStarted'> },
  caches: readonly { readonly ready: boolean }[],
): LeaseKnowledge {
  const areRead = caches.every(({ ready }) => ready);
  if (!areRead && !life.isStarted) return 'starting';
  const isFresh = zk.sessionLeftMs > 0 && (areRead || zk.state !== 'CONNECTED');
  return isFresh ? 'current' : 'cut-off';
}
