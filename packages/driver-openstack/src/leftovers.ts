import {
  BUILD_ID_TAG,
  NotFoundError,
  PROVIDER_TAG,
  type Logger,
  type OperationMetrics,
  type Resource,
} from '@nodepool/core';
import type { Clock } from '@nodepool/zk-protocol';
import type { OpenStackClient } from './client/client.js';
import { isOpenStackError } from './client/errors.js';
import type { FloatingIp } from './client/network.js';
import { isDetached, type Volume } from './client/volume.js';
import type { OpenStackProvider } from './config.js';
import type { FloatingIps } from './floating-ips.js';
import type { OpenStackInstance } from './instance.js';
import { markFor, tagsIn } from './mark.js';
import { PortCleanup } from './port-cleanup.js';

/** Dependencies of {@link Leftovers}. */
export interface LeftoversOptions {
  readonly client: OpenStackClient;
  readonly config: OpenStackProvider;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: OperationMetrics | undefined;
  readonly floatingIps: FloatingIps;
  readonly databaseId: string | undefined;
}

type Tags = Readonly<Record<string, string>>;

const VOLUME = 'volume';
const FLOATING_IP = 'floatingip';
const IMAGE = 'image';

/**
 * Leftovers other than servers. Core compares tagged volumes, floating IPs and images with the records. Ports have no tags,
 * so they are compared with the servers they belonged to.
 */
export class Leftovers {
  readonly #options: LeftoversOptions;
  readonly #ports: PortCleanup;
  /** Untagged floating IPs that were unattached in the last list. */
  #unmarked = new Set<string>();

