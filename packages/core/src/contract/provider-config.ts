import type { Json, JsonObject, Resources } from '@nodepool/zk-protocol';

/** Typed form of a provider entry. Two configs whose `entry` and image settings are equal mean "nothing changed". */
export interface ProviderConfig {
  readonly name: string;
  readonly driverName: string;
  /** The entry as written, after substitution. Compared to decide whether a reload replaces the provider. */
  readonly entry: JsonObject;
  /** Further values that make the provider differ, e.g. a cloud's credentials file entry. */
  readonly equalityExtra?: Json;
  /** Files beside the configuration that the entry was read from: a service reads its configuration again when one changes. */
  readonly files?: readonly string[] | undefined;
  /** Files that are secret as a whole, such as private keys: every user of the computer must not be able to read them. */
  readonly secretFiles?: readonly string[] | undefined;
  /** `-1` no limit, `0` accepts nothing. */
  readonly maxConcurrency: number;
  readonly priority: number | undefined;
  readonly pools: ReadonlyMap<string, PoolConfig>;
  readonly managesImages: boolean;
  /** What builders upload; set by drivers that manage images when the provider lets them. */
  readonly images?: ProviderImages | undefined;
}

/** How builders bring images into one provider. */
export interface ProviderImages {
  /** Format of the provider's images, e.g. `qcow2`, `raw`, `vhd`. Builders make it of each image listed below. */
  readonly format: string;
  /** Name of an uploaded image: `{image_name}`, `{upload_id}` and `{timestamp}` (whole seconds) are filled in. */
  readonly nameFormat: string;
  /** How long one upload may take. */
  readonly uploadTimeoutMs: number;
  /** Program run after each upload with provider name, external id and local file; an upload it refuses is removed. */
  readonly postUploadHook: string | undefined;
  /** By name of the diskimage. */
  readonly diskimages: ReadonlyMap<string, ImageToUpload>;
}

/** A diskimage that one provider wants to have. */
export interface ImageToUpload {
  readonly name: string;
  /** No new uploads; those that are there stay. */
  readonly pause: boolean;
  /** Properties of the uploaded image; they win over those of the diskimage itself. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** A slice of a provider with limits and labels of its own. Drivers extend this with their own keys. */
export interface PoolConfig {
  readonly name: string;
  readonly labels: ReadonlyMap<string, PoolLabelConfig>;
  /** `Infinity` without limit; `0` or less disables the pool. */
  readonly maxServers: number;
  /** Ceilings by resource name besides `instances`: `cores`, `ram`, `volumes`, `volume-gb`. Missing: no limit. */
  readonly maxResources: Resources;
  readonly nodeAttributes: JsonObject | null;
  readonly priority: number | undefined;
  readonly ignoreProviderQuota: boolean;
  /** Zones to choose from; `null` among them lets the cloud choose. */
  readonly azs: readonly (string | null)[] | undefined;
  /** Why its nodes are not lent over HTTP, with the fix: they carry what no lessee may have. Missing: they are lent. */
  readonly notLent?: string | undefined;
}

/** A label as one pool offers it. Drivers extend this with their own keys. */
export interface PoolLabelConfig {
  readonly name: string;
  /** Managed image of the label. */
  readonly diskimage?: string | undefined;
  /** Image already in the cloud (key of the provider's `cloud-images`). */
  readonly cloudImage?: string | undefined;
}
