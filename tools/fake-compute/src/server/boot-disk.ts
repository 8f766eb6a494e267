import type { JsonObject } from '@nodepool/zk-protocol';

const DEFAULT_DISK_GIB = 10;

/** The boot disk requested by an insert. */
export interface BootDisk {
  readonly name: string;
  readonly type: string;
  readonly sizeGib: number;
  readonly labels: JsonObject;
}

/** Default: the name of the instance. See the description of `AttachedDiskInitializeParams.diskName`. */
export function bootDiskOf(body: JsonObject): BootDisk {
  const [disk] = body['disks'] as {
    initializeParams?: { diskName?: string; diskType?: string; diskSizeGb?: string; labels?: JsonObject };
  }[];
  const params = disk?.initializeParams ?? {};
  const {
    diskName = body['name'] as string,
    diskType = 'pd-standard',
    diskSizeGb = DEFAULT_DISK_GIB,
    labels = {},
  } = params;
  return { name: diskName, type: diskType.split('/').at(-1) ?? '', sizeGib: Number(diskSizeGb), labels };
}
