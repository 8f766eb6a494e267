import type { Resources } from '@nodepool/zk-protocol';
import type { Logger } from '@nodepool/core';
import type { OpenStackClient } from './client/client.js';
import { isOpenStackError } from './client/errors.js';

/**
 * Limits of the project: instances, cores and RAM from Nova, volumes from Cinder, ports from Neutron, where available.
 * Subtracts ports that do not belong to servers, because they are counted nowhere else.
 */
export async function limitsOf(client: OpenStackClient, logger: Logger, signal: AbortSignal): Promise<Resources> {
  const [compute, volumes, ports] = await Promise.all([
    client.compute.limits(signal),
    volumeLimits(client, signal),
    portLimit(client, signal).catch((error: unknown) => {
      if (!isOpenStackError(error) || error.code === 'NODEPOOL_PROVIDER_UNAVAILABLE') throw error;
      logger.debug('Reading the port quota failed', { error });
      return undefined;
    }),
  ]);
  return withoutMissing({
    instances: compute.instances,
    cores: compute.cores,
    ram: compute.ramMib,
    volumes: volumes?.volumes,
    'volume-gb': volumes?.gigabytes,
    ports,
  });
}

async function volumeLimits(client: OpenStackClient, signal: AbortSignal) {
  return (await client.volume.exists(signal)) ? client.volume.limits(signal) : undefined;
}

async function portLimit(client: OpenStackClient, signal: AbortSignal): Promise<number | undefined> {
  const projectId = await client.projectId(signal);
  if (projectId === undefined || !client.settings.hasNetwork || !(await client.network.exists(signal)))
    return undefined;
  const { ports } = await client.network.limits(projectId, signal);
  if (!ports || ports.limit < 0 || ports.used === undefined) return undefined;
  const all = await client.network.ports({}, signal);
  const ofServers = all.filter(({ deviceOwner }) => deviceOwner.startsWith('compute:')).length;
  return ports.limit - Math.max(0, ports.used - ofServers);
}

function withoutMissing(limits: Record<string, number | undefined>): Resources {
  return Object.fromEntries(Object.entries(limits).filter((one): one is [string, number] => one[1] !== undefined));
}
