import type { Resources } from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';
import type { OpenStackClient } from './client/client.js';
import { unlessRefused } from './client/errors.js';
import type { FloatingIp, NetworkLimit, Port } from './client/network.js';
import { isDetached } from './client/volume.js';
import { tagsIn } from './mark.js';

/** What the limits of a provider depend on. */
export interface LimitsOptions {
  readonly logger: Logger;
  /** Whether servers may get floating IPs, or boot from volumes: otherwise such limits do not matter. */
  readonly usesFloatingIps: boolean;
  readonly usesVolumes: boolean;
  /** Whether something with these tags belongs to the provider. */
  readonly isOwn: (tags: Readonly<Record<string, string>>) => boolean;
}

type Limits = Readonly<Record<string, number | undefined>>;

/**
 * Limits of the project: instances, cores and RAM from Nova, volumes from Cinder, ports and floating IPs from Neutron. Subtracts
 * what does not belong to servers, because that is counted nowhere else. What is not offered, or not to us, is not limited.
 */
export async function limitsOf(
  client: OpenStackClient,
  signal: AbortSignal,
  options: LimitsOptions,
): Promise<Resources> {
  const parts = { Nova: computeLimits, Cinder: volumeLimits, Neutron: networkLimits };
  const read = Object.entries(parts).map(async ([service, part]): Promise<Limits> => {
    const limits = await unlessRefused(() => part(client, signal, options));
    if (!limits) options.logger.debug('The cloud refuses to tell a quota; it is not limited here', { service });
    return limits ?? {};
  });
  return withoutMissing(Object.assign({}, ...(await Promise.all(read))) as Limits);
}

async function computeLimits(client: OpenStackClient, signal: AbortSignal): Promise<Limits> {
  const { instances, cores, ramMib } = await client.compute.limits(signal);
  return { instances, cores, ram: ramMib };
}

async function volumeLimits(
  client: OpenStackClient,
  signal: AbortSignal,
  { usesVolumes }: LimitsOptions,
): Promise<Limits> {
  if (!usesVolumes || !(await client.volume.exists(signal))) return {};
  const limits = await client.volume.limits(signal);
  // Others than these are attached, or about to be: with their servers, they are counted by these.
  const all = await client.volume.volumes(signal);
  const [free, busy] = [all.filter(isDetached), all.filter((volume) => !isDetached(volume))];
  const sizeOf = (volumes: typeof all) => volumes.reduce((sum, { sizeGb }) => sum + sizeGb, 0);
  return {
    volumes: rest(limits.volumes, others(limits.usedVolumes, busy.length) ?? free.length),
    'volume-gb': rest(limits.gigabytes, others(limits.usedGigabytes, sizeOf(busy)) ?? sizeOf(free)),
  };
}

async function networkLimits(client: OpenStackClient, signal: AbortSignal, options: LimitsOptions): Promise<Limits> {
  const projectId = await client.projectId(signal);
  if (projectId === undefined || !client.settings.hasNetwork || !(await client.network.exists(signal))) return {};
  const { ports, floatingIps } = await client.network.limits(projectId, signal);
  const isCounted = { ports: isLimit(ports), floatingIps: options.usesFloatingIps && isLimit(floatingIps) };
  if (!isCounted.ports && !isCounted.floatingIps) return {};
  const allPorts = await client.network.ports({}, signal);
  const ofServers = allPorts.filter(({ deviceOwner }) => deviceOwner.startsWith('compute:'));
  const ips = isCounted.floatingIps ? await client.network.floatingIps(signal) : [];
  return {
    ports: isCounted.ports ? rest(ports?.limit, others(ports?.used, ofServers.length)) : undefined,
    'floating-ips': isCounted.floatingIps
      ? rest(floatingIps?.limit, others(floatingIps?.used, countOfServers(ips, ofServers, options)))
      : undefined,
  };
}

/** Floating IPs of servers, and own ones that a server can take. */
function countOfServers(ips: readonly FloatingIp[], ports: readonly Port[], { isOwn }: LimitsOptions): number {
  const ids = new Set(ports.map(({ id }) => id));
  return ips.filter(({ portId, description }) => (portId === undefined ? isOwn(tagsIn(description)) : ids.has(portId)))
    .length;
}

function isLimit(limit: NetworkLimit | undefined): boolean {
  return limit !== undefined && limit.limit >= 0 && limit.used !== undefined;
}

/** What is used by others than these. */
function others(used: number | undefined, these: number): number | undefined {
  return used === undefined ? undefined : Math.max(0, used - these);
}

function rest(limit: number | undefined, used = 0): number | undefined {
  return limit === undefined || limit < 0 ? limit : Math.max(0, limit - used);
}

function withoutMissing(limits: Limits): Resources {
  return Object.fromEntries(Object.entries(limits).filter((one): one is [string, number] => one[1] !== undefined));
}
