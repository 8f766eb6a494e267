import { isZooKeeperError, type ZooKeeper } from '@nodepool/zk-protocol';
import type { ExpectedSlot } from './static-config.js';
import { contenders } from './zuul-lock.js';
import { type NodeBody, parseBody } from './zuul-records.js';

/** Children of a path; none when it does not exist. */
export async function children(zk: ZooKeeper, path: string): Promise<string[]> {
  try {
    return await zk.getChildren(path);
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) return [];
    throw error;
  }
}

const ROOT_CHILDREN = new Set(['nodes', 'requests', 'requests-lock', 'components', 'elections', 'launchers', 'images']);

const slotKey = ({ provider, pool, address, slot }: ExpectedSlot): string =>
  `${provider}/${pool} ${address} slot ${slot}`;

/** A node as it was found; `undefined` when it vanished meanwhile. */
export async function readNode(zk: ZooKeeper, id: string): Promise<NodeBody | 'unreadable' | undefined> {
  try {
    return parseBody<NodeBody>((await zk.getData(`/nodepool/nodes/${id}`)).data);
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) return undefined;
    if (isZooKeeperError(error)) throw error;
    return 'unreadable';
  }
}

async function nodeProblems(zk: ZooKeeper, expected: readonly ExpectedSlot[]): Promise<string[]> {
  const problems: string[] = [];
  const missing = new Map<string, number>();
  for (const slot of expected) missing.set(slotKey(slot), (missing.get(slotKey(slot)) ?? 0) + 1);
  for (const id of await children(zk, '/nodepool/nodes')) {
    const body = await readNode(zk, id);
    if (body === undefined) continue;
    if (body === 'unreadable') {
      problems.push(`node ${id} cannot be read`);
      continue;
    }
    const locks = await contenders(zk, `/nodepool/nodes/${id}/lock`);
    if (locks.length > 0) problems.push(`node ${id} has lock entries: ${locks.join(', ')}`);
    if (body.allocated_to !== null) problems.push(`node ${id} is allocated to ${body.allocated_to}`);
    if (body.state !== 'ready') problems.push(`node ${id} is ${body.state}`);
    const { provider, pool, interface_ip: address, slot } = body;
    const key = slotKey({ provider: provider ?? '', pool: pool ?? '', address: address ?? '', slot: slot ?? -1 });
    const open = missing.get(key) ?? 0;
    if (open === 0) problems.push(`node ${id} should not be there: ${key}`);
    else missing.set(key, open - 1);
  }
  for (const [key, count] of missing) if (count > 0) problems.push(`no node for ${key}`);
  return problems;
}

/** Requests and request locks that are left. */
export async function requestProblems(zk: ZooKeeper): Promise<string[]> {
  const problems: string[] = [];
  for (const id of await children(zk, '/nodepool/requests')) problems.push(`request ${id} is left`);
  for (const id of await children(zk, '/nodepool/requests-lock')) {
    const entries = await children(zk, `/nodepool/requests-lock/${id}`);
    problems.push(`lock directory of request ${id} is left, with ${entries.length} entries`);
  }
  return problems;
}

/** What is wrong outside nodes and requests. */
export async function otherProblems(zk: ZooKeeper, launchers: number, pools: number): Promise<string[]> {
  const problems: string[] = [];
  for (const name of await children(zk, '/nodepool')) {
    if (!ROOT_CHILDREN.has(name)) problems.push(`/nodepool/${name} should not be there`);
  }
  for (const [kind, wanted] of Object.entries({ launcher: launchers, pool: pools, builder: 0 })) {
    const found = (await children(zk, `/nodepool/components/${kind}`)).length;
    if (found !== wanted) problems.push(`${found} components of kind ${kind} instead of ${wanted}`);
  }
  for (const name of await children(zk, '/nodepool/images')) problems.push(`/nodepool/images/${name} is left`);
  return problems;
}

/** What a system at rest should look like. */
export interface Rest {
  slots: readonly ExpectedSlot[];
  launchers: number;
  /** Registered pools over all launchers. */
  pools: number;
}

/** Everything in ZooKeeper that is not as it should be when nobody wants anything; empty when all is well. */
export async function problemsAtRest(zk: ZooKeeper, rest: Rest): Promise<string[]> {
  const found = [requestProblems(zk), nodeProblems(zk, rest.slots), otherProblems(zk, rest.launchers, rest.pools)];
  return (await Promise.all(found)).flat();
}
