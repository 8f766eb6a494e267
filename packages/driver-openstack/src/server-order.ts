import { ConfigError, CapacityError, type CreateOrder } from '@nodepool/core';
import type { ServerOrder } from './client/compute.js';
import type { CloudFacts } from './cloud-facts.js';
import type { OpenStackLabel, OpenStackPool, OpenStackProvider } from './config.js';
import { fillTemplate } from './fill-template.js';
import { missing } from './named-things.js';
import { checkUserData } from './user-data.js';

type Order = CreateOrder<OpenStackLabel, OpenStackPool>;

/**
 * The order for the server of a node, without its zone.
 * @throws {ConfigError} flavor, network, key pair or a group do not exist, or the user data are too long
 * @throws {CapacityError} the image does not exist
 */
export async function serverOrder(order: Order, config: OpenStackProvider, facts: CloudFacts): Promise<ServerOrder> {
  const { label, pool } = order;
  checkUserData(label);
  const [flavor, image, networks] = await Promise.all([
    facts.flavorOf(label),
    imageOf(order, config, facts),
    facts.networkIds(pool, label),
    facts.requireNamed(pool, label),
  ]);
  const { serverGroup: group, bootFromVolume } = label;
  return {
    name: order.hostname,
    flavorId: flavor.id,
    imageId: bootFromVolume ? undefined : image.id,
    keyName: label.keyName,
    ...(image.configDrive && { configDrive: true as const }),
    securityGroups: pool.securityGroups,
    userData: label.userData,
    metadata: metadataOf(order, config),
    networks,
    ...(bootFromVolume && { bootVolume: { imageId: image.id, sizeGb: label.volumeGb, type: label.volumeType } }),
    ...(group !== undefined && { serverGroup: await facts.serverGroup(group, label.name) }),
  };
}

async function imageOf(
  { label, imageExternalId }: Order,
  config: OpenStackProvider,
  facts: CloudFacts,
): Promise<{ readonly id: string; readonly configDrive: boolean }> {
  if (label.diskimage !== undefined) {
    if (imageExternalId === undefined) throw new ConfigError(`label "${label.name}": its image has no upload`);
    return { id: imageExternalId, configDrive: config.diskimages.get(label.diskimage)?.configDrive === true };
  }
  const image = config.cloudImages.get(label.cloudImage ?? '');
  if (!image) throw new ConfigError(`label "${label.name}" does not name an image of the provider`);
  if (image.imageId !== undefined) return { id: image.imageId, configDrive: image.configDrive };
  const found = await facts.image(image.imageName);
  if (found) return { id: found.id, configDrive: image.configDrive };
  const message = `label "${label.name}": the cloud has no active image with the name or id "${image.imageName}"`;
  // another provider may have it; why this one does not is for the operator
  throw new CapacityError(message, { statsdKey: 'error.nodepool', cause: missing('Image', message) });
}

/** Own tags override properties of the label. */
function metadataOf(order: Order, config: OpenStackProvider): Record<string, string> {
  const { label, request, logger, metadata } = order;
  const imageName = label.diskimage ?? label.cloudImage ?? '';
  const dynamic: Record<string, string> = {};
  for (const [key, template] of Object.entries(label.dynamicProperties)) {
    try {
      dynamic[key] = fillTemplate(template, request);
    } catch (error) {
      logger.warn('Omitting an instance property that cannot be filled in', { property: key, error });
    }
  }
  return {
    groups: [config.name, imageName, label.name].join(','),
    nodepool_image_name: imageName,
    ...label.instanceProperties,
    ...dynamic,
    ...metadata,
  };
}

/**
 * The zone for a server: the zone of its request. After a recent capacity error there, a request for one node uses another
 * zone of its pool; the nodes of a larger request stay together.
 */
export function zoneFor(
  order: Pick<Order, 'az' | 'pool' | 'request'>,
  zonesOfCloud: readonly (string | null)[],
  isFull: (zone: string | null) => boolean,
): string | null {
  if (!isFull(order.az) || order.request.labels.length > 1) return order.az;
  const zones = order.pool.azs?.length ? order.pool.azs : zonesOfCloud;
  return zones.find((zone) => !isFull(zone)) ?? order.az;
}
