import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline, Transform, type Readable } from 'node:stream';
import {
  DATABASE_ID_TAG,
  PROVIDER_TAG,
  TimeoutError,
  type ImageUpload,
  type Logger,
  type ProviderImage,
} from '@nodepool/core';
import { delay, type Clock } from '@nodepool/zk-protocol';
import { startCallDeadline } from './client/deadline.js';
import type { OpenStackClient } from './client/client.js';
import { isOpenStackError } from './client/errors.js';
import type { Image } from './client/image.js';

/** Dependencies of uploads. */
export interface ImagesOptions {
  readonly client: OpenStackClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly provider: string;
  readonly timeoutMs: number;
}

/** Properties that identify an image by its data, shared with other programs. */
const MD5 = 'owner_specified.openstack.md5';
const SHA256 = 'owner_specified.openstack.sha256';
const OBJECT = 'owner_specified.openstack.object';
/** Tags that mark an own image. */
const OWN_PREFIX = 'nodepool_';
/** States of an image whose data arrive or are being converted. Without a sender, Glance returns it to `queued`. */
const IMPORTING = new Set(['saving', 'uploading', 'importing']);
const LOOK_MS = 1_000;
const CLEAN_UP_MS = 60_000;
/** Size of one part of an upload. */
const CHUNK_BYTES = 1024 * 1024;

/** The images of a provider in Glance. */
export class Images {
  readonly #options: ImagesOptions;

  constructor(options: ImagesOptions) {
    this.#options = options;
  }

  /**
   * Uploads an image in one request. Reports its id before the first byte.
   */
  async upload(upload: ImageUpload, signal: AbortSignal): Promise<string> {
    const { client, clock, timeoutMs } = this.#options;
    const same = await this.#sameImage(upload, signal);
    if (same) {
      // From now on it belongs to this upload, also for the leak clean-up.
      const marks = Object.entries(upload.metadata).filter(([name]) => name.startsWith(OWN_PREFIX));
      await client.image.setProperties(same.id, Object.fromEntries(marks), signal);
      await upload.onCreated?.(same.id);
      return same.id;
    }
    const { size } = await stat(upload.file);
    const deadline = startCallDeadline(clock, timeoutMs, signal);
    try {
      const properties = { ...upload.metadata, ...marksOf(upload) };
      const made = await client.image.createImage(
        { name: upload.name, format: upload.format, properties },
        deadline.signal,
      );
      if (!made) throw new Error(`image "${upload.name}": the cloud created an image without returning its id`);
      await this.#report(made.id, upload);
      await this.#send(made.id, upload, size, deadline.signal);
      await checkData(await this.#whenActive(made.id, deadline.signal), upload, deadline.signal);
      return made.id;
    } catch (error) {
      if (!deadline.expired) throw error;
      const message = `image "${upload.name}" was not uploaded within ${timeoutMs / 1_000} s: raise image-upload-timeout`;
      throw new TimeoutError(message, { timeoutMs, operation: 'image', cause: error });
    } finally {
      deadline.end();
    }
  }

  /** Deletes an image; a missing one counts as deleted. */
  async delete(externalId: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.client.image.deleteImage(externalId, signal);
    } catch (error) {
      if (!isOpenStackError(error, 'not-found')) throw error;
    }
  }

  /** Images with the tag of the provider; with `all`, every image that the project can see. */
  async list(all: boolean, signal: AbortSignal): Promise<ProviderImage[]> {
    const { client, provider } = this.#options;
    const images = await client.image.images({}, signal);
    return images
      .filter(({ properties }) => all || properties[PROVIDER_TAG] === provider)
      .map((image) => ({
        externalId: image.id,
        name: image.name,
        ready: isAsSent(image),
        importing: IMPORTING.has(image.status),
        metadata: image.properties,
      }));
  }

