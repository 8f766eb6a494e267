import type { NodeRecord } from '@nodepool/zk-protocol';
import { DATABASE_ID_TAG, NODE_CREATED_TAG, NODE_ID_TAG, PROVIDER_TAG } from '../../contract/instance.js';

type Tags = Readonly<Record<string, string>>;
/** What tells a node from all others of one database, and of its older copies. */
type NodeIdentity = Pick<NodeRecord, 'id' | 'createdTimeMs'>;

/**
 * Whether tags prove that a resource was made for this provider by services of this database.
 * @param node - if set, also that it was made for this node
 */
export function isOurs(tags: Tags, provider: string, databaseId: string | undefined, node?: NodeIdentity): boolean {
  const isOfProvider = tags[PROVIDER_TAG] === provider && databaseId !== undefined;
  return isOfProvider && tags[DATABASE_ID_TAG] === databaseId && (node === undefined || isOfNode(tags, node));
}

/**
 * Whether tags name this node, and not one that had its number before an older copy of the database was restored. Resources of
 * earlier versions do not tell.
 */
export function isOfNode(tags: Tags, node: NodeIdentity): boolean {
  const own = nodeTags(node);
  const { [NODE_CREATED_TAG]: created = own[NODE_CREATED_TAG] } = tags;
  return tags[NODE_ID_TAG] === node.id && (own[NODE_CREATED_TAG] ?? created) === created;
}

/** The tags of a node for new resources. */
export function nodeTags({ id, createdTimeMs }: NodeIdentity): Record<string, string> {
  const tags = { [NODE_ID_TAG]: id };
  return createdTimeMs === null ? tags : { ...tags, [NODE_CREATED_TAG]: String(Math.round(createdTimeMs)) };
}

/** The tag with the database id for new resources; none while the id is unknown. */
export function databaseTag(databaseId: string | undefined): Record<string, string> {
  return databaseId === undefined ? {} : { [DATABASE_ID_TAG]: databaseId };
}
