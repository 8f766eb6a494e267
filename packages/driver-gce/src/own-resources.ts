import { DATABASE_ID_TAG, NODE_ID_TAG, PROVIDER_TAG, type NodeRecord, type Resources } from '@nodepool/core';
import { nameOf, type ApiDisk, type ApiInstance } from './api.js';
import type { ComputeClient } from './client.js';
import type { GceInstance } from './instance.js';
import { carries, type Ownership } from './ownership.js';

/** What is searched, and by what. */
export interface OwnResourcesOptions {
  readonly client: Pick<ComputeClient, 'listAllInstances' | 'listAllDisks' | 'getInstance'>;
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

/** Finds what a provider has made, in all zones: the configured ones may have been others before. */
export class OwnResources {
  readonly #options: OwnResourcesOptions;
  readonly #zones = new Set<string>();

  constructor(options: OwnResourcesOptions) {
    this.#options = options;
  }

  /** Zones in which there was something of ours at any look: one that does not answer now still counts. */
  get zones(): Iterable<string> {
    return this.#zones;
  }

  /** Looks in all zones. */
  async find(signal: AbortSignal): Promise<{ instances: readonly ApiInstance[]; disks: readonly ApiDisk[] }> {
    const { client, ownership } = this.#options;
    const [allInstances, allDisks] = await Promise.all([
      client.listAllInstances(ownership.filter, signal),
      client.listAllDisks(ownership.filter, signal),
    ]);
    const instances = allInstances.filter((shown) => ownership.isOwn(shown));
    const disks = allDisks.filter((disk) => ownership.isOwn(disk));
    for (const { zone } of [...instances, ...disks]) this.#zones.add(nameOf(zone));
    return { instances, disks };
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

  /** Without the id of a database, the record has to prove it: an address is stored only of an instance that was made for it. */
  #isOfDatabase(tags: Readonly<Record<string, string>>, node: NodeRecord | undefined): boolean {
    const databaseId = tags[DATABASE_ID_TAG];
    return databaseId === undefined ? typeof node?.interfaceIp === 'string' : databaseId === this.#options.databaseId;
  }

  /** Instances that the original has made: their records count for them, so that they are no use by others. */
  async recordedWithoutLabels(
    labelled: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<{ readonly zone: string; readonly resources: Resources }[]> {
    const { client, ownNodes } = this.#options;
    const records = new Map<string, Resources>();
    for (const { externalId, resources } of ownNodes()) {
      if (typeof externalId === 'string' && resources && !labelled.has(externalId)) records.set(externalId, resources);
    }
    if (records.size === 0) return [];
    const all = await client.listAllInstances(undefined, signal);
    return all.flatMap(({ name, zone }) => {
      const resources = records.get(name);
      return resources ? [{ zone, resources }] : [];
    });
  }
}
