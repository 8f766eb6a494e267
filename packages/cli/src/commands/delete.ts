import type { Provider } from '@nodepool/core';
import { createDriverRegistry } from '@nodepool/core/config';
import { nodeListing } from '@nodepool/core/service';
import type { NodeId, NodeRecord, ZooKeeper } from '@nodepool/zk-protocol';
import { encodeNode, nodePath, withNode } from '@nodepool/zk-protocol';
import { defineCommand, flag, text } from '../command/command.js';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { driverPlaces, loadFullConfig } from '../connection/config.js';
import { withZooKeeper } from '../connection/connection.js';
import { fetchNode, fetchNodeRow, ifPresent } from '../connection/fetch-records.js';
import { makeProvider } from '../connection/make-provider.js';
import { changeNode, lockOrExplain, reportMissing } from '../nodes/change-node.js';
import { Interrupts } from '../terminal/interrupts.js';
import { printListing } from '../terminal/output.js';
import { NODE_ID } from './shared-options.js';

/** `nodepool delete`. */
export const command = defineCommand({
  positionals: { id: NODE_ID },
  options: {
    now: {
      type: 'boolean',
      default: false,
      describe: 'delete it in the foreground, with the provider of this configuration',
    },
  },
  parse: (values) => ({ id: (text(values, 'id') ?? '') as NodeId, now: flag(values, 'now') }),
  async run(context, { id, now }) {
    if (now) await deleteNow(context, id);
    else await changeNode(context, id, () => ({ state: 'deleting' }));
  },
});

/**
 * `nodepool delete --now`: deletes a node and its instance in the foreground, with the provider of this
 * configuration; no launcher is needed. A deletion that fails or is interrupted leaves the node to the launchers, in the
 * state `deleting`.
 * @throws CliError when the lock cannot be taken, or the provider cannot delete
 */
async function deleteNow(context: CliContext, id: NodeId): Promise<void> {
  const registry = createDriverRegistry(driverPlaces(context.options.configFile));
  const config = await loadFullConfig(context, registry);
  await withZooKeeper(context, async (zk) => {
    const source = { ...context, zk };
    const found = await fetchNode(source, id);
    if (!found) {
      await reportMissing(context, zk, id);
      return;
    }
    const configured = found.provider === null ? undefined : config.providers.get(found.provider);
    if (!configured) {
      reportUndefinedProvider(context, found);
      return;
    }
    await deleteLocked(context, zk, id, () => makeProvider(context, { zk, config, registry }, configured));
    const row = await fetchNodeRow(source, id);
    printListing(context, nodeListing, row ? [row] : []);
  });
}

function reportUndefinedProvider(context: CliContext, { provider, id }: NodeRecord): void {
  const text = `Provider ${provider} for node ${id} not defined on this launcher`;
  if (context.options.strict) throw new CliError(text);
  print(text);
}

async function deleteLocked(
  context: CliContext,
  zk: ZooKeeper,
  id: NodeId,
  make: () => Promise<Provider>,
): Promise<void> {
  const lock = await lockOrExplain(context, zk, id);
  const interrupts = new Interrupts();
  try {
    const node = await fetchNode({ ...context, zk }, id);
    if (!node) return;
    const marked = withNode(node, { state: 'deleting' }, context.clock.now(), 'operator');
    await zk.setData(nodePath(id), encodeNode(marked), node.stat?.version);
    const provider = await make();
    try {
      if (provider.ownsResource?.(marked) ?? marked.externalId !== null) {
        await (provider.startImages ?? provider.start).call(provider, interrupts.signal);
        await provider.startNodeCleanup(marked, AbortSignal.any([interrupts.signal, lock.lost]));
      }
      await ifPresent(zk.deleteRecursive(nodePath(id))); // deletes its lock too
    } finally {
      provider.stop();
      await provider.join();
    }
  } finally {
    interrupts.dispose();
    await lock.release();
  }
}
