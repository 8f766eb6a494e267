import { uploadPath, type NodeRecord, type UploadRecord } from '@nodepool/zk-protocol';
import { LaunchError } from '../../contract/errors.js';
import type { ImageSource } from '../../contract/images.js';
import { needsAddress, type Instance } from '../../contract/instance.js';
import { storedPart } from '../../contract/resources.js';
import type { StateMachineLabelConfig, StateMachinePoolConfig, StateMachineProviderConfig } from './types.js';

/** What a node takes over from its image. */
export interface NodeImage {
  /** Name in the configuration; `null` for labels without an image. */
  readonly name: string | null;
  /** The cloud's id of an uploaded image. */
  readonly externalId: string | undefined;
  readonly fields: Partial<NodeRecord>;
}

const NO_IMAGE: NodeImage = { name: null, externalId: undefined, fields: {} };

/**
 * The image that a new node of the label is made from.
 * @returns `undefined` while a managed image has no ready upload in the provider
 */
export function imageOfLabel(
  config: StateMachineProviderConfig,
  label: StateMachineLabelConfig,
  images: Pick<ImageSource, 'newestUpload'> | undefined,
): NodeImage | undefined {
  if (label.diskimage !== undefined) {
    return config.managesImages
      ? uploadedImage(config, label.diskimage, images?.newestUpload(label.diskimage, config.name))
      : configuredImage(label.diskimage, config.diskimages.get(label.diskimage));
  }
  if (label.cloudImage === undefined) return NO_IMAGE;
  return configuredImage(label.cloudImage, config.cloudImages.get(label.cloudImage));
}

/** The image that a node is made from already. @param externalId - the cloud's id of an uploaded image */
export function imageOfNode(
  node: NodeRecord,
  { diskimage, cloudImage }: StateMachineLabelConfig,
  externalId: string | undefined,
): NodeImage {
  return {
    name: diskimage ?? cloudImage ?? null,
    externalId,
    fields: { imageId: node.imageId, ...connectionFields(node) },
  };
}

function uploadedImage(
  config: StateMachineProviderConfig,
  name: string,
  upload: UploadRecord | undefined,
): NodeImage | undefined {
  if (!upload || upload.externalId === null) return undefined;
  const configured = config.diskimages.get(name);
  return {
    name,
    externalId: upload.externalId,
    fields: {
      imageId: uploadPath(name, upload.buildId, config.name, upload.id),
      username: upload.username,
      pythonPath: upload.pythonPath,
      shellType: upload.shellType,
      ...connectionFields(configured ?? {}),
    },
  };
}

function configuredImage(name: string, configured: ConnectionValues | undefined): NodeImage {
  return { name, externalId: undefined, fields: { imageId: name, ...connectionFields(configured ?? {}) } };
}

type ConnectionFields = 'username' | 'pythonPath' | 'shellType' | 'connectionPort' | 'connectionType';
type ConnectionValues = { readonly [Field in ConnectionFields]?: NodeRecord[Field] | undefined };

const CONNECTION_FIELDS = ['username', 'pythonPath', 'shellType', 'connectionPort', 'connectionType'] as const;

/** Login data that is known. */
function connectionFields(values: ConnectionValues): Partial<NodeRecord> {
  return Object.fromEntries(
    CONNECTION_FIELDS.filter((field) => values[field] !== undefined).map((field) => [field, values[field]]),
  );
}

/**
 * What a node takes over from its instance.
 * @throws {LaunchError} the instance has no address and is reached by one
 */
export function fieldsOfInstance(
  instance: Instance,
  pool: StateMachinePoolConfig,
  image: Pick<NodeImage, 'fields'>,
): Partial<NodeRecord> {
  const internal = pool.useInternalIp === true ? (instance.privateIpv4 ?? instance.privateIpv6) : undefined;
  const interfaceIp = internal ?? instance.interfaceIp;
  const connectionType = instance.connectionType === undefined ? image.fields.connectionType : instance.connectionType;
  if (interfaceIp === null && needsAddress(connectionType)) {
    throw new LaunchError('address', `instance ${instance.externalId} has no address: check the networks of the label`);
  }
  return {
    externalId: instance.externalId,
    interfaceIp,
    publicIpv4: instance.publicIpv4 ?? null,
    publicIpv6: instance.publicIpv6 ?? null,
    privateIpv4: instance.privateIpv4 ?? null,
    hostId: instance.hostId ?? null,
    cloud: instance.cloud ?? null,
    region: instance.region ?? null,
    ...(typeof instance.az === 'string' && { az: instance.az }),
    driverData: instance.driverData ?? null,
    slot: instance.slot ?? null,
    resources: storedPart(instance.resources ?? { instances: 1 }),
    ...connectionFields(instance),
    ...(instance.hostKeys && { hostKeys: instance.hostKeys }),
    ...(instance.nodeAttributes && { attributes: { ...instance.nodeAttributes, ...pool.nodeAttributes } }),
  };
}
