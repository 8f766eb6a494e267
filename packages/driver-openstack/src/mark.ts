import type { Json } from '@nodepool/zk-protocol';
import { DATABASE_ID_TAG, NODE_ID_TAG, POOL_TAG, PROVIDER_TAG } from '@nodepool/core';

/** The description that marks an own floating IP, within Neutron's limit of 255 characters. */
export function markFor(tags: Readonly<Record<string, string>>): string {
  const short = { [PROVIDER_TAG]: tags[PROVIDER_TAG] ?? '', [NODE_ID_TAG]: tags[NODE_ID_TAG] ?? '' };
  const databaseId = tags[DATABASE_ID_TAG];
  const database = databaseId === undefined ? {} : { [DATABASE_ID_TAG]: databaseId };
  const text = JSON.stringify({ ...short, ...database, [POOL_TAG]: tags[POOL_TAG] ?? '' });
  return text.length <= 255 ? text : JSON.stringify({ ...short, ...database });
}

/** The tags in a description; none if it was written by another program. */
export function tagsIn(description: string): Readonly<Record<string, string>> {
  if (!description.startsWith(`{"${PROVIDER_TAG}"`)) return {};
  try {
    const mark = JSON.parse(description) as Record<string, Json>;
    return Object.fromEntries(
      Object.entries(mark).filter((one): one is [string, string] => typeof one[1] === 'string'),
    );
  } catch {
    return {}; // text of another program with the same beginning
  }
}
