import { encodeNode, isNodepoolError, nodePath, NODES_ROOT, withNode } from '@nodepool/zk-protocol';
import type { NodeFields, NodeId, NodeRecord, ZooKeeper } from '@nodepool/zk-protocol';
import { nodeListing } from '@nodepool/core/service';
import { withZooKeeper } from '../connection/connection.js';
import { print, inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { printListing } from '../terminal/output.js';
import { CliError } from '../command/errors.js';
import { fetchNode, fetchNodeRow, ifPresent } from '../connection/fetch-records.js';
import { describeLockHolder, findLockHolder, persistentLockRemedy } from '../lease/lock-holder.js';
import { lockNode } from '../lease/node-lock.js';
import { whoAmI } from '../connection/who-am-i.js';

/** How long to wait for the lock of a node. */
const LOCK_TIMEOUT_MS = 5000;

/** Reports an unknown node: a success, as scripts rely on it, except with `--strict`. */
export async function reportMissing(context: CliContext, zk: ZooKeeper, id: string): Promise<void> {
  if (context.options.strict) throw new CliError(`Node id ${id} not found`);
  print(`Node id ${id} not found`);
  const known = (await ifPresent(zk.getChildren(NODES_ROOT))) ?? [];
  const padded = id.padStart(NODE_ID_DIGITS, '0');
  // other numbers could mean any node
  const meant = known.includes(padded) ? `, did you mean ${padded}?` : '';
  inform(`nodepool: nothing was done: there is no node ${id}${meant}`);
}

const NODE_ID_DIGITS = 10;

/** Another process holds the lock of a node. */
export class NodeLockedError extends CliError {}

/** Takes the lock of a node. @throws NodeLockedError that names the holder */
export async function lockOrExplain(context: CliContext, zk: ZooKeeper, id: NodeId) {
  try {
    return await lockNode(zk, context.clock, id, { owner: whoAmI(), timeoutMs: LOCK_TIMEOUT_MS });
  } catch (error) {
    if (!isNodepoolError(error, 'NODEPOOL_LOCK_TIMEOUT')) throw error;
    const node = await fetchNode({ ...context, zk }, id);
    const holder = await findLockHolder(zk, id);
    const facts = [
      `state ${node?.state}`,
      node?.allocatedTo && `allocated to ${node.allocatedTo}`,
      holder && describeLockHolder(holder),
    ];
    const summary = `Node ${id} is locked (${facts.filter(Boolean).join(', ')}); gave up after ${LOCK_TIMEOUT_MS / 1000} s`;
    const remedy = holder && persistentLockRemedy(holder);
    throw new NodeLockedError(remedy === undefined ? summary : `${summary}. ${remedy}`);
  }
}

/**
 * Changes one node under its lock and lists it.
 * @param change - computes the changes from the locked record
 * @returns the stored node; `undefined` if the id is unknown
 */
export async function changeNode(
  context: CliContext,
  id: NodeId,
  change: (node: NodeRecord, nowMs: number) => NodeFields,
): Promise<NodeRecord | undefined> {
  return withZooKeeper(context, async (zk) => {
    const source = { ...context, zk };
    const changed = (await fetchNode(source, id)) && (await changeUnderLock(context, zk, id, change));
    if (!changed) {
      await reportMissing(context, zk, id);
      return undefined;
    }
    const row = await fetchNodeRow(source, id);
    printListing(context, nodeListing, row ? [row] : []);
    return changed;
  });
}

async function changeUnderLock(
  context: CliContext,
  zk: ZooKeeper,
  id: NodeId,
  change: (node: NodeRecord, nowMs: number) => NodeFields,
): Promise<NodeRecord | undefined> {
  const lock = await lockOrExplain(context, zk, id);
  try {
    const node = await fetchNode({ ...context, zk }, id);
    if (!node) return undefined;
    const nowMs = context.clock.now();
    const changed = withNode(node, change(node, nowMs), nowMs, 'operator');
    await zk.setData(nodePath(id), encodeNode(changed), node.stat?.version);
    return changed;
  } finally {
    await lock.release();
  }
}
