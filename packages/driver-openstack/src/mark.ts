import type { Json } from '@nodepool/zk-protocol';
import { NODE_ID_TAG, POOL_TAG, PROVIDER_TAG } from '@nodepool/core';

/** The description by which a floating IP of ours is known again, as Neutron keeps it: at most 255 characters. */
export function markFor(tags: Readonly<Record<string, string>>): string {
  const mark = Object.fromEntries([PROVIDER_TAG, NODE_ID_TAG, POOL_TAG].map((tag) => [tag, tags[tag] ?? '']));
  const text = JSON.stringify(mark);
  if (text.length <= 255) return text;
  return JSON.stringify({ [PROVIDER_TAG]: mark[PROVIDER_TAG], [NODE_ID_TAG]: mark[NODE_ID_TAG] });
}

/** The tags in a description; none in one that is not ours. */
export function tagsIn(description: string): Readonly<Record<string, string>> {
  if (!description.startsWith(`{"${PROVIDER_TAG}"`)) return {};
  try {
    const mark = JSON.parse(description) as Record<string, Json>;
    return Object.fromEntries(
      Object.entries(mark).filter((one): one is [string, string] => typeof one[1] === 'string'),
    );
  } catch {
    return {}; // somebody else's text that begins alike
  }
}
