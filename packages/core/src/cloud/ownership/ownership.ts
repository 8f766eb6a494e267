import { DATABASE_ID_TAG, PROVIDER_TAG } from '../../contract/instance.js';

/**
 * Whether tags prove that something was made for this provider by the services of this database. Compare the node id too when
 * it has to be of one node: ids of nodes begin at zero in each database.
 */
export function isOurs(
  tags: Readonly<Record<string, string>>,
  provider: string,
  databaseId: string | undefined,
): boolean {
  return tags[PROVIDER_TAG] === provider && databaseId !== undefined && tags[DATABASE_ID_TAG] === databaseId;
}

/** The tag that everything carries which is made for a database; none while its id is not known. */
export function databaseTag(databaseId: string | undefined): Record<string, string> {
  return databaseId === undefined ? {} : { [DATABASE_ID_TAG]: databaseId };
}
