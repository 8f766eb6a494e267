import { isZooKeeperError, ZooKeeperError } from './contract/errors.js';
import type { ZooKeeper } from './contract/types.js';

/** Concurrent requests of a walk over a tree, and deletions of one transaction. */
const PARALLEL = 500;
/** Rounds of a recursive delete while other clients change the tree. */
const MAX_ROUNDS = 10;

/** Creates a path and its parents; one round trip if it exists, otherwise two. */
export async function ensurePath(
  zooKeeper: { exists(path: string): Promise<unknown>; create(path: string): Promise<unknown> },
  path: string,
): Promise<void> {
  if (path === '/' || (await zooKeeper.exists(path)) !== undefined) return;
  const parts = path.split('/').slice(1);
  const creates = parts.map((_, index) => zooKeeper.create(`/${parts.slice(0, index + 1).join('/')}`));
  const results = await Promise.allSettled(creates);
  // Failed creates of parents do not matter if the leaf was created.
  const leaf = results[results.length - 1] as PromiseSettledResult<unknown>;
  if (leaf.status === 'fulfilled' || isZooKeeperError(leaf.reason, 'ZK_NODE_EXISTS')) return;
  const firstFailure = results.find(
    (result) => result.status === 'rejected' && !isZooKeeperError(result.reason, 'ZK_NODE_EXISTS'),
  );
  throw (firstFailure as PromiseRejectedResult).reason;
}

/**
 * Deletes a subtree, deepest first and up to 500 nodes at once, so that no client gets a lock in it meanwhile; starts over while other
 * clients change it.
 */
export async function deleteTree(zooKeeper: Pick<ZooKeeper, 'getChildren' | 'multi'>, root: string): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const paths = await listTree(zooKeeper, root);
    if (await deleteAll(zooKeeper, paths.reverse())) return;
  }
  throw new ZooKeeperError('ZK_NOT_EMPTY', `delete ${root}: other clients keep changing it`, { path: root });
}

/** The subtree, parents before children. */
async function listTree(zooKeeper: Pick<ZooKeeper, 'getChildren'>, root: string): Promise<string[]> {
  const all: string[] = [];
  let level = [root];
  while (level.length > 0) {
    const next: string[] = [];
    for (let start = 0; start < level.length; start += PARALLEL) {
      const parents = level.slice(start, start + PARALLEL);
      const found = await Promise.all(parents.map((parent) => childrenOf(zooKeeper, parent)));
      parents.forEach((parent, index) => {
        const children = found[index];
        if (children === undefined) return;
        all.push(parent);
        for (const child of children) next.push(parent === '/' ? `/${child}` : `${parent}/${child}`);
      });
    }
    level = next;
  }
  return all;
}

async function childrenOf(zooKeeper: Pick<ZooKeeper, 'getChildren'>, path: string): Promise<string[] | undefined> {
  try {
    return await zooKeeper.getChildren(path);
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) return undefined;
    throw error;
  }
}

/** Deletes children before parents. @returns false if it must be repeated */
async function deleteAll(zooKeeper: Pick<ZooKeeper, 'multi'>, paths: readonly string[]): Promise<boolean> {
  for (let start = 0; start < paths.length; start += PARALLEL) {
    const deletions = paths.slice(start, start + PARALLEL).map((path) => ({ op: 'delete' as const, path }));
    try {
      await zooKeeper.multi(deletions);
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_NOT_EMPTY', 'ZK_NO_NODE')) throw error;
      return false;
    }
  }
  return true;
}
