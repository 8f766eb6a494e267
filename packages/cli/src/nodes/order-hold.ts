import { isPoolComponent, newControl, removeControl, storeControl } from '@nodepool/zk-protocol';
import type { NodeId, NodeRecord, ZooKeeper } from '@nodepool/zk-protocol';
import { nodeListing } from '@nodepool/core/service';
import { print, inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { withZooKeeper } from '../connection/connection.js';
import { fetchComponents, fetchNodeRow } from '../connection/fetch-records.js';
import { personName } from '../connection/who-am-i.js';
import { describeLockHolder, findLockHolder } from '../lease/lock-holder.js';
import { printListing } from '../terminal/output.js';

/** Every order has an end, as it may be forgotten. */
const DEFAULT_HOLD_MS = 24 * 3_600_000;

/** Options of an order. */
interface HoldOrder {
  readonly forMs: number | undefined;
  readonly owner: string | undefined;
  readonly reason: string | undefined;
}

/**
 * Orders to hold a node that is locked: its record belongs to the holder of the lock, so the order is kept with the other
 * orders of operators, and a launcher applies it when the node is unlocked after its use.
 */
export async function orderHold(
  context: CliContext,
  zk: ZooKeeper,
  node: NodeRecord,
  { forMs = DEFAULT_HOLD_MS, owner = personName(), reason = '' }: HoldOrder,
): Promise<void> {
  const { clock } = context;
  const endTimeMs = clock.now() + forMs;
  const order = newControl({ kind: 'node', name: node.id, mode: 'hold', owner, reason, endTimeMs }, clock.now());
  await storeControl(zk, order);
  const row = await fetchNodeRow({ ...context, zk }, node.id);
  printListing(context, nodeListing, row ? [row] : []);
  const holder = await findLockHolder(zk, node.id);
  const by = holder ? `, ${describeLockHolder(holder)}` : '';
  inform(
    `nodepool: node ${node.id} is locked (state ${node.state}${by}). It will be held after its use, ` +
      `until ${new Date(endTimeMs).toISOString()}; nodepool hold ${node.id} --cancel cancels this order`,
  );
  await warnOfOthers(context, zk, node);
}

/** Launchers of the original Nodepool ignore orders: the first of them that sees the node deletes it. */
async function warnOfOthers(context: CliContext, zk: ZooKeeper, { provider, id }: NodeRecord): Promise<void> {
  const pools = (await fetchComponents({ ...context, zk }, 'pool')).filter(isPoolComponent);
  const own = pools.filter(({ providerName }) => providerName === provider);
  const others = own.filter(({ firstPoolPauseMs }) => (firstPoolPauseMs ?? null) === null);
  const hosts = [...new Set(others.map(({ hostname }) => hostname))].sort().join(', ');
  if (own.length === 0)
    inform(
      `nodepool: no registered launcher has the provider ${provider} now; such a launcher must run when the node is unlocked`,
    );
  else if (hosts !== '')
    inform(
      `nodepool: the order may have no effect: ${hosts} has the provider ${provider} too, with the original Nodepool or an ` +
        `earlier version, and deletes node ${id} if it sees it first`,
    );
}

/** Cancels the order for a node; a node that is held already stays held. @throws CliError there is none */
export async function cancelHoldOrder(context: CliContext, id: NodeId): Promise<void> {
  await withZooKeeper(context, async (zk) => {
    if (!(await removeControl(zk, { kind: 'node', name: id })))
      throw new CliError(`There is no order to hold node ${id}`);
    print(`Node ${id} is returned after its use`);
  });
}
