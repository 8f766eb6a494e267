import {
  DATABASE_ID_TAG,
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

/** What is searched, and by what. */
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
  /** The one of its name in the list. */
  readonly listed: GceInstance | undefined;
  readonly node: NodeRecord | undefined;
  /** Where it may be besides. */
  readonly zones: readonly string[];
}

/** What a provider has made, as far as the zones say. */
export interface Found {
  readonly instances: readonly ApiInstance[];
  readonly disks: readonly ApiDisk[];
  /** Zones that did not answer. */
  readonly unreachable: ReadonlySet<string>;
}

/** Finds what a provider has made, in all zones: the configured ones may have been others before. */
export class OwnResources {
  readonly #options: OwnResourcesOptions;
  /** Zones in which there was something of ours at any look: one that does not answer now still counts. */
  readonly #zones = new Set<string>();
  /** Zones whose list of instances failed at the last look. */
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
      {
        ...{ kind: 'provider', name: this.#options.ownership.provider, type: 'ZoneSilent', severity: 'warning' },
        reason: 'ZoneFails',
        message: failing.map(([zone, { error }]) => `zone ${zone} does not list its instances: ${error}`).join('; '),
        nextStep: 'look at https://status.cloud.google.com; remove the zone from the provider if it lasts',
        evidence: { zones: zones.join(', ') },
        sinceMs: Math.min(...failing.map(([, { sinceMs }]) => sinceMs)),
        lastSeenMs: Math.max(...failing.map(([, { lastSeenMs }]) => lastSeenMs)),
      },
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
   * Instances in these zones and wherever ours were seen. One that fails is left out, so that it does not hide the others.
   * @throws the error of a zone when all of them fail
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
   * The zone of a node's instance; `undefined`: there is none. Lists do not show an instance of the original, which sets no
   * labels, and may show another of the same name in another zone: then its metadata says whose it is. One of another database
   * is not the node's, though it has the same name: node ids count from zero in each.
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
      if (carries(tags, marks) && this.#isOfDatabase({ ...tags, ...found?.labels }, node)) return zone;
    }
    return isListed ? listed.az : undefined;
  }

  #own<T extends ApiInstance | ApiDisk>({ found, unreachable }: OfAllZones<T>): OfAllZones<T> {
    const own = found.filter((one) => this.#options.ownership.isOwn(one));
    for (const { zone } of own) this.#zones.add(nameOf(zone));
    return { found: own, unreachable };
  }

  #answered(zone: string): void {
    if (this.#failing.delete(zone)) this.#options.logger.info('A zone lists its instances again', { zone });
  }

  #failed(zone: string, reason: unknown): void {
    const { logger, clock } = this.#options;
    const error = reason instanceof Error ? reason.message : String(reason);
    const known = this.#failing.get(zone);
    if (!known) logger.warn('A zone does not list its instances; deletions there end when it does', { zone, error });
    const nowMs = clock.now();
    this.#failing.set(zone, { error, sinceMs: known?.sinceMs ?? nowMs, lastSeenMs: nowMs });
  }

  /** Without the id of a database, the record has to prove it: an address is stored only of an instance that was made for it. */
  #isOfDatabase(tags: Readonly<Record<string, string>>, node: NodeRecord | undefined): boolean {
    const databaseId = tags[DATABASE_ID_TAG];
    return databaseId === undefined ? typeof node?.interfaceIp === 'string' : databaseId === this.#options.databaseId;
  }

  /**
   * What records count for instances that no list shows as ours: those that the original made, without labels, and those in
   * zones that do not answer. So they are not taken for use by others.
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

/** What a node's record counts for. */
interface Recorded {
  readonly zone: string;
  readonly resources: Resources;
}
