import type { Resources } from '@nodepool/zk-protocol';
import { willNeedFloatingIp } from './addresses.js';
import type { CloudSettings } from './client/clouds/types.js';
import type { CloudFacts } from './cloud-facts.js';
import type { OpenStackLabel, OpenStackPool, OpenStackProvider } from './config.js';
import { checkUserData } from './user-data.js';

/**
 * What a server of a label takes of the quota, and what it needs beside the server.
 * @throws {ConfigError} the cloud lacks something that the label names, or takes no such server
 */
export async function needsOf(
  label: OpenStackLabel,
  pool: OpenStackPool,
  facts: CloudFacts,
  images: OpenStackProvider['cloudImages'],
  settings: CloudSettings,
): Promise<Resources> {
  checkUserData(label);
  const flavor = await facts.flavorOf(label);
  const networks = await facts.networkIds(pool, label);
  const view = await facts.networks();
  const needsAddress = pool.autoFloatingIp && willNeedFloatingIp(networks, view, settings);
  const image = images.get(label.cloudImage ?? '');
  if (image && image.imageId === undefined) await facts.requireImage(image.imageName, label.name);
  await facts.requireNamed(pool, label);
  if (label.serverGroup !== undefined) await facts.serverGroup(label.serverGroup, label.name);
  return {
    instances: 1,
    cores: flavor.vcpus,
    ram: flavor.ramMib,
    ports: networks === 'auto' ? 1 : networks.length,
    ...(needsAddress && { 'floating-ips': 1 }),
    ...(label.bootFromVolume && { volumes: 1, 'volume-gb': label.volumeGb }),
  };
}
