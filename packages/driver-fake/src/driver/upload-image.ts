import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { ImageUpload } from '@nodepool/core';
import type { CloudCall } from './cloud-call.js';

const MAX_PARTS = 20;
const MIN_PART_BYTES = 1024 * 1024;
/** Time limit for removing an image without a record. */
const CLEANUP_TIMEOUT_MS = 10_000;

/**
 * Uploads an image file, part by part. The cloud keeps no data, so the file is read and verified here.
 * @throws the signal's reason, or an error if the checksum differs
 */
export async function uploadImage(call: CloudCall, upload: ImageUpload, signal: AbortSignal): Promise<string> {
  const externalId = await call('uploadImage', { name: upload.name, metadata: upload.metadata }, signal);
  try {
    await upload.onCreated?.(externalId);
  } catch (error) {
    await call('removeImage', externalId, AbortSignal.timeout(CLEANUP_TIMEOUT_MS)).catch(() => undefined);
    throw error;
  }
  await send(call, externalId, upload, signal);
  return externalId;
}

async function send(call: CloudCall, id: string, upload: ImageUpload, signal: AbortSignal): Promise<void> {
  const sums = { md5: createHash('md5'), sha256: createHash('sha256') };
  const file = await open(upload.file);
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.max(MIN_PART_BYTES, Math.ceil(size / MAX_PARTS)));
    for (let sent = 0; sent < size;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, sent);
      if (bytesRead === 0) throw new Error(`"${upload.file}" became shorter during the upload`);
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
      throw new Error(`"${upload.file}" differs from the build: its ${kind} is ${found}, expected ${expected}`);
    }
  }
  await call('sendImage', { id, share: 0, isLast: true }, signal);
}
