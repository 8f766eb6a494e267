import { encodeNode, isNodepoolError, nodePath, withNode } from '@nodepool/zk-protocol';
import type { NodeId, NodeState, ZooKeeper } from '@nodepool/zk-protocol';
import { nodeListing } from '@nodepool/core/service';
import { withZooKeeper } from '../connection/connection.js';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { printListing } from '../terminal/output.js';
import { CliError } from '../command/errors.js';
import { fetchNode, fetchNodeRow } from '../connection/fetch-records.js';
import { describeLockHolder, findLockHolder, lastingLockRemedy } from '../lease/lock-holder.js';
import { lockNode } from '../lease/node-lock.js';
import { whoAmI } from '../connection/who-am-i.js';

/** How long to wait for somebody else to let go of the node. */
const LOCK_TIMEOUT_MS = 5000;

/** Says that there is no such node: a success, as scripts rely on it, unless they ask for more with `--strict`. */
function reportMissing(context: CliContext, id: string): void {
  if (context.options.strict) throw new CliError(`Node id ${id} not found`);
  print(`Node id ${id} not found`);
}

async function lockOrExplain(context: CliContext, zk: ZooKeeper, id: NodeId) {
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
    const remedy = holder && lastingLockRemedy(holder);
    throw new CliError(remedy === undefined ? summary : `${summary}. ${remedy}`);
  }
}

/** Changes the state of one node under its lock and lists it. */
export async function changeNodeState(context: CliContext, id: NodeId, state: NodeState): Promise<void> {
  await withZooKeeper(context, async (zk) => {
    const source = { ...context, zk };
    if (!(await fetchNode(source, id))) {
      reportMissing(context, id);
      return;
    }
    const lock = await lockOrExplain(context, zk, id);
    try {
      const node = await fetchNode(source, id);
      if (!node) {
        reportMissing(context, id);
        return;
      }
      const changed = withNode(node, { state }, context.clock.now(), 'operator');
      await zk.setData(nodePath(id), encodeNode(changed), node.stat?.version);
    } finally {
      await lock.release();
    }
    const row = await fetchNodeRow(source, id);
    printListing(context, nodeListing, row ? [row] : []);
  });
}
