import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { ImageUpload } from '@nodepool/core';
import type { CloudCall } from './cloud-call.js';

const MOST_PARTS = 20;
const LEAST_PART = 1024 * 1024;
/** How long the removal of an image whose upload failed may take. */
const GIVE_UP_MS = 10_000;

/**
 * Uploads an image file, part by part. The cloud keeps no data, so the file is read here, and compared with its checksums.
 * What fails or is aborted takes its image with it.
 * @throws the signal's reason; a file that is not what was built
 */
export async function uploadImage(call: CloudCall, upload: ImageUpload, signal: AbortSignal): Promise<string> {
  const externalId = await call('uploadImage', { name: upload.name, metadata: upload.metadata }, signal);
  try {
    await upload.onCreated?.(externalId);
    await send(call, externalId, upload, signal);
    return externalId;
  } catch (error) {
    // Not in time of a stop, or of an API that is down: then the caller has the id.
    await call('removeImage', externalId, AbortSignal.timeout(GIVE_UP_MS)).catch(() => undefined);
    throw error;
  }
}

async function send(call: CloudCall, id: string, upload: ImageUpload, signal: AbortSignal): Promise<void> {
  const sums = { md5: createHash('md5'), sha256: createHash('sha256') };
  const file = await open(upload.file);
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.max(LEAST_PART, Math.ceil(size / MOST_PARTS)));
    for (let sent = 0; sent < size;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, sent);
      if (bytesRead === 0) throw new Error(`"${upload.file}" became shorter while it was uploaded`);
      const part = buffer.subarray(0, bytesRead);
      sums.md5.update(part);
      sums.sha256.update(part);
      await call('sendImage', { id, share: bytesRead / size, isLast: false }, signal);
      sent += bytesRead;
      upload.onProgress?.(sent, size);
    }
  } finally {
    await file.close();
  }
  for (const kind of ['md5', 'sha256'] as const) {
    const [expected, found] = [upload[kind], sums[kind].digest('hex')];
    if (expected !== undefined && expected !== found) {
      throw new Error(`"${upload.file}" is not what was built: its ${kind} is ${found}, and should be ${expected}`);
    }
  }
  await call('sendImage', { id, share: 0, isLast: true }, signal);
}
