import { firstOf } from '@nodepool/core/service';
import { IMAGES_ROOT, buildProviderPath, buildsPath, isPoolComponent, nodePath } from '@nodepool/zk-protocol';
import type { ComponentRecord, NodeRecord, ZooKeeper } from '@nodepool/zk-protocol';
import { defineCommand, flag, text } from '../command/command.js';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { withZooKeeper } from '../connection/connection.js';
import { fetchComponents, fetchNodeRows, ifPresent, mapPipelined } from '../connection/fetch-records.js';
import { isConfirmed } from '../terminal/confirm.js';

/** `nodepool erase`. */
export const command = defineCommand({
  positionals: { provider: { type: 'string', demandOption: true, describe: 'name of the provider' } },
  options: {
    force: {
      type: 'boolean',
      default: false,
      describe: 'do not ask, and also erase nodes with instances and providers in service',
    },
  },
  parse: (values) => ({ provider: text(values, 'provider') ?? '', force: flag(values, 'force') }),
  run: eraseProvider,
});

/**
 * `nodepool erase`: removes all builds' uploads and all nodes of a provider from ZooKeeper, also those that are locked. Instances and images stay in the cloud, and nothing deletes them any more: without `force`, nodes with an
 * instance are refused, as is a provider that a launcher serves.
 * @returns the exit status: 1 if the user did not confirm
 * @throws {CliError} the provider has such nodes, or is served
 */
async function eraseProvider(context: CliContext, args: { provider: string; force: boolean }): Promise<number> {
  const { provider, force } = args;
  if (!force) {
    await withZooKeeper(context, async (zk) => {
      const rows = await fetchNodeRows({ ...context, zk });
      refuseInstances(
        provider,
        rows.map(({ node }) => node),
      );
      refuseServed(provider, await fetchComponents({ ...context, zk }, 'pool'));
    });
    print('\nWARNING! This action is not reversible!');
    if (!(await isConfirmed(`Erase ZooKeeper data for provider ${provider}?`))) {
      print('Aborting. No data erased.');
      return 1;
    }
  }
  await withZooKeeper(context, async (zk) => {
    print(`Erasing build data for ${provider}...`);
    await eraseBuilds(zk, provider);
    print(`Erasing node data for ${provider}...`);
    const nodes = (await fetchNodeRows({ ...context, zk })).filter(({ node }) => node.provider === provider);
    await mapPipelined(nodes, ({ node }) => ifPresent(zk.deleteRecursive(nodePath(node.id))));
  });
  return 0;
}

/** Nodes named in one message. */
const MOST_NAMED = 10;

function refuseInstances(provider: string, nodes: readonly NodeRecord[]): void {
  const own = nodes.filter((node) => node.provider === provider && node.externalId !== null);
  if (own.length === 0) return;
  const names = own.map(({ id, state }) => `${id} (${state})`);
  throw new CliError(
    `provider "${provider}" has nodes with instances: ${firstOf(names, MOST_NAMED)}. Erased, they would stay in the cloud for good. ` +
      'Delete them first with nodepool delete, or wait until the launcher has drained the provider; --force erases them anyway',
  );
}

/** Its launcher may be one of the original, and the provider unknown on this machine. */
function refuseServed(provider: string, components: readonly ComponentRecord[]): void {
  const pools = components.filter(isPoolComponent).filter(({ providerName }) => providerName === provider);
  const hosts = [...new Set(pools.map(({ hostname }) => hostname))].sort();
  if (hosts.length === 0) return;
  throw new CliError(
    `provider "${provider}" is served by the launcher on ${hosts.join(', ')}, which uses its records. Remove the provider ` +
      'from the configuration there first; --force erases them anyway',
  );
}

async function eraseBuilds(zk: ZooKeeper, provider: string): Promise<void> {
  for (const image of (await ifPresent(zk.getChildren(IMAGES_ROOT))) ?? []) {
    const builds = (await ifPresent(zk.getChildren(buildsPath(image)))) ?? [];
    const trees = builds.filter((build) => build !== 'lock').map((build) => buildProviderPath(image, build, provider));
    await mapPipelined(trees, (path) => ifPresent(zk.deleteRecursive(path)));
  }
}
