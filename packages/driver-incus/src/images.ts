import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import {
  isNodepoolError,
  PROVIDER_TAG,
  TimeoutError,
  type Clock,
  type ImageUpload,
  type Logger,
  type ProviderImage,
} from '@nodepool/core';
import type { IncusClient } from './client.js';
import type { InstanceType } from './config.js';
import { AlreadyExistsError, errorOfOperation } from './errors.js';
import { architectureOf, metadataTar } from './image-archive.js';
import type { Operations } from './operations.js';
import { asKeys, tagsIn } from './ownership.js';

/** Dependencies of uploads. */
export interface ImagesOptions {
  readonly client: IncusClient;
  readonly operations: Operations;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly provider: string;
  readonly type: InstanceType;
  readonly timeoutMs: number;
}

const CHUNK_BYTES = 2 ** 20;
const BOUNDARY = 'nodepool-image-part';

/** The images of a provider. An image is known by its fingerprint: the SHA-256 of its metadata and its file system. */
export class Images {
  readonly #options: ImagesOptions;

  constructor(options: ImagesOptions) {
    this.#options = options;
  }

  /**
   * Uploads the output of a build as a split image. The fingerprint is computed and reported before the first byte, and verified by
   * the server.
   */
  async upload(upload: ImageUpload, signal: AbortSignal): Promise<string> {
    const { clock, timeoutMs } = this.#options;
    const late = new AbortController();
    const cancel = clock.setTimer(timeoutMs, () => {
      const message = `image "${upload.name}" was not uploaded within ${timeoutMs / 1_000} s: raise image-upload-timeout`;
      late.abort(new TimeoutError(message, { timeoutMs, operation: 'image' }));
    });
    const either = AbortSignal.any([signal, late.signal]);
    try {
      const { mtimeMs } = await stat(upload.file);
      const metadata = this.#metadata(upload, Math.floor(mtimeMs / 1_000));
      const fingerprint = await fingerprintOf(metadata, upload, either);
      await upload.onCreated?.(fingerprint);
      await this.#send(metadata, fingerprint, upload, either);
      return fingerprint;
    } catch (error) {
      throw late.signal.aborted ? late.signal.reason : error;
    } finally {
      cancel();
    }
  }

  /** Deletes an image; a missing one counts as deleted. Instances made from it continue to run. */
  async delete(fingerprint: string, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const operation = await client.deleteImage(fingerprint, signal);
    if (!operation) return;
    const error = errorOfOperation(
      `deletion of image ${fingerprint}`,
      await this.#options.operations.untilEnded(operation, signal),
    );
    if (error && !isNodepoolError(error, 'NODEPOOL_NOT_FOUND') && !/not found/i.test(error.message)) throw error;
  }

  /** Images with the tag of the provider; with `all`, every image of the project. */
  async list(all: boolean, signal: AbortSignal): Promise<ProviderImage[]> {
    const images = await this.#options.client.images(signal);
    return images
      .map(({ fingerprint, properties, aliases }) => ({
        externalId: fingerprint,
        name: properties['name'] ?? aliases[0]?.name ?? properties['description'] ?? fingerprint.slice(0, 12),
        ready: true,
        metadata: tagsIn(properties),
      }))
      .filter(({ metadata }) => all || metadata[PROVIDER_TAG] === this.#options.provider);
  }

  /** Depends on the upload alone: a repeated upload has the same fingerprint. */
  #metadata({ name, metadata }: ImageUpload, createdS: number): Buffer {
    const { type } = this.#options;
    const tags = Object.entries(metadata);
    const own = Object.fromEntries(tags.filter(([key]) => key.startsWith('nodepool_')));
    const others = Object.fromEntries(tags.filter(([key]) => !key.startsWith('nodepool_')));
    return metadataTar({
      type,
      architecture: others['architecture'] ?? architectureOf(process.arch),
      createdS,
      properties: { ...others, name, description: name, ...asKeys(own) },
    });
  }

  async #send(metadata: Buffer, fingerprint: string, upload: ImageUpload, signal: AbortSignal): Promise<void> {
    const { client, timeoutMs, type } = this.#options;
    const { size } = await stat(upload.file);
    const parts = partsOf(metadata, type);
    const length = parts.before.length + size + parts.after.length;
    const headers = {
      'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
      'content-length': String(length),
      // Incus and LXD read headers of their own name.
      ...both('fingerprint', fingerprint),
      ...both('public', 'false'),
    };
    const body = Readable.from(bodyOf(parts, upload, size, signal), { objectMode: false });
    try {
      const operation = await client.uploadImage({ headers, body }, timeoutMs, signal);
      const ended = await this.#options.operations.untilEnded(operation, signal);
      const error = errorOfOperation(`image "${upload.name}"`, ended);
      if (error) throw error;
      const made = ended.metadata?.['fingerprint'];
      if (made === fingerprint) return;
      throw new Error(`image "${upload.name}": the server has fingerprint ${String(made)}, sent was ${fingerprint}`);
    } catch (error) {
      // by an earlier upload without an answer: the fingerprint covers content and tags
      if (error instanceof AlreadyExistsError) return;
      throw error;
    } finally {
      body.destroy();
    }
  }
}

function both(name: string, value: string): Record<string, string> {
  return { [`x-incus-${name}`]: value, [`x-lxd-${name}`]: value };
}

interface Parts {
  readonly before: Buffer;
  readonly after: Buffer;
}

/** The multipart body around the file system. https://linuxcontainers.org/incus/docs/main/reference/image_format/ */
function partsOf(metadata: Buffer, type: InstanceType): Parts {
  const [name, file] = type === 'container' ? ['rootfs', 'rootfs.tar'] : ['rootfs.img', 'rootfs.img'];
  const head = (field: string, filename: string) =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${field}"; filename="${filename}"\r\n` +
    'content-type: application/octet-stream\r\n\r\n';
  const before = [Buffer.from(head('metadata', 'metadata.tar')), metadata, Buffer.from(`\r\n${head(name, file)}`)];
  return { before: Buffer.concat(before), after: Buffer.from(`\r\n--${BOUNDARY}--\r\n`) };
}

async function* bodyOf(
  { before, after }: Parts,
  upload: ImageUpload,
  size: number,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  yield before;
  let sent = 0;
  for await (const chunk of createReadStream(upload.file, { highWaterMark: CHUNK_BYTES, signal })) {
    sent += (chunk as Buffer).length;
    upload.onProgress?.(sent, size);
    yield chunk as Buffer;
  }
  yield after;
}

/** Fingerprint of the split image. @throws the file is not what the builder has made */
async function fingerprintOf(metadata: Buffer, upload: ImageUpload, signal: AbortSignal): Promise<string> {
  const fingerprint = createHash('sha256').update(metadata);
  const sums = { md5: createHash('md5'), sha256: createHash('sha256') };
  for await (const chunk of createReadStream(upload.file, { highWaterMark: CHUNK_BYTES, signal })) {
    fingerprint.update(chunk as Buffer);
    if (upload.sha256 !== undefined) sums.sha256.update(chunk as Buffer);
    else if (upload.md5 !== undefined) sums.md5.update(chunk as Buffer);
  }
  const kind = upload.sha256 === undefined ? 'md5' : 'sha256';
  const expected = upload[kind];
  const own = expected === undefined ? undefined : sums[kind].digest('hex');
  if (own !== expected) {
    throw new Error(`"${upload.file}" differs from the build: its ${kind} is ${own}, expected ${expected}`);
  }
  return fingerprint.digest('hex');
}
