import { IMAGES_ROOT, buildProviderPath, buildsPath, nodePath } from '@nodepool/zk-protocol';
import type { NodeRecord, ZooKeeper } from '@nodepool/zk-protocol';
import { defineCommand, flag, text } from '../command/command.js';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { withZooKeeper } from '../connection/connection.js';
import { fetchNodeRows, ifPresent, mapPipelined } from '../connection/fetch-records.js';
import { isConfirmed } from '../terminal/confirm.js';

/** `nodepool erase`. */
export const command = defineCommand({
  positionals: { provider: { type: 'string', demandOption: true, describe: 'name of the provider' } },
  options: {
    force: { type: 'boolean', default: false, describe: 'do not ask, and also erase nodes with instances' },
  },
  parse: (values) => ({ provider: text(values, 'provider') ?? '', force: flag(values, 'force') }),
  run: eraseProvider,
});

/**
 * `nodepool erase`: removes all builds' uploads and all nodes of a provider from ZooKeeper, also those that are locked. Instances and images stay in the cloud, and nothing deletes them any more: without `force`, nodes with an
 * instance are refused.
 * @throws {CliError} the provider has such nodes
 */
async function eraseProvider(context: CliContext, args: { provider: string; force: boolean }): Promise<void> {
  const { provider, force } = args;
  if (!force) {
    const rows = await withZooKeeper(context, (zk) => fetchNodeRows({ ...context, zk }));
    refuseInstances(
      provider,
      rows.map(({ node }) => node),
    );
    print('\nWARNING! This action is not reversible!');
    if (!(await isConfirmed(`Erase ZooKeeper data for provider ${provider}?`))) {
      print('Aborting. No data erased.');
      return;
    }
  }
  await withZooKeeper(context, async (zk) => {
    print(`Erasing build data for ${provider}...`);
    await eraseBuilds(zk, provider);
    print(`Erasing node data for ${provider}...`);
    const nodes = (await fetchNodeRows({ ...context, zk })).filter(({ node }) => node.provider === provider);
    await mapPipelined(nodes, ({ node }) => ifPresent(zk.deleteRecursive(nodePath(node.id))));
  });
}

/** Nodes named in one message. */
const MOST_NAMED = 10;

function refuseInstances(provider: string, nodes: readonly NodeRecord[]): void {
  const own = nodes.filter((node) => node.provider === provider && node.externalId !== null);
  if (own.length === 0) return;
  const names = own.slice(0, MOST_NAMED).map(({ id, state }) => `${id} (${state})`);
  const more = own.length > MOST_NAMED ? ` and ${own.length - MOST_NAMED} more` : '';
  throw new CliError(
    `provider "${provider}" has nodes with instances: ${names.join(', ')}${more}. Erased, they would stay in the cloud for good. ` +
      'Delete them first with nodepool delete, or wait until the launcher has drained the provider; --force erases them anyway',
  );
}

async function eraseBuilds(zk: ZooKeeper, provider: string): Promise<void> {
  for (const image of (await ifPresent(zk.getChildren(IMAGES_ROOT))) ?? []) {
    const builds = (await ifPresent(zk.getChildren(buildsPath(image)))) ?? [];
    const trees = builds.filter((build) => build !== 'lock').map((build) => buildProviderPath(image, build, provider));
    await mapPipelined(trees, (path) => ifPresent(zk.deleteRecursive(path)));
  }
}
