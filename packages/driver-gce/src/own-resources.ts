import {
  DATABASE_ID_TAG,
  isOurs,
  newCondition,
  NODE_ID_TAG,
  PROVIDER_TAG,
  type Clock,
  type FoundCondition,
  type Logger,
  type NodeRecord,
  type Resources,
} from '@nodepool/core';
import { nameOf, type ApiDisk, type ApiInstance } from './api.js';
import type { ComputeClient, OfAllZones } from './client.js';
import type { GceInstance } from './instance.js';
import { carries, type Ownership } from './ownership.js';

/** Conditions of zones. */
export const CONDITIONS = {
  ZoneSilent: {
    kind: 'provider',
    severity: 'warning',
    meaning:
      'zones of a provider fail to list their instances; nodes there are not deleted until they do; other zones work',
    reasons: { ZoneFails: 'the message names the zones, with their errors' },
    nextStep: 'check the status page of the cloud; remove the zones from the provider if the failure lasts',
  },
} as const;

/** Dependencies of {@link OwnResources}. */
export interface OwnResourcesOptions {
  readonly client: Pick<ComputeClient, 'listInstances' | 'listAllInstances' | 'listAllDisks' | 'getInstance'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly ownership: Ownership;
  readonly databaseId: string | undefined;
  /** Records of the provider's nodes. */
  readonly ownNodes: () => Iterable<NodeRecord>;
}

/** An instance to find. */
export interface Wanted {
  readonly name: string;
  /** The listed instance of this name. */
  readonly listed: GceInstance | undefined;
  readonly node: NodeRecord | undefined;
  /** Other possible zones. */
  readonly zones: readonly string[];
}

/** Resources of a provider in the zones that answered. */
export interface Found {
  readonly instances: readonly ApiInstance[];
  readonly disks: readonly ApiDisk[];
  /** Zones that did not answer. */
  readonly unreachable: ReadonlySet<string>;
}

/** States of nodes whose instance was made and is not being deleted. */
const SETTLED: ReadonlySet<string> = new Set(['ready', 'in-use', 'hold', 'testing']);

/** Finds the resources of a provider in all zones, because the configured zones may have changed. */
export class OwnResources {
  readonly #options: OwnResourcesOptions;
  /** Zones that ever had resources of this provider, even if they do not answer now. */
  readonly #zones = new Set<string>();
  /** Zones whose last list of instances failed. */
  readonly #failing = new Map<
    string,
    { readonly error: string; readonly sinceMs: number; readonly lastSeenMs: number }
  >();

  constructor(options: OwnResourcesOptions) {
    this.#options = options;
  }

