import { createHash } from 'node:crypto';
import { DATABASE_ID_TAG, NODE_ID_TAG, PROVIDER_TAG } from '@nodepool/core';
import type { ApiInstance } from './api.js';

/** Prefix of Nodepool's tags in core's terms, and as keys of instances and images. */
const TAG = 'nodepool_';
const KEY = 'user.nodepool.';

/** Key with the id of the creation call, since the name of an instance does not identify it. */
export const ATTEMPT_KEY = 'user.nodepool.attempt';

/** What {@link instanceName} makes of the host name of a node. */
const NAME = /^np(.+)-[0-9a-f]{6}$/;

type Texts = Readonly<Record<string, string>>;

/** Nodepool's tags as configuration keys of an instance or properties of an image. */
export function asKeys(tags: Texts): Record<string, string> {
  return Object.fromEntries(Object.entries(tags).map(([tag, value]) => [tag.replace(TAG, KEY), value]));
}

/** Nodepool's tags among the keys of an instance or image. */
export function tagsIn(keys: Texts): Record<string, string> {
  return Object.fromEntries(
    Object.entries(keys).flatMap(([key, value]) =>
      key.startsWith(KEY) && key !== ATTEMPT_KEY ? [[key.replace(KEY, TAG), value]] : [],
    ),
  );
}

/** Nodepool's tags of an instance; none of a copy that a user has made of it, which has its keys but another name. */
export function tagsOf({ name, config }: Pick<ApiInstance, 'name' | 'config'>): Record<string, string> {
  const tags = tagsIn(config);
  const [, nodeId] = NAME.exec(name) ?? [];
  return nodeId !== undefined && nodeId === tags[NODE_ID_TAG] ? tags : {};
}

/** Whether an instance has all of these tags. */
export function carries(tags: Texts, wanted: Texts): boolean {
  return Object.entries(wanted).every(([tag, value]) => tags[tag] === value);
}

/**
 * Name of a node's instance. The suffix separates providers and ZooKeeper databases that share a project, as each database
 * counts its nodes from zero.
 */
export function instanceName(hostname: string, tags: Texts): string {
  const owner = `${tags[DATABASE_ID_TAG] ?? ''}/${tags[PROVIDER_TAG] ?? ''}`;
  return `${hostname}-${createHash('sha256').update(owner).digest('hex').slice(0, 6)}`;
}