  /** An image of this name with the same data, e.g. of an upload without an answer. */
  async #sameImage({ name, md5, sha256, metadata }: ImageUpload, signal: AbortSignal): Promise<Image | undefined> {
    if (md5 === undefined && sha256 === undefined) return undefined;
    const found = await this.#options.client.image.images({ name }, signal);
    return found.find(
      (image) =>
        image.name === name &&
        image.status === 'active' &&
        [PROVIDER_TAG, DATABASE_ID_TAG].every((tag) => image.properties[tag] === metadata[tag]) &&
        (md5 === undefined || image.properties[MD5] === md5) &&
        (sha256 === undefined || image.properties[SHA256] === sha256),
    );
  }

  /** Deletes the image if its id cannot be recorded. */
  async #report(id: string, { onCreated }: ImageUpload): Promise<void> {
    try {
      await onCreated?.(id);
    } catch (error) {
      await this.#giveUp(id);
      throw error;
    }
  }

  async #send(id: string, upload: ImageUpload, size: number, signal: AbortSignal): Promise<void> {
    const { client, timeoutMs } = this.#options;
    await client.image.upload(id, { open: () => counted(upload, size), length: size, timeoutMs }, signal);
  }

  async #whenActive(id: string, signal: AbortSignal): Promise<Image> {
    const { client, clock } = this.#options;
    for (;;) {
      const image = await client.image.image(id, signal);
      if (!image) throw new Error(`image ${id} vanished during its upload`);
      if (image.status === 'active') return image;
      if (image.status === 'killed' || image.status === 'deleted') {
        throw new Error(`image ${id} is ${image.status}: the cloud rejected its data`);
      }
      await delay(clock, LOOK_MS, signal);
    }
  }

  async #giveUp(id: string): Promise<void> {
    const { clock, logger } = this.#options;
    const deadline = startCallDeadline(clock, CLEAN_UP_MS, new AbortController().signal);
    try {
      await this.delete(id, deadline.signal);
    } catch (error) {
      logger.warn('Deleting the image of a failed upload failed; the leak clean-up will do it', { id, error });
    } finally {
      deadline.end();
    }
  }
}

/** The file of an upload from its beginning; tells how much of it was read. */
function counted({ file, onProgress }: ImageUpload, size: number): Readable {
  let sent = 0;
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      sent += chunk.length;
      onProgress?.(sent, size);
      next(null, chunk);
    },
  });
  // each end of the pipe ends the other; the reader of the counter gets the error
  return pipeline(createReadStream(file, { highWaterMark: CHUNK_BYTES }), counter, () => undefined);
}

/** Whether an image has the data that its MD5 promises, in case its builder died before it could compare them. */
function isAsSent({ status, checksum, properties }: Image): boolean {
  return status === 'active' && (properties[MD5] === undefined || properties[MD5] === checksum);
}

/**
 * Verifies the data of the cloud by checksum. Usually the MD5 of the cloud suffices. If it is missing or differs, reads the
 * file again, to tell a changed file from corrupt data in the cloud.
 */
async function checkData(image: Image, { file, md5 }: ImageUpload, signal: AbortSignal): Promise<void> {
  const { id, checksum, hashAlgorithm, hashValue } = image;
  if (md5 !== undefined && checksum === md5) return;
  const own = await sumsOf(file, signal);
  if (md5 !== undefined && own.md5 !== md5) {
    throw new Error(`"${file}" differs from the build: its md5 is ${own.md5}, expected ${md5}`);
  }
  const isOther = checksum !== undefined && checksum !== own.md5;
  const isOtherHash = hashAlgorithm === 'sha512' && hashValue !== undefined && hashValue !== own.sha512;
  if (isOther || isOtherHash)
    throw new Error(`image ${id}: the cloud has different data than were sent; its checksum differs`);
}

async function sumsOf(file: string, signal: AbortSignal): Promise<{ md5: string; sha512: string }> {
  const [md5, sha512] = [createHash('md5'), createHash('sha512')];
  for await (const chunk of createReadStream(file, { highWaterMark: CHUNK_BYTES, signal })) {
    md5.update(chunk as Buffer);
    sha512.update(chunk as Buffer);
  }
  return { md5: md5.digest('hex'), sha512: sha512.digest('hex') };
}

function marksOf({ name, md5, sha256 }: ImageUpload): Record<string, string> {
  return {
    ...(md5 !== undefined && { [MD5]: md5 }),
    ...(sha256 !== undefined && { [SHA256]: sha256 }),
    [OBJECT]: `images/${name}`,
  };
}
