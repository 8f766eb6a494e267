import {
  isNodepoolError,
  nodePath,
  readDatabaseId,
  type Clock,
  type NodeId,
  type ZooKeeper,
  steadyNow,
} from '@nodepool/zk-protocol';
import { asError } from '../../async/as-error.js';
import type { AlienResource, LeakedResource } from '../../contract/driver.js';
import type { Logger } from '../../contract/logger.js';
import { DATABASE_ID_TAG, NODE_ID_TAG, type Resource } from '../../contract/instance.js';
import type { OperationMetrics } from '../../contract/operation-metrics.js';
import { SILENT_READER, type EntryReader } from '../operations/unreadable-entries.js';
import { Aliens } from './aliens.js';
import { judgeAll, type Evidence, type Verdict } from './judge.js';
import { databaseTag } from './ownership.js';

/** The part of a cloud adapter that lists, tags and deletes resources. */
export interface LeakAdapter {
  /** How long lists may be outdated after a change. Default: 0. */
  readonly listLagMs?: number | undefined;
  listResources(signal: AbortSignal): Promise<readonly Resource[]>;
  deleteResource(resource: Resource, signal: AbortSignal): Promise<void>;
  tagResource?(resource: Resource, tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void>;
}

/** Options of the search for leaks. */
export interface LeakFinderOptions {
  readonly provider: string;
  /** Id of the database; nothing is deleted without it. */
  readonly databaseId: string | undefined;
  readonly adapter: LeakAdapter;
  readonly nodes: Evidence['nodes'] & { readonly ready: boolean };
  readonly images: Evidence['images'];
  readonly zk: Pick<ZooKeeper, 'exists' | 'getData'>;
  readonly clock: Pick<Clock, 'now' | 'steadyNow'>;
  readonly logger: Logger;
  readonly metrics?: OperationMetrics | undefined;
  /** Reports resources that cannot be read. Default: they are not reported. */
  readonly entries?: Pick<EntryReader, 'readEach'> | undefined;
  /** The deletion of a leaked resource was accepted; it may still take its time. */
  readonly deleted?: (resource: Resource) => void;
}

/** A resource that may be leaked. */
interface Suspect extends LeakedResource {
  /** The steady time at which it was found first. */
  readonly seenMs: number;
  /** It was found twice, and has not been deleted. The first time it may be of a node that has just ended. */
  readonly isLeaked: boolean;
}

/** How long a state in which a resource cannot be deleted may last. */
const BLOCKED_MS = 600_000;
/** A number of ten digits, as node ids are. */
const NODE_ID = /^\d{10}$/;

/**
 * Finds resources of this database without a record, and second instances of one node. Deletes those found twice in a row, for
 * longer than lists lag. Resources with the provider's name and without proof are reported and never deleted. Tags resources of
 * existing records that lack the id of the database.
 */
export class LeakFinder {
  readonly #options: LeakFinderOptions;
  readonly #evidence: Evidence;
  readonly #aliens: Aliens;
  /** Could not be tagged; logged once. */
  readonly #untaggable = new Set<string>();
  /** Resources of our records with the id of another database; logged once. */
  readonly #claimed = new Set<string>();
  #suspects = new Map<string, Suspect>();

  constructor(options: LeakFinderOptions) {
    this.#options = options;
    this.#evidence = options;
    this.#aliens = new Aliens(options);
  }

