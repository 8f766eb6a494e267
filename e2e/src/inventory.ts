import { isZooKeeperError, type ZooKeeper } from '@nodepool/zk-protocol';
import type { CloudInstance } from './fake-cloud.js';
import type { ExpectedSlot } from './static-config.js';
import { contenders } from './zuul-lock.js';
import { type NodeBody, parseBody } from './zuul-records.js';

const MAX_LINES = 60;

/** Children of a path; none when it does not exist. */
export async function children(zk: ZooKeeper, path: string): Promise<string[]> {
  try {
    return await zk.getChildren(path);
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) return [];
    throw error;
  }
}

/** Content of a path. @returns undefined when it does not exist */
async function dataOf(zk: ZooKeeper, path: string): Promise<Buffer | undefined> {
  try {
    return (await zk.getData(path)).data;
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) return undefined;
    throw error;
  }
}

const ROOT_CHILDREN = new Set([
  'database-id',
  'controls',
  'leases',
  'lease-slots',
  'lease-tokens',
  'nodes',
  'requests',
  'requests-lock',
  'steering',
  'components',
  'elections',
  'launchers',
  'images',
  'builder-ids',
]);

const slotKey = ({ provider, pool, address, slot }: ExpectedSlot): string =>
  `${provider}/${pool} ${address} slot ${slot}`;

/** Reads a node. @returns undefined when it is gone or its record has no body */
export async function readNode(zk: ZooKeeper, id: string): Promise<NodeBody | 'unreadable' | undefined> {
  try {
    const data = await dataOf(zk, `/nodepool/nodes/${id}`);
    return data === undefined || data.length === 0 ? undefined : parseBody<NodeBody>(data);
  } catch (error) {
    if (isZooKeeperError(error)) throw error;
    return 'unreadable';
  }
}

interface FoundNodes {
  nodes: (NodeBody & { nodeId: string })[];
  problems: string[];
}

/**
 * All nodes, and problems: nodes still in use, and records that cannot be read. A record without a body is no problem: a
 * kazoo client that locks a node deleted meanwhile creates one, and the next sweep, within a minute, removes it.
 */
async function idleNodes(zk: ZooKeeper): Promise<FoundNodes> {
  const found: FoundNodes = { nodes: [], problems: [] };
  for (const nodeId of await children(zk, '/nodepool/nodes')) {
    const body = await readNode(zk, nodeId);
    if (body === undefined) continue;
    if (body === 'unreadable') {
      found.problems.push(`node ${nodeId} cannot be read`);
      continue;
    }
    found.nodes.push({ ...body, nodeId });
    const locks = await contenders(zk, `/nodepool/nodes/${nodeId}/lock`);
    if (locks.length > 0) found.problems.push(`node ${nodeId} has lock entries: ${locks.join(', ')}`);
    if (body.allocated_to !== null) found.problems.push(`node ${nodeId} is allocated to ${body.allocated_to}`);
    if (body.state !== 'ready') found.problems.push(`node ${nodeId} is ${body.state}`);
  }
  return found;
}

/** What is wrong when each of these slots should be registered once, and nothing else. */
export async function staticNodeProblems(zk: ZooKeeper, expected: readonly ExpectedSlot[]): Promise<string[]> {
  const { nodes, problems } = await idleNodes(zk);
  const missing = new Map<string, number>();
  for (const slot of expected) missing.set(slotKey(slot), (missing.get(slotKey(slot)) ?? 0) + 1);
  for (const { nodeId, provider, pool, interface_ip: address, slot } of nodes) {
    const key = slotKey({ provider: provider ?? '', pool: pool ?? '', address: address ?? '', slot: slot ?? -1 });
    const open = missing.get(key) ?? 0;
    if (open === 0) problems.push(`node ${nodeId} should not be there: ${key}`);
    else missing.set(key, open - 1);
  }
  for (const [key, count] of missing) if (count > 0) problems.push(`no node for ${key}`);
  return problems;
}

