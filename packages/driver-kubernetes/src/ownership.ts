import { createHash } from 'node:crypto';
import { DATABASE_ID_TAG, isOurs, NODE_ID_TAG, PROVIDER_TAG, type NodeRecord } from '@nodepool/core';
import type { ApiMeta } from './api.js';

type Tags = Readonly<Record<string, string>>;

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set */
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const MAX_PREFIX_LENGTH = 50;
const TAG_PREFIX = 'nodepool_';

/** Label with the name of the node's label, as the original sets it. */
export const NODE_LABEL_TAG = 'nodepool_node_label';
/** Annotation with a random id of the creation, so that a repeated call recognizes its own object. */
export const ATTEMPT_ANNOTATION = 'nodepool_attempt';

/** A text as a label value: unchanged if valid, else its valid characters with a hash, to keep it unique. */
export function labelValue(text: string): string {
  if (LABEL_VALUE.test(text)) return text;
  const kept = text.replace(/[^A-Za-z0-9]+/g, '-').replace(/^-+|-+$/g, '');
  return [kept.slice(0, MAX_PREFIX_LENGTH), hashOf(text)].filter(Boolean).join('-');
}

/** A text as the name of a pod, or a part of one: unchanged if valid, else its valid characters with a hash. */
export function objectName(text: string): string {
  if (/^[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?$/.test(text)) return text;
  const kept = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return [kept.slice(0, 40), hashOf(text)].filter(Boolean).join('-');
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}

/** Labels and annotations of an object with these tags. Annotations hold the exact text; labels can be searched for. */
export function marksOf(tags: Tags): { readonly labels: Tags; readonly annotations: Tags } {
  const labels = Object.fromEntries(Object.entries(tags).map(([key, value]) => [key, labelValue(value)]));
  return { labels, annotations: { ...tags } };
}

/** The tags of an object. Objects of the original have labels only, and its projects have none. */
export function tagsOf({ labels = {}, annotations = {} }: Partial<ApiMeta>): Record<string, string> {
  return tagsIn({ ...describedTags(annotations[DESCRIPTION]), ...labels, ...annotations });
}

/** Annotation with the description of a project, which OpenShift takes from its request. */
export const DESCRIPTION = 'openshift.io/description';

/** Tags as the description of a project. */
export function descriptionOf(annotations: Tags): string {
  return JSON.stringify(tagsIn(annotations));
}

/** Tags in the description of a project; none: another program wrote it. */
function describedTags(description = ''): Tags {
  try {
    const found: unknown = JSON.parse(description);
    const entries = Object.entries(found ?? {}).filter((one): one is [string, string] => typeof one[1] === 'string');
    return Object.fromEntries(entries);
  } catch {
    return {};
  }
}

function tagsIn(all: Tags): Record<string, string> {
  return Object.fromEntries(Object.entries(all).filter(([key]) => key.startsWith(TAG_PREFIX)));
}

/** Selects the objects of a provider. Check what it finds with {@link isOwn}. */
export function selectorOf(provider: string): string {
  return `${PROVIDER_TAG}=${labelValue(provider)}`;
}

/** Whether an object was made for a node of this provider, by any installation. */
export function isOwn(meta: Partial<ApiMeta>, provider: string): boolean {
  const tags = tagsOf(meta);
  return tags[PROVIDER_TAG] === provider && tags[NODE_ID_TAG] !== undefined;
}

/** Whether tags include all of these. */
export function carries(tags: Tags, wanted: Tags): boolean {
  return Object.entries(wanted).every(([tag, value]) => tags[tag] === value);
}

/**
 * Whether an object may be deleted with a node. An object without a database id was made by the original, which has none: then
 * provider and node must be the same, and the record must name it.
 * @param node - `undefined`: its record is deleted
 */
export function mayDelete(
  meta: Partial<ApiMeta>,
  provider: string,
  node: Pick<NodeRecord, 'id' | 'createdTimeMs'> | undefined,
  databaseId: string | undefined,
): boolean {
  const tags = tagsOf(meta);
  if (DATABASE_ID_TAG in tags) return isOurs(tags, provider, databaseId, node);
  const { [NODE_ID_TAG]: nodeId } = tags;
  return tags[PROVIDER_TAG] === provider && nodeId !== undefined && (!node || nodeId === node.id);
}

/**
 * Whether a project without any tags is that of a node: the record has the login data of the project. The original does not mark
 * its projects, and a job with the role `admin` can remove the description of its own.
 */
export function isProjectOf(meta: Partial<ApiMeta>, node: Pick<NodeRecord, 'externalId' | 'connectionPort'>): boolean {
  const { namespace } = (node.connectionPort ?? {}) as { readonly namespace?: unknown };
  return Object.keys(tagsOf(meta)).length === 0 && node.externalId === meta.name && namespace === meta.name;
}