  /** Leaks that at least two searches have found, and that are not deleted. */
  get found(): readonly LeakedResource[] {
    return [...this.#suspects.values()].flatMap(({ seenMs: _, isLeaked, ...leak }) => (isLeaked ? [leak] : []));
  }

  /** Resources with the provider's name and without proof that they belong to this database. */
  get aliens(): readonly AlienResource[] {
    return this.#aliens.all;
  }

  /** Searches once. Rejects if the resources cannot be listed. */
  async run(signal: AbortSignal): Promise<void> {
    const { adapter, nodes, entries = SILENT_READER } = this.#options;
    if (!nodes.ready) return; // without records everything would look leaked
    const listed = await adapter.listResources(signal);
    const read = (one: unknown): Resource | undefined => (isReadable(one) ? one : undefined);
    const verdicts = [...judgeAll(entries.readEach({ kind: 'resources' }, listed, read), this.#evidence)];
    const those = (...wanted: Verdict[]) =>
      verdicts.flatMap(([resource, verdict]) => (wanted.includes(verdict) ? [resource] : []));
    const suspects = new Map<string, Suspect>();
    const leaked: Resource[] = [];
    for (const resource of those('leaked', 'twin')) {
      if (resource.inUse === true) continue;
      const known = this.#suspects.get(keyOf(resource)) ?? this.#sighting(resource);
      const isNew = !this.#suspects.has(keyOf(resource));
      const isBlocked = resource.blocked !== undefined;
      const suspect = { ...known, isLeaked: !isNew };
      suspects.set(keyOf(resource), isBlocked ? this.#blocked(resource, suspect) : suspect);
      if (!isNew && !isBlocked && this.#hasLasted(known)) leaked.push(resource);
    }
    this.#suspects = suspects;
    this.#aliens.saw(those('alien'));
    this.#warnOfClaims(those('kept'));
    await this.#tagAll(those('recorded'), signal);
    for (const resource of leaked) {
      signal.throwIfAborted();
      const failure = await this.#delete(resource, signal);
      const known = suspects.get(keyOf(resource));
      if (known) suspects.set(keyOf(resource), { ...known, ...failure, isLeaked: failure !== undefined });
    }
  }

  /** Lagging lists show instances that were deleted with their records. */
  #hasLasted({ seenMs }: Suspect): boolean {
    const { adapter, clock } = this.#options;
    return steadyNow(clock) - seenMs >= (adapter.listLagMs ?? 0);
  }

  /** Clouds take their time to detach and delete. */
  #blocked({ type, id, blocked }: Resource, known: Suspect): Suspect {
    if (steadyNow(this.#options.clock) - known.seenMs < BLOCKED_MS) return known;
    if (known.error === undefined) {
      const fields = { type, id, nodeId: known.nodeId, reason: blocked };
      this.#options.logger.warn('A leaked resource cannot be deleted and needs a hand', fields);
    }
    return { ...known, error: blocked };
  }

  #sighting({ type, id, metadata }: Resource): Suspect {
    const { clock } = this.#options;
    const times = { sinceMs: clock.now(), seenMs: steadyNow(clock) };
    return { type, id, nodeId: metadata[NODE_ID_TAG], error: undefined, isLeaked: false, ...times };
  }

  /** Logs resources of our records with the id of another database, once: its launchers may delete them. */
  #warnOfClaims(kept: readonly Resource[]): void {
    const { databaseId, logger } = this.#options;
    for (const resource of kept) {
      const other = resource.metadata[DATABASE_ID_TAG];
      if (other === undefined || other === databaseId || this.#claimed.has(keyOf(resource))) continue;
      this.#claimed.add(keyOf(resource));
      const fields = { type: resource.type, id: resource.id, nodeId: resource.metadata[NODE_ID_TAG], database: other };
      logger.error('A resource in use here carries the id of another database, whose launchers may delete it', fields);
    }
  }

  /** Made before the database had an id, or by a service that writes none. */
  async #tagAll(resources: readonly Resource[], signal: AbortSignal): Promise<void> {
    const { adapter, databaseId, logger } = this.#options;
    if (!adapter.tagResource || databaseId === undefined) return;
    let tagged = 0;
    for (const resource of resources) {
      signal.throwIfAborted();
      try {
        await adapter.tagResource(resource, databaseTag(databaseId), signal);
        tagged++;
      } catch (error) {
        if (signal.aborted) throw error;
        if (isNodepoolError(error, 'NODEPOOL_NOT_FOUND') || this.#untaggable.has(keyOf(resource))) continue;
        this.#untaggable.add(keyOf(resource));
        const fields = { type: resource.type, id: resource.id, nodeId: resource.metadata[NODE_ID_TAG], error };
        logger.warn('Failed to tag a resource with the database id; retrying at each look', fields);
      }
    }
    if (tagged > 0) logger.info('Tagged resources of existing records with the database id', { count: tagged });
  }

  /** @returns why it could not be deleted, or nothing */
  async #delete(resource: Resource, signal: AbortSignal): Promise<LeakFailure | undefined> {
    const { adapter, logger, metrics, provider } = this.#options;
    const fields = { type: resource.type, id: resource.id, nodeId: resource.metadata[NODE_ID_TAG] };
    try {
      if (await this.#isKnownAfterAll(resource)) return undefined;
      const reason = await this.#whyNotDeleted();
      if (reason !== undefined) return { error: reason, isOfReplacedDatabase: true };
      logger.warn('Deleting a leaked resource', fields);
      await adapter.deleteResource(resource, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      if (!isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) {
        logger.warn('A leaked resource could not be deleted; trying again later', { ...fields, error });
        return { error: asError(error).message, isOfReplacedDatabase: undefined };
      }
    }
    metrics?.leaked?.(provider, resource.pluralMetricName ?? `${resource.type}s`);
    this.#options.deleted?.(resource);
    return undefined;
  }

  /** A deletion is final, so it is checked with ZooKeeper and not with the mirror. */
  async #isKnownAfterAll(resource: Resource): Promise<boolean> {
    const { nodes, zk } = this.#options;
    const nodeId = resource.metadata[NODE_ID_TAG];
    if (nodeId !== undefined && NODE_ID.test(nodeId)) {
      const stat = await zk.exists(nodePath(nodeId as NodeId));
      const shown = nodes.get(nodeId);
      if (stat && (!shown || shown.stat?.czxid !== stat.czxid)) return true; // the mirror is behind
    }
    const own = nodes.get(nodeId ?? '')?.externalId;
    const beside: Resource[] = typeof own === 'string' ? [{ ...resource, type: 'instance', id: own }] : [];
    const verdict = judgeAll([resource, ...beside], this.#evidence).get(resource);
    return verdict !== 'leaked' && verdict !== 'twin';
  }

  /** A database that was emptied or replaced under a running service has no records of its resources. */
  async #whyNotDeleted(): Promise<string | undefined> {
    const { databaseId, zk } = this.#options;
    const stored = await readDatabaseId(zk);
    if (stored === databaseId) return undefined;
    return `the id of the database is ${stored ?? 'gone'} and was ${String(databaseId)} at the start: its records prove nothing`;
  }
}

type LeakFailure = Pick<LeakedResource, 'error' | 'isOfReplacedDatabase'>;

/** Whether an entry of a list has what it is judged by. Others are not changed. */
function isReadable(one: unknown): one is Resource {
  const { id, type, metadata } = (one ?? {}) as Partial<Resource>;
  return typeof id === 'string' && typeof type === 'string' && typeof (metadata ?? undefined) === 'object';
}

function keyOf({ type, id }: Resource): string {
  return `${type} ${id}`;
}