  /** Zones that do not list their instances, as a condition of the provider. */
  get conditions(): FoundCondition[] {
    const failing = [...this.#failing];
    if (failing.length === 0) return [];
    const zones = failing.map(([zone]) => zone);
    return [
      newCondition(CONDITIONS, 'ZoneSilent', {
        ...{ name: this.#options.ownership.provider, reason: 'ZoneFails' },
        message: failing.map(([zone, { error }]) => `zone ${zone} does not list its instances: ${error}`).join('; '),
        nextStep: 'check https://status.cloud.google.com; if the outage lasts, remove the zone from the provider',
        evidence: { zones: zones.join(', ') },
        sinceMs: Math.min(...failing.map(([, { sinceMs }]) => sinceMs)),
        lastSeenMs: Math.max(...failing.map(([, { lastSeenMs }]) => lastSeenMs)),
      }),
    ];
  }

  /** Instances and disks in all zones. */
  async find(signal: AbortSignal): Promise<Found> {
    const [instances, disks] = await Promise.all([this.instances(signal), this.disks(signal)]);
    const unreachable = new Set([...instances.unreachable, ...disks.unreachable]);
    return { instances: instances.found, disks: disks.found, unreachable };
  }

  /** Instances in all zones. */
  async instances(signal: AbortSignal): Promise<OfAllZones<ApiInstance>> {
    const { client, ownership } = this.#options;
    const all = await client.listAllInstances(ownership.filter, signal);
    for (const zone of [...this.#failing.keys()]) if (!all.unreachable.has(zone)) this.#answered(zone);
    return this.#own(all);
  }

  /** Disks in all zones. */
  async disks(signal: AbortSignal): Promise<OfAllZones<ApiDisk>> {
    const { client, ownership } = this.#options;
    return this.#own(await client.listAllDisks(ownership.filter, signal));
  }

  /**
   * Instances in these zones and in zones with own resources. Skips failing zones, so that they do not hide the others.
   * @throws the error of a zone if all zones fail
   */
  async inZones(zones: Iterable<string>, signal: AbortSignal): Promise<ApiInstance[]> {
    const { client, ownership } = this.#options;
    const all = [...new Set([...zones, ...this.#zones])];
    const lists = await Promise.allSettled(
      all.map(async (zone) => client.listInstances(zone, ownership.filter, signal)),
    );
    signal.throwIfAborted();
    const failures = lists.filter((list) => list.status === 'rejected');
    if (failures[0] && failures.length === all.length) throw failures[0].reason;
    lists.forEach((list, index) => {
      const zone = all[index] ?? '';
      if (list.status === 'fulfilled') this.#answered(zone);
      else this.#failed(zone, list.reason);
    });
    return lists
      .flatMap((list) => (list.status === 'fulfilled' ? list.value : []))
      .filter((one) => ownership.isOwn(one));
  }

  /**
   * Stand-ins for the instances of nodes in zones that do not answer, so that they are not taken for gone. Only for nodes that have theirs
   * for certain.
   */
  hidden(shown: readonly GceInstance[]): GceInstance[] {
    if (this.#failing.size === 0) return [];
    const names = new Set(shown.map(({ externalId }) => externalId));
    return [...this.#options.ownNodes()].flatMap(({ externalId, az, state }) => {
      const isHidden = typeof externalId === 'string' && az !== null && this.#failing.has(az) && !names.has(externalId);
      if (!isHidden || !SETTLED.has(state)) return [];
      const blank = { ready: false, deleted: false, interfaceIp: null, metadata: {}, resources: {} };
      const unknown = { machineType: '', spot: false, status: 'its zone does not answer', attempt: undefined };
      return [{ ...blank, ...unknown, externalId, az }];
    });
  }

  /**
   * The zone of a node's instance; `undefined`: no instance. Lists omit instances of the Python implementation, which sets no
   * labels, and may contain an instance of the same name in another zone, so the metadata decides. An instance of another
   * database never matches: node ids are unique only within a database.
   */
  async zoneOf({ name, listed, node, zones }: Wanted, signal: AbortSignal): Promise<string | undefined> {
    const { client, ownership } = this.#options;
    const marks = { [PROVIDER_TAG]: ownership.provider, ...(node && { [NODE_ID_TAG]: node.id }) };
    const az = node?.az;
    const isListed = listed && carries(listed.metadata, marks) && this.#isOfDatabase(listed.metadata, node);
    if (isListed && (typeof az !== 'string' || listed.az === az)) return listed.az;
    const all = new Set([...zones, ...this.#zones]);
    for (const zone of typeof az === 'string' && all.has(az) ? new Set([az, ...all]) : all) {
      const found = await client.getInstance(zone, name, signal);
      const tags = Object.fromEntries(found?.metadata?.items?.map(({ key, value = '' }) => [key, value]) ?? []);
      if (carries(tags, marks) && this.#isOfDatabase({ ...tags, ...found?.labels, ...marks }, node)) return zone;
    }
    return isListed ? listed.az : undefined;
  }

  #own<T extends ApiInstance | ApiDisk>({ found, unreachable }: OfAllZones<T>): OfAllZones<T> {
    const own = found.filter((one) => this.#options.ownership.isOwn(one));
    for (const { zone } of own) this.#zones.add(nameOf(zone));
    return { found: own, unreachable };
  }

  #answered(zone: string): void {
    if (this.#failing.delete(zone)) this.#options.logger.info('Zone lists its instances again', { zone });
  }

  #failed(zone: string, reason: unknown): void {
    const { logger, clock } = this.#options;
    const error = reason instanceof Error ? reason.message : String(reason);
    const known = this.#failing.get(zone);
    if (!known) logger.warn('Zone does not list its instances; deletions there wait until it does', { zone, error });
    const nowMs = clock.now();
    this.#failing.set(zone, { error, sinceMs: known?.sinceMs ?? nowMs, lastSeenMs: nowMs });
  }

  /** Without a database id, the record is the proof: it has an address only if an instance was created for it. */
  #isOfDatabase(tags: Readonly<Record<string, string>>, node: NodeRecord | undefined): boolean {
    const { ownership, databaseId } = this.#options;
    if (!(DATABASE_ID_TAG in tags)) return typeof node?.interfaceIp === 'string';
    return isOurs(tags, ownership.provider, databaseId, node);
  }

  /**
   * Resources in records of instances that the lists omit: instances of the Python implementation, without labels, and
   * instances in zones that do not answer. Otherwise they would count as usage by others.
   */
  async recordedOnly({ instances, unreachable }: Found, signal: AbortSignal): Promise<Recorded[]> {
    const { client, ownNodes } = this.#options;
    const listed = new Set(instances.map(({ name }) => name));
    const hidden: Recorded[] = [];
    const unlabelled = new Map<string, Resources>();
    for (const { externalId, resources, az } of ownNodes()) {
      if (typeof externalId !== 'string' || !resources || listed.has(externalId)) continue;
      if (typeof az === 'string' && unreachable.has(az)) hidden.push({ zone: az, resources });
      else unlabelled.set(externalId, resources);
    }
    if (unlabelled.size === 0) return hidden;
    const { found } = await client.listAllInstances(undefined, signal);
    const shown = found.flatMap(({ name, zone }) => {
      const resources = unlabelled.get(name);
      return resources ? [{ zone: nameOf(zone), resources }] : [];
    });
    return [...hidden, ...shown];
  }
}

/** Resources in a node's record. */
interface Recorded {
  readonly zone: string;
  readonly resources: Resources;
}
