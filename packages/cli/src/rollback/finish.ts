import {
  controlPath,
  encodeControl,
  encodeNode,
  isNodepoolError,
  isParked,
  isZooKeeperError,
  newControl,
  nodePath,
  removeControl,
  requestPath,
  withNode,
} from '@nodepool/zk-protocol';
import type { NodeRecord, PoolComponentRecord, ZooKeeper } from '@nodepool/zk-protocol';
import type { CliContext } from '../command/context.js';
import { fetchNode, ifPresent, inBatches } from '../connection/fetch-records.js';
import { lockNode } from '../lease/node-lock.js';
import { endLeases } from '../token/end-leases.js';
import type { Unfinished } from './find-unfinished.js';

/** A node whose lock is held for longer is tried again in the next round. */
const LOCK_TIMEOUT_MS = 1_000;

/**
 * Pauses the providers of these pools for launchers of this project, which alone obey orders: those of the original serve what comes.
 * The orders end with the session of this command.
 */
export async function pauseProviders(
  { clock }: CliContext,
  zk: ZooKeeper,
  pools: readonly PoolComponentRecord[],
  owner: string,
): Promise<void> {
  for (const name of new Set(pools.map(({ providerName }) => providerName))) {
    const order = { kind: 'provider', name, mode: 'pause', owner, reason: 'rollback to the original' } as const;
    const path = controlPath(order);
    await zk.ensurePath(path.slice(0, path.lastIndexOf('/')));
    try {
      await zk.create(path, encodeControl(newControl(order, clock.now())), { ephemeral: true });
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NODE_EXISTS')) throw error;
    }
  }
}

/** Ends what may be ended. Repeat it: launchers change the same records meanwhile. */
export async function endUnfinished(
  context: CliContext,
  zk: ZooKeeper,
  found: Unfinished,
  how: { readonly endsActive: boolean; readonly owner: string },
): Promise<void> {
  await pauseProviders(context, zk, found.ours, how.owner);
  const leases = how.endsActive ? [...found.waiting, ...found.active] : found.waiting;
  const isMeant = ({ state }: { readonly state: string }) => how.endsActive || state === 'waiting';
  await endLeases(zk, leases, { isMeant, why: 'the launchers that lend are going away', nowMs: context.clock.now() });
  await inBatches(found.spares, (node) => deleteSpare(context, zk, node, how.owner));
  for (const order of found.orders) await removeControl(zk, order);
  // launchers withdraw the requests of ended leases while there are any
  if (found.ours.length > 0) return;
  for (const { id } of found.requests) await ifPresent(zk.delete(requestPath(id)));
}

/** Marks a stopped node for deletion, which launchers of both kinds do. */
async function deleteSpare(context: CliContext, zk: ZooKeeper, { id }: NodeRecord, owner: string): Promise<void> {
  const { clock } = context;
  try {
    const lock = await lockNode(zk, clock, id, { owner, timeoutMs: LOCK_TIMEOUT_MS });
    try {
      const node = await fetchNode({ ...context, zk }, id);
      if (!node || !isParked(node)) return;
      const marked = withNode(node, { state: 'deleting' }, clock.now(), 'operator');
      await zk.setData(nodePath(id), encodeNode(marked), node.stat?.version);
    } finally {
      await lock.release();
    }
  } catch (error) {
    const isBusy =
      isNodepoolError(error, 'NODEPOOL_LOCK_TIMEOUT') || isZooKeeperError(error, 'ZK_BAD_VERSION', 'ZK_NO_NODE');
    if (!isBusy) throw error;
  }
}
