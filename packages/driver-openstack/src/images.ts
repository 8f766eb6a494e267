import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Transform } from 'node:stream';
import { PROVIDER_TAG, TimeoutError, type ImageUpload, type Logger, type ProviderImage } from '@nodepool/core';
import { delay, type Clock } from '@nodepool/zk-protocol';
import { startCallDeadline } from './client/deadline.js';
import type { OpenStackClient } from './client/client.js';
import { isOpenStackError } from './client/errors.js';
import type { Image } from './client/image.js';

/** What uploads work with. */
export interface ImagesOptions {
  readonly client: OpenStackClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly provider: string;
  readonly timeoutMs: number;
}

/** Marks by which an image with the same data is known again, also by other programs. */
const MD5 = 'owner_specified.openstack.md5';
const SHA256 = 'owner_specified.openstack.sha256';
const OBJECT = 'owner_specified.openstack.object';
const LOOK_MS = 1_000;
const CLEAN_UP_MS = 60_000;
const PROGRESS_BYTES = 1024 * 1024;

/** The images of a provider in Glance. */
export class Images {
  readonly #options: ImagesOptions;

  constructor(options: ImagesOptions) {
    this.#options = options;
  }

  /**
   * Uploads an image in one request. Its id is told before the first byte; an upload that fails, is aborted or takes too
   * long takes the image with it.
   */
  async upload(upload: ImageUpload, signal: AbortSignal): Promise<string> {
    const { client, clock, timeoutMs } = this.#options;
    const same = await this.#sameImage(upload, signal);
    if (same) {
      await upload.onCreated?.(same.id);
      return same.id;
    }
    const { size } = await stat(upload.file);
    const deadline = startCallDeadline(clock, timeoutMs, signal);
    let id: string | undefined;
    try {
      const properties = { ...upload.metadata, ...marksOf(upload) };
      const made = await client.image.createImage(
        { name: upload.name, format: upload.format, properties },
        deadline.signal,
      );
      if (!made) throw new Error(`image "${upload.name}": the cloud made an image and did not say which`);
      id = made.id;
      await upload.onCreated?.(id);
      const sums = await this.#send(id, upload, size, deadline.signal);
      checkFile(upload, sums);
      await this.#untilActive(id, sums, deadline.signal);
      return id;
    } catch (error) {
      if (id !== undefined) await this.#giveUp(id);
      if (!deadline.expired) throw error;
      const message = `image "${upload.name}" was not uploaded within ${timeoutMs / 1_000} s: allow more with image-upload-timeout`;
      throw new TimeoutError(message, { timeoutMs, operation: 'image', cause: error });
    } finally {
      deadline.end();
    }
  }

  /** Deletes an image; one that is gone counts as deleted. */
  async delete(externalId: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.client.image.deleteImage(externalId, signal);
    } catch (error) {
      if (!isOpenStackError(error, 'not-found')) throw error;
    }
  }

  /** Images that carry the provider's tag; with `all` every one the project can see. */
  async list(all: boolean, signal: AbortSignal): Promise<ProviderImage[]> {
    const { client, provider } = this.#options;
    const images = await client.image.images({}, signal);
    return images
      .filter(({ properties }) => all || properties[PROVIDER_TAG] === provider)
      .map(({ id, name, status, properties }) => ({
        externalId: id,
        name,
        ready: status === 'active',
        metadata: properties,
      }));
  }

  /** An image of this name with the same data, e.g. of an upload whose end was not noticed. */
  async #sameImage({ name, md5, sha256, metadata }: ImageUpload, signal: AbortSignal): Promise<Image | undefined> {
    if (md5 === undefined && sha256 === undefined) return undefined;
    const found = await this.#options.client.image.images({ name }, signal);
    return found.find(
      (image) =>
        image.name === name &&
        image.status === 'active' &&
        image.properties[PROVIDER_TAG] === metadata[PROVIDER_TAG] &&
        (md5 === undefined || image.properties[MD5] === md5) &&
        (sha256 === undefined || image.properties[SHA256] === sha256),
    );
  }

  async #send(id: string, upload: ImageUpload, size: number, signal: AbortSignal): Promise<Sums> {
    const sums = { md5: createHash('md5'), sha512: createHash('sha512') };
    let sent = 0;
    let told = 0;
    const counted = new Transform({
      transform(chunk: Buffer, _encoding, next) {
        sums.md5.update(chunk);
        sums.sha512.update(chunk);
        sent += chunk.length;
        if (sent - told >= PROGRESS_BYTES || sent === size) {
          told = sent;
          upload.onProgress?.(sent, size);
        }
        next(null, chunk);
      },
    });
    const file = createReadStream(upload.file);
    file.on('error', (error) => counted.destroy(error));
    const stream = file.pipe(counted);
    try {
      await this.#options.client.image.upload(id, { stream, length: size, timeoutMs: this.#options.timeoutMs }, signal);
    } finally {
      file.destroy();
    }
    return { md5: sums.md5.digest('hex'), sha512: sums.sha512.digest('hex') };
  }

  async #untilActive(id: string, sums: Sums, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    for (;;) {
      const image = await client.image.image(id, signal);
      if (!image) throw new Error(`image ${id} vanished while it was uploaded`);
      if (image.status === 'active') {
        checkSums(image, sums);
        return;
      }
      if (image.status === 'killed' || image.status === 'deleted') {
        throw new Error(`image ${id} is ${image.status}: the cloud did not take its data`);
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
      logger.warn('An image whose upload failed could not be deleted; it will be found as leaked', { id, error });
    } finally {
      deadline.end();
    }
  }
}

interface Sums {
  readonly md5: string;
  readonly sha512: string;
}

/** A file that has changed since it was built is found while it is sent. */
function checkFile({ file, md5 }: ImageUpload, sums: Sums): void {
  if (md5 === undefined || md5 === sums.md5) return;
  throw new Error(`"${file}" is not what was built: its md5 is ${sums.md5}, and should be ${md5}`);
}

function checkSums({ id, checksum, hashAlgorithm, hashValue }: Image, sums: Sums): void {
  const isOther = checksum !== undefined && checksum !== sums.md5;
  const isOtherHash = hashAlgorithm === 'sha512' && hashValue !== undefined && hashValue !== sums.sha512;
  if (isOther || isOtherHash)
    throw new Error(`image ${id}: the cloud has other data than were sent; its checksum differs`);
}

function marksOf({ name, md5, sha256 }: ImageUpload): Record<string, string> {
  return {
    ...(md5 !== undefined && { [MD5]: md5 }),
    ...(sha256 !== undefined && { [SHA256]: sha256 }),
    [OBJECT]: `images/${name}`,
  };
}
