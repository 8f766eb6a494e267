import { buildProviderPath, buildsPath, IMAGES_ROOT, nodePath } from '@nodepool/zk-protocol';
import type { ZooKeeper } from '@nodepool/zk-protocol';
import { withZooKeeper } from '../connection/connection.js';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { isConfirmed } from '../terminal/confirm.js';
import { fetchNodeRows, ifPresent, mapPipelined } from '../connection/fetch-records.js';

/**
 * `nodepool erase`: removes all builds' uploads and all nodes of a provider from ZooKeeper, whoever holds them. What is in
 * the cloud stays there.
 */
export async function eraseProvider(context: CliContext, args: { provider: string; force: boolean }): Promise<void> {
  const { provider, force } = args;
  if (!force) {
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

async function eraseBuilds(zk: ZooKeeper, provider: string): Promise<void> {
  for (const image of (await ifPresent(zk.getChildren(IMAGES_ROOT))) ?? []) {
    const builds = (await ifPresent(zk.getChildren(buildsPath(image)))) ?? [];
    const trees = builds.filter((build) => build !== 'lock').map((build) => buildProviderPath(image, build, provider));
    await mapPipelined(trees, (path) => ifPresent(zk.deleteRecursive(path)));
  }
}
