import { isZooKeeperError, REQUEST_LOCKS_ROOT } from '@nodepool/zk-protocol';
import type { Acl, Operation, ZooKeeper } from '@nodepool/zk-protocol';
import type { StoredZnode } from '@nodepool/zk-protocol/embedded';
import { CliError } from '../command/errors.js';
import { ifPresent, inBatches, mapPipelined } from '../connection/fetch-records.js';

/** Children that one transaction creates and deletes to advance the counter of a directory. */
const COUNTED_AT_ONCE = 500;
const OPEN = { permissions: 31, scheme: 'world', id: 'anyone' };

/** Creates the znodes, parents before children. A znode with an open ACL gets the default ACL of the connection. */
export async function copyZnodes(zk: ZooKeeper, znodes: readonly StoredZnode[]): Promise<void> {
  // The server processes the requests of a session in order, so a parent is never late.
  await inBatches(znodes, (znode) => copyZnode(zk, znode));
  for (const { path, childrenCreated } of znodes) {
    if (!isLockDirectory(path)) await countUp(zk, path, childrenCreated);
  }
}

/** Reads the copies back. @throws CliError naming what differs */
export async function verifyCopy(zk: ZooKeeper, znodes: readonly StoredZnode[]): Promise<void> {
  const differences = await mapPipelined(znodes, (znode) => differenceOf(zk, znode));
  const found = differences.filter((difference) => difference !== undefined);
  if (found.length === 0) return;
  throw new CliError(
    `${found.length} of ${znodes.length} znodes differ after the copy, e.g. ${found[0]}: something else writes to the ` +
      'ensemble. Stop it and repeat this command',
  );
}

async function copyZnode(zk: ZooKeeper, { path, data, acl }: StoredZnode): Promise<void> {
  try {
    await zk.create(path, data, isOpen(acl) ? {} : { acl });
  } catch (error) {
    if (!isZooKeeperError(error, 'ZK_NODE_EXISTS')) throw error;
    await zk.setData(path, data);
  }
}

/** The server numbers new children by how many a directory has had: used numbers must not be reused. */
async function countUp(zk: ZooKeeper, directory: string, wanted: number): Promise<void> {
  const stat = await zk.exists(directory);
  if (stat === undefined) throw new CliError(`${directory} is gone from the ensemble: something else writes to it`);
  // Each child counts once when it is created, once more when it is deleted.
  let count = (stat.cversion + stat.numChildren) / 2;
  const path = `${directory}/counting`;
  while (count < wanted) {
    const pairs = Math.min(COUNTED_AT_ONCE, wanted - count);
    const pair: Operation[] = [
      { op: 'create', path },
      { op: 'delete', path },
    ];
    await zk.multi(Array.from({ length: pairs }, () => pair).flat());
    count += pairs;
  }
}

async function differenceOf(zk: ZooKeeper, { path, data, acl }: StoredZnode): Promise<string | undefined> {
  const found = await ifPresent(zk.getData(path));
  if (found === undefined) return `${path} is missing`;
  if (!found.data.equals(data)) return `${path} has other content`;
  if (isOpen(acl)) return undefined;
  const { acl: copied } = await zk.getAcl(path);
  return JSON.stringify(copied.map(rightOf)) === JSON.stringify(acl.map(rightOf))
    ? undefined
    : `${path} has another ACL`;
}

function rightOf({ permissions, scheme, id }: Acl) {
  return [permissions, scheme, id];
}

function isOpen([first, ...others]: readonly Acl[]): boolean {
  return first !== undefined && others.length === 0 && String(rightOf(first)) === String(rightOf(OPEN));
}

function isLockDirectory(path: string): boolean {
  return path.endsWith('/lock') || path.startsWith(REQUEST_LOCKS_ROOT);
}