  constructor(options: LeftoversOptions) {
    this.#options = options;
    const { config, clock } = options;
    this.#ports = new PortCleanup({
      ...{ clock, provider: config.name, intervalMs: config.portCleanupMs },
      get databaseId() {
        return options.databaseId;
      },
    });
  }

  /** Records the existing servers. */
  saw(instances: readonly OpenStackInstance[]): void {
    this.#ports.saw(instances);
  }

  /** Records one server. */
  noted(instance: OpenStackInstance): void {
    this.#ports.noted(instance);
  }

  /**
   * All tagged resources except servers. Also deletes orphaned ports and, if configured, untagged floating IPs.
   */
  async resources(servers: readonly OpenStackInstance[], signal: AbortSignal): Promise<readonly Resource[]> {
    const found = await Promise.all([
      this.#volumes(servers, signal),
      this.#floatingIps(servers, signal),
      this.#images(signal),
    ]);
    await this.#cleanPorts(signal);
    return found.flat();
  }

  /** Deletes a resource; a missing one counts as deleted. */
  async delete({ type, id }: Resource, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    try {
      if (type === VOLUME) await client.volume.deleteVolume(id, signal);
      else if (type === FLOATING_IP) await client.network.deleteFloatingIp(id, signal);
      else if (type === IMAGE) await client.image.deleteImage(id, signal);
    } catch (error) {
      if (!isOpenStackError(error, 'not-found')) throw error;
    }
  }

  /** Adds tags to a resource. */
  async tag({ type, id }: Resource, tags: Tags, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    if (type === VOLUME) await client.volume.mark(id, tags, signal);
    else if (type === IMAGE) await client.image.setProperties(id, tags, signal);
    else if (type === FLOATING_IP) {
      const ip = await client.network.floatingIp(id, signal);
      if (!ip) throw new NotFoundError(`floating IP ${id} is gone`);
      await client.network.describeFloatingIp(id, markFor({ ...tagsIn(ip.description), ...tags }), signal);
    }
  }

  async #volumes(servers: readonly OpenStackInstance[], signal: AbortSignal): Promise<Resource[]> {
    const { client, config } = this.#options;
    const isUsed = [...config.pools.values()].some((pool) =>
      [...pool.labels.values()].some((label) => label.bootFromVolume),
    );
    if (!isUsed || !(await client.volume.exists(signal))) return [];
    const volumes = await client.volume.volumes(signal);
    return volumes
      .filter(({ metadata }) => metadata[PROVIDER_TAG] === config.name)
      .map((volume) => {
        const { id, metadata, serverIds } = volume;
        const inUse = serverIds.some((serverId) => servers.some(({ externalId }) => externalId === serverId));
        return { type: VOLUME, id, metadata, instanceId: serverIds[0], inUse, blocked: whyNotDeleted(volume) };
      });
  }

  async #floatingIps(servers: readonly OpenStackInstance[], signal: AbortSignal): Promise<Resource[]> {
    const { client, config, floatingIps } = this.#options;
    const { floatingIpSource, hasNetwork } = client.settings;
    const isUsed = config.cleanFloatingIps || [...config.pools.values()].some((pool) => pool.autoFloatingIp);
    if (!isUsed || floatingIpSource !== 'neutron' || !hasNetwork || !(await client.network.exists(signal))) return [];
    const all = await floatingIps.list(signal);
    if (config.cleanFloatingIps) await this.#cleanUnmarked(all, signal);
    return all.flatMap(({ id, address, description }) => {
      const metadata = tagsIn(description);
      if (metadata[PROVIDER_TAG] !== config.name) return [];
      const at = servers.find(({ server }) => server.addresses.some((one) => one.address === address));
      return [{ type: FLOATING_IP, id, name: address, metadata, instanceId: at?.externalId }];
    });
  }

  /** `clean-floating-ips`: deletes floating IPs that are unattached in two consecutive lists. */
  async #cleanUnmarked(all: readonly FloatingIp[], signal: AbortSignal): Promise<void> {
    const { logger, metrics, config, floatingIps } = this.#options;
    const free = all.filter(
      ({ portId, description }) => portId === undefined && tagsIn(description)[PROVIDER_TAG] === undefined,
    );
    for (const ip of free.filter(({ id }) => this.#unmarked.has(id))) {
      logger.warn('Deleting unattached floating IP', { id: ip.id, address: ip.address });
      await floatingIps.remove(ip, signal);
      metrics?.leaked?.(config.name, 'floatingips');
    }
    this.#unmarked = new Set(free.map(({ id }) => id));
  }

  async #images(signal: AbortSignal): Promise<Resource[]> {
    const { client, config } = this.#options;
    if (config.diskimages.size === 0) return [];
    const images = await client.image.images({}, signal);
    return images
      .filter(({ properties }) => properties[PROVIDER_TAG] === config.name && properties[BUILD_ID_TAG] !== undefined)
      .map(({ id, name, createdAt, properties }) => ({
        ...{ type: IMAGE, id, name, metadata: properties, createdMs: timeOf(createdAt) },
      }));
  }

  async #cleanPorts(signal: AbortSignal): Promise<void> {
    const { client, config, logger, metrics } = this.#options;
    if (!this.#ports.isDue || !client.settings.hasNetwork || !(await client.network.exists(signal))) return;
    const ports = await client.network.ports({ status: 'DOWN' }, signal);
    for (const { id, deviceId } of this.#ports.orphansOf(ports)) {
      // a list may lack a server, or have it without its id
      if (await client.compute.server(deviceId, signal)) continue;
      logger.warn('Deleting orphaned port of a deleted server', { port: id, server: deviceId });
      try {
        await client.network.deletePort(id, signal);
      } catch (error) {
        if (!isOpenStackError(error, 'not-found')) {
          logger.warn('Deleting a port failed; retrying later', { port: id, error });
          continue;
        }
      }
      metrics?.leaked?.(config.name, 'ports');
    }
  }
}

/** Why Cinder would refuse to delete a volume; `undefined`: it would not. */
function whyNotDeleted(volume: Volume): string | undefined {
  if (isDetached(volume)) return undefined;
  const { id, serverIds, status } = volume;
  const repair = `"cinder reset-state --state available --attach-status detached ${id}" of an administrator, then delete it`;
  if (serverIds.length > 0) return `it is attached to server ${serverIds.join(', ')}, which does not exist: ${repair}`;
  return `its status stays "${status}": ${repair}`;
}

/** Parses a time of OpenStack; `undefined` if missing. */
export function timeOf(text: string): number | undefined {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
