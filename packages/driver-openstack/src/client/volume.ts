import type { JsonObject } from '@nodepool/zk-protocol';
import { numberIn, objectIn, objectsIn, textIn, textsOf } from './read-values.js';
import type { Service } from './service.js';

/** A volume. */
export interface Volume {
  readonly id: string;
  readonly sizeGb: number;
  readonly status: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Servers it is attached to. */
  readonly serverIds: readonly string[];
}

/** Limits and usage of Cinder; a limit of `-1`: none. */
export interface VolumeLimits {
  readonly volumes: number | undefined;
  readonly gigabytes: number | undefined;
  readonly usedVolumes: number | undefined;
  /** Snapshots included. */
  readonly usedGigabytes: number | undefined;
}

/** The block storage service, Cinder. */
export class VolumeApi {
  readonly #service: Service;

  constructor(service: Service) {
    this.#service = service;
  }

  /** Whether the cloud has this service. */
  exists(signal: AbortSignal): Promise<boolean> {
    return this.#service.exists(signal);
  }

  async volumes(signal: AbortSignal): Promise<Volume[]> {
    return this.#service.list('volumes', readVolume, { path: '/volumes/detail', signal });
  }

  /** One volume; `undefined` if it does not exist. */
  async volume(id: string, signal: AbortSignal): Promise<Volume | undefined> {
    return this.#service.one('volume', readVolume, { path: `/volumes/${encodeURIComponent(id)}`, signal });
  }

  /** Adds metadata. */
  async mark(id: string, metadata: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    const path = `/volumes/${encodeURIComponent(id)}/metadata`;
    await this.#service.call({ lane: 'change', method: 'POST', path, body: { metadata: { ...metadata } }, signal });
  }

  async deleteVolume(id: string, signal: AbortSignal): Promise<void> {
    await this.#service.call({ lane: 'delete', method: 'DELETE', path: `/volumes/${encodeURIComponent(id)}`, signal });
  }

  /** Limits of the project. */
  async limits(signal: AbortSignal): Promise<VolumeLimits> {
    const { body } = await this.#service.call({ lane: 'read', method: 'GET', path: '/limits', signal });
    const absolute = objectIn(objectIn(body, 'limits'), 'absolute');
    return {
      volumes: numberIn(absolute, 'maxTotalVolumes'),
      gigabytes: numberIn(absolute, 'maxTotalVolumeGigabytes'),
      usedVolumes: numberIn(absolute, 'totalVolumesUsed'),
      usedGigabytes: numberIn(absolute, 'totalGigabytesUsed'),
    };
  }
}

function readVolume(volume: JsonObject): Volume | undefined {
  const id = textIn(volume, 'id');
  if (id === undefined) return undefined;
  return {
    id,
    sizeGb: numberIn(volume, 'size') ?? 0,
    status: textIn(volume, 'status') ?? '',
    metadata: textsOf(objectIn(volume, 'metadata')),
    serverIds: objectsIn(volume, 'attachments').flatMap((one) => textIn(one, 'server_id') ?? []),
  };
}

/** States of volumes without a server. */
const DETACHED = new Set(['available', 'error', 'error_deleting']);

/** Whether a volume belongs to no server, and is not being attached to one. */
export function isDetached({ serverIds, status }: Volume): boolean {
  return serverIds.length === 0 && DETACHED.has(status);
}
