import { isMap, type Json, type JsonObject } from '@nodepool/zk-protocol';
import { numberIn, textIn, textsOf } from './read-values.js';
import type { Service } from './service.js';
import type { StreamBody } from './session.js';

/** Glance's names of formats that diskimage-builder and qemu-img call otherwise. */
const DISK_FORMATS: Readonly<Record<string, string>> = { vpc: 'vhd' };

/** An image. */
export interface Image {
  readonly id: string;
  readonly name: string;
  /** In lower case, e.g. `queued`, `active`, `killed`. */
  readonly status: string;
  readonly createdAt: string;
  readonly sizeBytes: number | undefined;
  /** MD5 of the data, if the cloud has it. */
  readonly checksum: string | undefined;
  readonly hashAlgorithm: string | undefined;
  readonly hashValue: string | undefined;
  /** All string values, including custom properties. */
  readonly properties: Readonly<Record<string, string>>;
}

/** The order for an image. */
export interface ImageOrder {
  readonly name: string;
  readonly format: string;
  readonly properties: Readonly<Record<string, string>>;
}

/** The image service, Glance. */
export class ImageApi {
  readonly #service: Service;

  constructor(service: Service) {
    this.#service = service;
  }

  /** Images. @param filter - e.g. `{ name: … }`; not every cloud applies it, so check the results */
  async images(filter: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Image[]> {
    return this.#service.list('images', readImage, { path: '/images', query: filter, signal });
  }

  /** One image; `undefined` if it does not exist. */
  async image(id: string, signal: AbortSignal): Promise<Image | undefined> {
    return this.#service.one(undefined, readImage, { path: `/images/${encodeURIComponent(id)}`, signal });
  }

  /** Creates an image without data. */
  async createImage(order: ImageOrder, signal: AbortSignal): Promise<Image | undefined> {
    const body: JsonObject = {
      container_format: 'bare',
      visibility: 'private',
      ...Object.fromEntries(Object.entries(order.properties).map(([name, value]) => [name, typed(name, value)])),
      name: order.name,
      disk_format: DISK_FORMATS[order.format] ?? order.format,
    };
    const answer = await this.#service.call({ lane: 'create', method: 'POST', path: '/images', body, signal });
    return isMap(answer.body) ? readImage(answer.body) : undefined;
  }

  /** Sets properties of an image. */
  async setProperties(id: string, changes: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    const body = Object.entries(changes).map(([name, value]) => ({
      op: 'add', // replaces as well: https://www.rfc-editor.org/rfc/rfc6902#section-4.1
      path: `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      value,
    }));
    await this.#service.call({
      lane: 'change',
      method: 'PATCH',
      path: `/images/${encodeURIComponent(id)}`,
      headers: { 'content-type': 'application/openstack-images-v2.1-json-patch' },
      body,
      signal,
    });
  }

  /** Sends the data of an image, in one request; a refused upload is repeated as a whole. */
  async upload(id: string, data: StreamBody & { readonly timeoutMs: number }, signal: AbortSignal): Promise<void> {
    await this.#service.call({
      lane: 'upload',
      method: 'PUT',
      path: `/images/${encodeURIComponent(id)}/file`,
      stream: { open: data.open, length: data.length },
      signal,
      timeoutMs: data.timeoutMs,
    });
  }

  async deleteImage(id: string, signal: AbortSignal): Promise<void> {
    await this.#service.call({ lane: 'delete', method: 'DELETE', path: `/images/${encodeURIComponent(id)}`, signal });
  }
}

/** Attributes of images that are not strings. */
function typed(name: string, value: string): Json {
  if (name === 'min_disk' || name === 'min_ram') return /^\d+$/.test(value) ? Number(value) : value;
  if (name === 'protected') return /^true$/i.test(value);
  return name === 'tags' ? parsed(value) : value;
}

/** Parses JSON. Other strings stay unchanged: Glance rejects them with a reason. */
function parsed(value: string): Json {
  try {
    return JSON.parse(value) as Json;
  } catch {
    return value;
  }
}

function readImage(image: JsonObject): Image | undefined {
  const id = textIn(image, 'id');
  if (id === undefined) return undefined;
  return {
    id,
    name: textIn(image, 'name') ?? '',
    status: (textIn(image, 'status') ?? '').toLowerCase(),
    createdAt: textIn(image, 'created_at') ?? '',
    sizeBytes: numberIn(image, 'size'),
    checksum: textIn(image, 'checksum'),
    hashAlgorithm: textIn(image, 'os_hash_algo'),
    hashValue: textIn(image, 'os_hash_value'),
    properties: textsOf(image),
  };
}
