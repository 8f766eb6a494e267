import {
  encodeNode,
  NODE_CREATE_PATH,
  nodeLockPath,
  withNode,
  type NodeId,
  type NodeRecord,
} from '@nodepool/zk-protocol';
import type { Context } from '../state/context.js';
import { createdPath, nodeIdOf, setNode, Transaction } from '../state/transaction.js';

/** A new node that this process has locked, in state `building`. */
export interface BuildingNode {
  readonly node: NodeRecord;
  readonly entry: string;
}

const RECORDS_PER_TRANSACTION = 100;

/**
 * Stores new records in state `init`, then locks each and makes it `building`. The lock comes first, because launchers delete
 * unlocked nodes in state `building`.
 */
export async function createNodes(context: Context, drafts: readonly NodeRecord[]): Promise<BuildingNode[]> {
  const made: BuildingNode[] = [];
  for (let at = 0; at < drafts.length; at += RECORDS_PER_TRANSACTION) {
    const ids = await storeDrafts(context, drafts.slice(at, at + RECORDS_PER_TRANSACTION));
    made.push(...(await beginBuilding(context, ids)));
  }
  return made;
}

async function storeDrafts({ committer }: Context, drafts: readonly NodeRecord[]): Promise<NodeId[]> {
  const creation = new Transaction<number>();
  drafts.forEach((draft, index) =>
    creation.add(index, { op: 'create', path: NODE_CREATE_PATH, data: encodeNode(draft), sequential: true }),
  );
  const created = await creation.commit(committer);
  return drafts.map((_, index) => nodeIdOf(createdPath(created, index)));
}

/** Locks new records and makes them `building`. @param ids - at most a hundred */
export async function beginBuilding(context: Context, ids: readonly NodeId[]): Promise<BuildingNode[]> {
  const { committer, mirror, clock } = context;
  const building = new Transaction<NodeId>();
  const entries = ids.map((id) => {
    const node = mirror.nodes.get(id);
    if (!node) throw new Error(`node ${id} was removed right after it was made`);
    const index = building.lock(id, nodeLockPath(id), false);
    building.add(id, setNode(withNode(node, { state: 'building' }, clock.now(), 'launcher')));
    return { id, index };
  });
  const locked = await building.commit(committer);
  return entries.map(({ id, index }) => {
    const node = mirror.nodes.get(id);
    if (!node) throw new Error(`node ${id} was removed while this process held its lock`);
    return { node, entry: createdPath(locked, index) };
  });
}
