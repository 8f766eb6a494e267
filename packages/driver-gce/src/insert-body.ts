import { mapOf, mapsOf, textOf } from '@nodepool/zk-protocol';
import type { CreateOrder, JsonObject } from '@nodepool/core';
import type { GceImageConfig, GceLabelConfig, GcePoolConfig } from './config.js';
import { merge } from './overrides.js';
import { asLabels, ATTEMPT_LABEL } from './ownership.js';
import type { Placement } from './stock.js';

/** Input of {@link insertBody}. */
export interface InsertParts {
  readonly order: Pick<CreateOrder<GceLabelConfig, GcePoolConfig>, 'hostname' | 'label' | 'metadata'>;
  readonly image: GceImageConfig;
  /** Path or URL of the image. */
  readonly sourceImage: string;
  readonly placement: Placement;
  readonly region: string;
  /** Request id of the insert. */
  readonly requestId: string;
}

/** The body of an insert: configuration, then overrides, then ownership tags. */
export function insertBody({ order, image, sourceImage, placement, region, requestId }: InsertParts): JsonObject {
  const { hostname, label, metadata } = order;
  const { zone, machineType } = placement;
  const initializeParams = {
    sourceImage,
    diskType: `zones/${zone}/diskTypes/${label.volumeType}`,
    diskSizeGb: String(label.volumeGib),
  };
  const body = merge(
    {
      name: hostname,
      machineType: `zones/${zone}/machineTypes/${machineType}`,
      disks: [{ boot: true, autoDelete: true, initializeParams }],
      networkInterfaces: [networkOf(label, region)],
      serviceAccounts:
        label.serviceAccount === undefined ? [] : [{ email: label.serviceAccount, scopes: [...label.scopes] }],
      ...(label.networkTags.length > 0 && { tags: { items: [...label.networkTags] } }),
      ...schedulingOf(label),
    },
    label.overrides,
  );
  const { labels, ...rest } = marked(body, metadata, itemsOf(label, image), bootDiskName(hostname, requestId));
  return { ...rest, labels: { ...mapOf(labels), [ATTEMPT_LABEL]: requestId } };
}

/**
 * Name of the boot disk of an insert, unique to the insert. With the default, the instance name, an orphaned disk of a
 * failed instance would make the next one fail too.
 */
export function bootDiskName(instance: string, requestId: string): string {
  return `${instance}-${requestId.slice(0, 8)}`;
}

function networkOf({ network, subnetwork, externalIp }: GceLabelConfig, region: string): JsonObject {
  const path = (kind: string, name: string) => (name.includes('/') ? name : `${kind}/${name}`);
  const inSubnetwork = subnetwork !== undefined;
  return {
    ...((network !== undefined || !inSubnetwork) && { network: path('global/networks', network ?? 'default') }),
    ...(inSubnetwork && { subnetwork: path(`regions/${region}/subnetworks`, subnetwork) }),
    ...(externalIp && { accessConfigs: [{ type: 'ONE_TO_ONE_NAT', name: 'External NAT' }] }),
  };
}

/** A preempted Spot VM is stopped, to be noticed; an instance at its time limit is deleted even without a launcher. */
function schedulingOf({ spot, maxRunSeconds }: GceLabelConfig): JsonObject {
  if (!spot && maxRunSeconds === undefined) return {};
  return {
    scheduling: {
      ...(spot && { provisioningModel: 'SPOT', automaticRestart: false, onHostMaintenance: 'TERMINATE' }),
      ...(maxRunSeconds !== undefined && { maxRunDuration: { seconds: String(maxRunSeconds) } }),
      instanceTerminationAction: maxRunSeconds === undefined ? 'STOP' : 'DELETE',
    },
  };
}

function itemsOf(label: GceLabelConfig, image: GceImageConfig): Record<string, string> {
  return {
    // OS Login, if enabled for the project, would disable "ssh-keys".
    ...(image.key !== undefined && { 'ssh-keys': `${image.username ?? ''}:${image.key}`, [OS_LOGIN]: 'FALSE' }),
    ...(label.userData !== undefined && { 'user-data': label.userData }),
    ...(label.guestHostKeys && { 'enable-guest-attributes': 'TRUE' }),
  };
}

/** https://cloud.google.com/compute/docs/oslogin/set-up-oslogin: the instance overrides the project. */
const OS_LOGIN = 'enable-oslogin';

/** Adds tags as metadata and labels of the instance, as labels of each new disk, and the name of the boot disk. */
function marked(
  body: JsonObject,
  tags: Readonly<Record<string, string>>,
  items: Record<string, string>,
  bootDisk: string,
): JsonObject {
  const labels = asLabels(tags);
  const { items: given = [], ...metadata } = mapOf(body['metadata']);
  const all = new Map(mapsOf(given).map(({ key, value }) => [textOf(key) ?? '', textOf(value) ?? '']));
  for (const [key, value] of Object.entries({ ...items, ...tags })) {
    if (key !== OS_LOGIN || !all.has(key)) all.set(key, value);
  }
  return {
    ...body,
    labels: { ...mapOf(body['labels']), ...labels },
    metadata: { ...metadata, items: Array.from(all, ([key, value]) => ({ key, value })) },
    disks: mapsOf(body['disks']).map((disk) => {
      if (!('initializeParams' in disk)) return disk;
      const params = mapOf(disk['initializeParams']);
      const named = disk['boot'] === true ? { diskName: bootDisk, ...params } : params;
      return { ...disk, initializeParams: { ...named, labels: { ...mapOf(params['labels']), ...labels } } };
    }),
  };
}
