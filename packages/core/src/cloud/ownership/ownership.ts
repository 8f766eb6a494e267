import { DATABASE_ID_TAG, PROVIDER_TAG } from '../../contract/instance.js';

/**
 * Whether tags prove that a resource was made for this provider by services of this database. For resources of one node, compare
 * the node id too.
 */
export function isOurs(
  tags: Readonly<Record<string, string>>,
  provider: string,
  databaseId: string | undefined,
): boolean {
  return tags[PROVIDER_TAG] === provider && databaseId !== undefined && tags[DATABASE_ID_TAG] === databaseId;
}

/** The tag with the database id for new resources; none while the id is unknown. */
export function databaseTag(databaseId: string | undefined): Record<string, string> {
  return databaseId === undefined ? {} : { [DATABASE_ID_TAG]: databaseId };
}
