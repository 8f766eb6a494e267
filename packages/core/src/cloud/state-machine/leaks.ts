import { isNodepoolError, nodePath, type Clock, type NodeId, type ZooKeeper } from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import type { LeakedResource, ProviderContext } from '../../contract/driver.js';
import type { Logger } from '../../contract/logger.js';
import type { ImageSource } from '../../contract/images.js';
import { BUILD_ID_TAG, NODE_ID_TAG, PROVIDER_TAG, UPLOAD_ID_TAG, type Resource } from '../../contract/instance.js';
import type { OperationMetrics } from '../../contract/operation-metrics.js';
import type { Adapter } from './types.js';

/** What leaks are told by. */
export interface LeakFinderOptions {
  readonly provider: string;
  readonly adapter: Adapter;
  readonly nodes: ProviderContext['nodes'];
  readonly images: ImageSource | undefined;
  readonly zk: Pick<ZooKeeper, 'exists'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly metrics: OperationMetrics | undefined;
  /** A leaked resource was told to go; it may still take its time. */
  readonly deleted: (resource: Resource) => void;
}

/** A number of ten digits, as node ids are. */
const NODE_ID = /^\d{10}$/;

/** Nodes in these states make no more instances. */
const SETTLED: ReadonlySet<string> = new Set(['ready', 'in-use', 'hold', 'used']);

/**
 * Finds resources that carry the provider's tag although no record knows them, and second instances of one node, and
 * deletes those that it has found twice in a row. Without the tag, or with another provider's, nothing is ever touched.
 */
export class LeakFinder {
  readonly #options: LeakFinderOptions;
  #suspects = new Map<string, LeakedResource>();

  constructor(options: LeakFinderOptions) {
    this.#options = options;
  }

  /** What the last look found. */
  get found(): readonly LeakedResource[] {
    return [...this.#suspects.values()];
  }

  /** One look. Rejects when the resources cannot be listed. */
  async run(signal: AbortSignal): Promise<void> {
    const { adapter, nodes } = this.#options;
    if (!nodes.ready) return; // without the records everything would look leaked
    const suspects = new Map<string, LeakedResource>();
    const leaked: Resource[] = [];
    const resources = await adapter.listResources(signal);
    const owners = new Set(resources.filter((resource) => this.#isOwn(resource)).map(nodeIdOf));
    for (const resource of resources) {
      if (!this.#isUnknown(resource) && !(owners.has(nodeIdOf(resource)) && this.#isTwin(resource))) continue;
      const known = this.#suspects.get(keyOf(resource));
      suspects.set(keyOf(resource), known ?? this.#sighting(resource));
      if (known) leaked.push(resource);
    }
    this.#suspects = suspects;
    for (const resource of leaked) {
      signal.throwIfAborted();
      const error = await this.#delete(resource, signal);
      const known = suspects.get(keyOf(resource));
      if (known && error !== undefined) suspects.set(keyOf(resource), { ...known, error });
    }
  }

  #sighting({ type, id, metadata }: Resource): LeakedResource {
    return { type, id, nodeId: metadata[NODE_ID_TAG], sinceMs: this.#options.clock.now(), error: undefined };
  }

  #isUnknown({ metadata }: Resource): boolean {
    const { provider, nodes, images } = this.#options;
    if (metadata[PROVIDER_TAG] !== provider) return false;
    const nodeId = metadata[NODE_ID_TAG];
    if (nodeId !== undefined) return nodes.get(nodeId)?.provider !== provider;
    const buildId = metadata[BUILD_ID_TAG];
    const uploadId = metadata[UPLOAD_ID_TAG];
    if (buildId === undefined || uploadId === undefined || images?.ready !== true) return false;
    return !images.hasUpload(buildId, uploadId);
  }

  /** The very instance of a node. */
  #isOwn({ type, id, metadata }: Resource): boolean {
    return type === 'instance' && this.#options.nodes.get(metadata[NODE_ID_TAG] ?? '')?.externalId === id;
  }

  /** A second instance of a node that has its own: its order took effect after another had been placed. */
  #isTwin(resource: Resource): boolean {
    const { provider, nodes } = this.#options;
    const node = nodes.get(nodeIdOf(resource));
    if (resource.type !== 'instance' || resource.metadata[PROVIDER_TAG] !== provider) return false;
    if (node?.provider !== provider || node.externalId === null) return false;
    return SETTLED.has(node.state) && node.externalId !== resource.id;
  }

  /** @returns why it could not be deleted, or nothing */
  async #delete(resource: Resource, signal: AbortSignal): Promise<string | undefined> {
    const { adapter, logger, metrics, provider } = this.#options;
    const fields = { type: resource.type, id: resource.id, nodeId: resource.metadata[NODE_ID_TAG] };
    try {
      if (await this.#isKnownAfterAll(resource)) return undefined;
      if (!this.#isUnknown(resource) && !this.#isTwin(resource)) return undefined;
      logger.warn('Deleting a leaked resource', fields);
      await adapter.deleteResource(resource, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      if (!isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) {
        logger.warn('A leaked resource could not be deleted; trying again later', { ...fields, error });
        return asError(error).message;
      }
    }
    metrics?.leaked?.(provider, resource.pluralMetricName ?? `${resource.type}s`);
    this.#options.deleted(resource);
    return undefined;
  }

  /** What is deleted is lost, so the last word is ZooKeeper's own and not that of its copy here. */
  async #isKnownAfterAll({ metadata }: Resource): Promise<boolean> {
    const nodeId = metadata[NODE_ID_TAG];
    if (nodeId === undefined || !NODE_ID.test(nodeId)) return false;
    const exists = (await this.#options.zk.exists(nodePath(nodeId as NodeId))) !== undefined;
    return exists && this.#options.nodes.get(nodeId) === undefined;
  }
}

function keyOf({ type, id }: Resource): string {
  return `${type} ${id}`;
}

function nodeIdOf({ metadata }: Resource): string {
  return metadata[NODE_ID_TAG] ?? '';
}
