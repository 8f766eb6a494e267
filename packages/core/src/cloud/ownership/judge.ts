import type { NodeRecord } from '@nodepool/zk-protocol';
import type { ProviderImage } from '../../contract/driver.js';
import {
  BUILD_ID_TAG,
  DATABASE_ID_TAG,
  NODE_ID_TAG,
  PROVIDER_TAG,
  UPLOAD_ID_TAG,
  type Resource,
} from '../../contract/instance.js';
import { isOfNode, isOurs } from './ownership.js';
import type { UploadEvidence } from '../../contract/images.js';

/** Evidence for the judgement of resources. */
export interface Evidence {
  readonly provider: string;
  readonly databaseId: string | undefined;
  readonly nodes: { get(id: string): NodeRecord | undefined };
  readonly images: UploadEvidence | undefined;
}

/**
 * - `other`: not of this provider, or without the tags of a node or an image
 * - `kept`: has a record, or may get one soon
 * - `recorded`: has a record that proves it, but no database id yet: it should be tagged
 * - `leaked`: carries our database id and has no record
 * - `twin`: carries our database id, but is not the instance of its node
 * - `alien`: carries the provider's name, but neither our database id nor a record
 */
export type Verdict = 'other' | 'kept' | 'recorded' | 'leaked' | 'twin' | 'alien';

/** Nodes in these states make no more instances: their external id is final. Stopped nodes are `testing`. */
const SETTLED: ReadonlySet<string> = new Set(['ready', 'testing', 'in-use', 'hold', 'used']);

/** An image as a resource. */
export const imageResource = ({ externalId: id, name, metadata }: ProviderImage): Resource => ({
  ...{ type: 'image', id, name, metadata },
});

/** Judges all resources of a cloud by the present records. Pure. */
export function judgeAll(resources: readonly Resource[], evidence: Evidence): Map<Resource, Verdict> {
  const shown = new Set(resources.filter((resource) => isOwnInstance(resource, evidence)).map(nodeIdOf));
  return new Map(resources.map((resource) => [resource, judge(resource, evidence, shown)]));
}

/** @param shown - ids of nodes whose own instance the cloud shows: ids of instances may be of another form */
function judge(resource: Resource, evidence: Evidence, shown: ReadonlySet<string>): Verdict {
  const { metadata } = resource;
  if (metadata[PROVIDER_TAG] !== evidence.provider) return 'other';
  if (metadata[NODE_ID_TAG] !== undefined) return judgeByNode(resource, evidence, shown);
  if (metadata[BUILD_ID_TAG] === undefined || metadata[UPLOAD_ID_TAG] === undefined) return 'other';
  return judgeImage(resource, evidence, metadata[BUILD_ID_TAG], metadata[UPLOAD_ID_TAG]);
}

function judgeByNode(resource: Resource, evidence: Evidence, shown: ReadonlySet<string>): Verdict {
  const { metadata } = resource;
  const { provider, databaseId } = evidence;
  const node = nodeOf(resource, evidence);
  const ours = isOurs(metadata, provider, databaseId);
  if (node?.provider !== provider) return ours ? 'leaked' : 'alien';
  const carriesNone = metadata[DATABASE_ID_TAG] === undefined;
  if (isPartOf(resource, node)) return carriesNone && SETTLED.has(node.state) ? 'recorded' : 'kept';
  if (!ours && !carriesNone) return 'alien';
  // Not its own, as far as can be seen: ids count from zero in each database, so the number proves nothing.
  if (resource.type !== 'instance' || node.externalId === null || !shown.has(node.id)) return 'kept';
  if (!ours) return 'alien';
  return SETTLED.has(node.state) ? 'twin' : 'kept';
}

function judgeImage(resource: Resource, evidence: Evidence, buildId: string, uploadId: string): Verdict {
  const { images, provider, databaseId } = evidence;
  if (images?.ready !== true) return 'kept';
  const carriesNone = resource.metadata[DATABASE_ID_TAG] === undefined;
  if (images.hasImage(provider, resource.id)) return carriesNone ? 'recorded' : 'kept';
  const ours = isOurs(resource.metadata, provider, databaseId);
  if ((ours || carriesNone) && images.hasUpload(buildId, uploadId, provider)) return 'kept';
  return ours ? 'leaked' : 'alien';
}

function isOwnInstance({ type, id, metadata }: Resource, { nodes }: Evidence): boolean {
  return type === 'instance' && nodes.get(metadata[NODE_ID_TAG] ?? '')?.externalId === id;
}

/** The record that names the resource, or that its tags name. A node that only has the same number is another one. */
function nodeOf(resource: Resource, { nodes }: Evidence): NodeRecord | undefined {
  const node = nodes.get(nodeIdOf(resource));
  return node && (isPartOf(resource, node) || isOfNode(resource.metadata, node)) ? node : undefined;
}

/** Whether it is the instance of the node, or attached to it. */
function isPartOf({ type, id, instanceId }: Resource, { externalId }: NodeRecord): boolean {
  return externalId !== null && externalId === (type === 'instance' ? id : instanceId);
}

function nodeIdOf({ metadata }: Resource): string {
  return metadata[NODE_ID_TAG] ?? '';
}
