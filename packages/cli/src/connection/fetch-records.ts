import {
  componentPath,
  componentsPath,
  decodeComponent,
  decodeNode,
  decodeRequest,
  isZooKeeperError,
  nodeLockPath,
  nodePath,
  NODES_ROOT,
  parseLockEntry,
  requestPath,
  REQUESTS_ROOT,
} from '@nodepool/zk-protocol';
import type {
  Clock,
  ComponentRecord,
  NodeId,
  NodeRecord,
  RequestId,
  RequestRecord,
  ZooKeeper,
} from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';
import type { NodeRow } from '@nodepool/core/service';

/** Reads in flight at a time. */
const BATCH = 500;

/** Where records are read from. */
export interface RecordSource {
  readonly zk: ZooKeeper;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The value, or `undefined` when the znode does not exist. */
export async function ifPresent<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isZooKeeperError(error, 'ZK_NO_NODE')) return undefined;
    throw error;
  }
}

/** Maps all items in order, one batch in flight at a time. */
export async function mapPipelined<T, R>(items: readonly T[], read: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += BATCH) {
    results.push(...(await Promise.all(items.slice(start, start + BATCH).map(read))));
  }
  return results;
}

/** Writes in flight at a time. */
const WRITES = 50;

/**
 * As {@link mapPipelined}, for writes.
 * @throws the first error, once its whole batch has ended; later batches do not start
 */
export async function inBatches<T, R>(items: readonly T[], work: (item: T, index: number) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += WRITES) {
    const batch = items.slice(start, start + WRITES).map((item, offset) => work(item, start + offset));
    const ended = await Promise.allSettled(batch);
    for (const result of ended) {
      if (result.status === 'rejected') throw result.reason;
      results.push(result.value);
    }
  }
  return results;
}

function isDefined<T>(value: T | undefined): value is T {
  return value !== undefined;
}

/** Decodes a record; logs a warning for one that cannot be read, so that the others are still listed. */
function decodeOrWarn<T>(source: RecordSource, path: string, decode: () => T | undefined): T | undefined {
  try {
    return decode();
  } catch (error) {
    source.logger.warn('Cannot read a record', { path, error });
    return undefined;
  }
}

/** One node; `undefined` if the id is unknown. */
export async function fetchNode(source: RecordSource, id: NodeId): Promise<NodeRecord | undefined> {
  const found = await ifPresent(source.zk.getData(nodePath(id)));
  if (!found) return undefined;
  return decodeOrWarn(source, nodePath(id), () => decodeNode(id, found.data, found.stat, source.clock.now()));
}

/** Entries of the node's lock directory that hold the lock or wait for it. */
export async function fetchLockEntries(zk: ZooKeeper, id: NodeId): Promise<string[]> {
  const children = await ifPresent(zk.getChildren(nodeLockPath(id)));
  return (children ?? []).filter((name) => parseLockEntry(name) !== undefined);
}

/** One node and whether it is locked; `undefined` if the id is unknown. */
export async function fetchNodeRow(source: RecordSource, id: NodeId): Promise<NodeRow | undefined> {
  const [node, entries] = await Promise.all([fetchNode(source, id), fetchLockEntries(source.zk, id)]);
  return node && { node, locked: entries.length > 0 };
}

/** As {@link fetchNodeRow}, without a read of locks for nodes that have no lock directory. */
async function fetchListedRow(source: RecordSource, id: NodeId): Promise<NodeRow | undefined> {
  const path = nodePath(id);
  const found = await ifPresent(source.zk.getData(path));
  if (!found) return undefined;
  const node = decodeOrWarn(source, path, () => decodeNode(id, found.data, found.stat, source.clock.now()));
  if (!node) return undefined;
  return { node, locked: found.stat.numChildren > 0 && (await fetchLockEntries(source.zk, id)).length > 0 };
}

/** All nodes, in the order ZooKeeper lists them. */
export async function fetchNodeRows(source: RecordSource): Promise<NodeRow[]> {
  const ids = (await ifPresent(source.zk.getChildren(NODES_ROOT))) ?? [];
  const rows = await mapPipelined(ids as NodeId[], (id) => fetchListedRow(source, id));
  return rows.filter(isDefined);
}

/** One request; `undefined` if the id is unknown. */
export async function fetchRequest(source: RecordSource, id: RequestId): Promise<RequestRecord | undefined> {
  const found = await ifPresent(source.zk.getData(requestPath(id)));
  if (!found) return undefined;
  return decodeOrWarn(source, requestPath(id), () => decodeRequest(id, found.data, found.stat, source.clock.now()));
}

/** All requests, sorted by id. */
export async function fetchRequests(source: RecordSource): Promise<RequestRecord[]> {
  const ids = (await ifPresent(source.zk.getChildren(REQUESTS_ROOT))) ?? [];
  const requests = await mapPipelined((ids as RequestId[]).sort(), (id) => fetchRequest(source, id));
  return requests.filter(isDefined);
}

/** Registered components of a kind. */
export async function fetchComponents(source: RecordSource, kind: string): Promise<ComponentRecord[]> {
  const ids = (await ifPresent(source.zk.getChildren(componentsPath(kind)))) ?? [];
  const components = await mapPipelined(ids, async (id) => {
    const path = componentPath(kind, id);
    const found = await ifPresent(source.zk.getData(path));
    return found && decodeOrWarn(source, path, () => decodeComponent(kind, id, found.data, found.stat));
  });
  return components.filter(isDefined);
}
