import { randomUUID } from 'node:crypto';
import { isNodepoolError, type Logger, type Resource } from '@nodepool/core';
import { nameOf, type ApiDisk, type ApiInstance } from './api.js';
import type { ComputeClient } from './client.js';
import { asLabels, carries, type Ownership } from './ownership.js';
import type { OwnResources } from './own-resources.js';

/** Dependencies of {@link Leftovers}. */
export interface LeftoversOptions {
  readonly client: Pick<ComputeClient, 'getInstance' | 'deleteInstance' | 'deleteDisk' | 'labelInstance' | 'labelDisk'>;
  readonly own: OwnResources;
  readonly ownership: Ownership;
  readonly logger: Logger;
}

/** Instances and disks of a provider in all zones, for the leak clean-up. */
export class Leftovers {
  readonly #options: LeftoversOptions;
  /** Zones of own instances in the last list, with their labels, by name. */
  #listed = new Map<string, readonly { readonly zone: string; readonly labels: ApiInstance['labels'] }[]>();

  constructor(options: LeftoversOptions) {
    this.#options = options;
  }

  /** Instances and disks. If one list fails, returns the other. @throws both failed */
  async list(signal: AbortSignal): Promise<Resource[]> {
    const { own, logger } = this.#options;
    const lists = await Promise.allSettled([own.instances(signal), own.disks(signal)]);
    signal.throwIfAborted();
    const [instances, disks] = lists;
    if (instances.status === 'rejected' && disks.status === 'rejected') throw instances.reason;
    for (const list of lists) {
      if (list.status === 'rejected')
        logger.warn('Listing leaked resources of one kind failed', { error: list.reason as unknown });
    }
    return [
      ...(instances.status === 'fulfilled' ? this.#instances(instances.value.found) : []),
      ...(disks.status === 'fulfilled' ? disks.value.found.map((disk) => this.#disk(disk)) : []),
    ];
  }

  /** Deletes an instance, if it is still the listed one, or a disk. */
  async delete(resource: Resource, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const { type, id } = resource;
    const [diskZone = '', diskName = ''] = id.split('/');
    if (type === 'disk') return client.deleteDisk(diskZone, diskName, randomUUID(), signal);
    for (const zone of this.#zonesOf(resource)) {
      const found = await client.getInstance(zone, id, signal);
      if (!found || !this.#isOf(resource, found)) continue;
      await client.deleteInstance(zone, id, randomUUID(), signal).catch(unlessNotFound);
    }
  }

  /** Adds tags to an instance or a disk. */
  async tag(resource: Resource, tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const { type, id } = resource;
    const labels = asLabels(tags);
    const [diskZone = '', diskName = ''] = id.split('/');
    if (type === 'disk') return client.labelDisk(diskZone, diskName, labels, signal);
    for (const zone of this.#zonesOf(resource)) await client.labelInstance(zone, id, labels, signal);
  }

  #instances(instances: readonly ApiInstance[]): Resource[] {
    this.#listed = new Map();
    for (const { name, zone, labels } of instances) {
      this.#listed.set(name, [...(this.#listed.get(name) ?? []), { zone: nameOf(zone), labels }]);
    }
    return instances.map(({ name, labels }) => this.#resource('instance', name, labels));
  }

  #disk({ zone, name, labels, users: [user] = [] }: ApiDisk): Resource {
    const resource = this.#resource('disk', `${nameOf(zone)}/${name}`, labels);
    return user === undefined ? resource : { ...resource, instanceId: nameOf(user), inUse: true };
  }

  #resource(type: string, id: string, labels: ApiInstance['labels']): Resource {
    return { type, id, metadata: this.#options.ownership.tagsOf(labels) };
  }

  /** Zones by name and tags: another installation may have an instance of the same name in another zone. */
  #zonesOf(resource: Resource): string[] {
    const places = this.#listed.get(resource.id) ?? [];
    return places.filter((place) => this.#isOf(resource, place)).map(({ zone }) => zone);
  }

  /** Names repeat, after an older copy of the database was restored too. */
  #isOf({ metadata }: Resource, { labels }: Pick<ApiInstance, 'labels'>): boolean {
    const tags = this.#options.ownership.tagsOf(labels);
    return carries(tags, metadata) && carries(metadata, tags);
  }
}

function unlessNotFound(error: unknown): void {
  if (!isNodepoolError(error, 'NODEPOOL_NOT_FOUND')) throw error;
}
