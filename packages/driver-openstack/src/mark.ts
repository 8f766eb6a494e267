import type { Json } from '@nodepool/zk-protocol';
import { DATABASE_ID_TAG, NODE_ID_TAG, POOL_TAG, PROVIDER_TAG } from '@nodepool/core';

const MAX_LENGTH = 255;

/** The description that marks an own floating IP: all tags, or as many as Neutron's limit allows. */
export function markFor(tags: Readonly<Record<string, string>>): string {
  const { [PROVIDER_TAG]: provider = '', [NODE_ID_TAG]: nodeId = '', [POOL_TAG]: pool = '', ...others } = tags;
  const short = { [PROVIDER_TAG]: provider, [NODE_ID_TAG]: nodeId };
  const databaseId = others[DATABASE_ID_TAG];
  const least = JSON.stringify(databaseId === undefined ? short : { ...short, [DATABASE_ID_TAG]: databaseId });
  const texts = [
    { ...short, ...others, [POOL_TAG]: pool },
    { ...short, ...others },
  ].map((mark) => JSON.stringify(mark));
  return texts.find((text) => text.length <= MAX_LENGTH) ?? least;
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