/** What is wrong when there should be so many nodes on standby, each with its instance, and no other instance. */
export async function elasticNodeProblems(
  zk: ZooKeeper,
  standby: number,
  instances: ReadonlyMap<string, CloudInstance>,
): Promise<string[]> {
  const { nodes, problems } = await idleNodes(zk);
  if (nodes.length !== standby) problems.push(`${nodes.length} nodes instead of ${standby}`);
  const known = new Set<unknown>();
  for (const { nodeId, external_id: externalId } of nodes) {
    known.add(externalId);
    const isThere = typeof externalId === 'string' && instances.has(externalId);
    if (!isThere) problems.push(`node ${nodeId} has no instance`);
  }
  for (const { id, status, metadata } of instances.values()) {
    if (!known.has(id)) problems.push(`instance ${id} (${status}) of node ${metadata['nodepool_node_id']} is left`);
  }
  return problems;
}

/** Requests that are left, and locks. Empty lock directories stay until the next sweeps. */
export async function requestProblems(zk: ZooKeeper): Promise<string[]> {
  const problems: string[] = [];
  for (const id of await children(zk, '/nodepool/requests')) problems.push(`request ${id} is left`);
  for (const id of await children(zk, '/nodepool/requests-lock')) {
    const entries = await children(zk, `/nodepool/requests-lock/${id}`);
    if (entries.length > 0) problems.push(`the lock of request ${id} has entries: ${entries.join(', ')}`);
  }
  return problems;
}

/** Problems outside nodes and requests. */
export async function otherProblems(zk: ZooKeeper, launchers: number, pools: number): Promise<string[]> {
  const problems: string[] = [];
  for (const name of await children(zk, '/nodepool')) {
    if (!ROOT_CHILDREN.has(name)) problems.push(`/nodepool/${name} should not be there`);
  }
  for (const [kind, wanted] of Object.entries({ launcher: launchers, pool: pools, builder: 0 })) {
    const found = (await children(zk, `/nodepool/components/${kind}`)).length;
    if (found !== wanted) problems.push(`${found} components of kind ${kind} instead of ${wanted}`);
  }
  for (const kind of await children(zk, '/nodepool/controls')) {
    for (const name of await children(zk, `/nodepool/controls/${kind}`)) problems.push(`order ${kind}/${name} is left`);
  }
  for (const name of await children(zk, '/nodepool/images')) problems.push(`/nodepool/images/${name} is left`);
  return problems;
}

/** Remaining nodes and their problems, where none are expected. */
export async function idleNodeProblems(zk: ZooKeeper): Promise<string[]> {
  const { nodes, problems } = await idleNodes(zk);
  return [...problems, ...nodes.map(({ nodeId, state }) => `node ${nodeId} (${String(state)}) is left`)];
}

/** Requests and nodes as they are, with their locks: what something waits for can often be seen there. */
export async function describeRecords(zk: ZooKeeper): Promise<string> {
  const lines: string[] = [];
  const add = async (kind: string, lockOf: (id: string) => string, keys: readonly string[]) => {
    for (const id of (await children(zk, `/nodepool/${kind}`)).sort()) {
      if (lines.length === MAX_LINES) return;
      const data = await dataOf(zk, `/nodepool/${kind}/${id}`);
      if (data === undefined) continue; // gone since they were listed
      const locks = await contenders(zk, lockOf(id));
      lines.push(`${kind}/${id} ${pick(data, keys)}, ${locks.length} lock entries`);
    }
  };
  await add('requests', (id) => `/nodepool/requests-lock/${id}`, ['state', 'node_types', 'nodes', 'declined_by']);
  await add('nodes', (id) => `/nodepool/nodes/${id}/lock`, ['state', 'type', 'provider', 'pool', 'allocated_to']);
  return lines.join('\n');
}

/** Selected keys of a record as JSON; the raw text if it is not JSON. */
function pick(data: Buffer, keys: readonly string[]): string {
  try {
    const body = parseBody(data);
    return JSON.stringify(Object.fromEntries(keys.map((key) => [key, body[key]])));
  } catch {
    return data.toString().slice(0, 200);
  }
}
