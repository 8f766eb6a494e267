import {
  buildPath,
  decodeBuild,
  encodeBuild,
  encodeUpload,
  isZooKeeperError,
  lastPart,
  newUpload,
  uploadPath,
  uploadsPath,
  withUpload,
  type BuildRecord,
  type UploadRecord,
} from '@nodepool/zk-protocol';
import { ConfigError, formatTemplate, isNodepoolError, NodepoolError, type Provider } from '@nodepool/core';
import { databaseTag, type ProviderImages } from '@nodepool/core/service';
import { propertyTexts, withFailedTest } from '@nodepool/core/service';
import type { Progress } from '../context/progress.js';
import { readChecksums } from '../files/checksums.js';
import { imageFile } from '../files/image-files.js';
import type { PlannedUpload } from '../plan/plan-uploads.js';
import type { Surroundings } from '../context/surroundings.js';
import { validateUpload } from '../validate/validate-upload.js';
import { isOfAnotherUpload } from '../context/shared-image.js';
import { convertImage } from './convert-image.js';
import { UploadProgress } from './upload-progress.js';
import { runCheck } from '../tool/run-check.js';

/** One upload, under the lock of build and provider that the caller holds. */
export interface UploadOrder {
  readonly planned: PlannedUpload;
  readonly provider: Provider;
  readonly settings: ProviderImages;
  readonly progress: (progress: Progress) => void;
  readonly signal: AbortSignal;
}

const HOOK_LIMIT_MS = 600_000;
/** Additional key of an upload record: why the upload failed. */
const ERROR_KEY = 'error';

/**
 * Uploads one build to one provider: record, data, hook, `ready`. Stores the cloud's id before sending data, so that the image
 * can be found and removed after any failure.
 * @throws the error; the record is `failed` and the image was removed, or the record has its id
 */
export async function uploadImage(surroundings: Surroundings, order: UploadOrder): Promise<UploadRecord> {
  const { clock, logger, events, imagesDir } = surroundings;
  const { planned, provider, signal } = order;
  const { build, format } = planned;
  const startedMs = clock.now();
  if (planned.convertFrom !== undefined) await convertImage(surroundings, planned, signal);
  const file = imageFile(imagesDir, build.image, build.id, format);
  const record = new StoredUpload(surroundings, await createRecord(surroundings, order));
  const fields = { image: build.image, build: build.id, provider: planned.provider, upload: record.current.id };
  logger.info('Upload started', fields);
  try {
    const externalId = await sendImage(surroundings, order, record, file, startedMs);
    await runHook(surroundings, order, externalId, file);
    const place = at(record.current, startedMs);
    await validateUpload(surroundings, { ...record.current, externalId }, signal, {
      testing: () => order.progress({ ...place, phase: 'test' }),
      waiting: (reason) =>
        order.progress({ ...place, phase: `test again, as the last one failed: ${reason}`, isIdle: true }),
    });
    await record.update({ state: 'ready', externalId });
    events.uploaded(build.image, planned.provider, clock.now() - startedMs);
    logger.info('Upload is ready', { ...fields, externalId, durationMs: clock.now() - startedMs });
    return record.current;
  } catch (error) {
    if (isNodepoolError(error, 'NODEPOOL_IMAGE_TEST')) {
      await noteFailedTest(surroundings, build, planned.provider, error.message);
    }
    await undo(surroundings, provider, record, error);
    throw error;
  }
}

/** So that it is not uploaded and tested again and again. A record that cannot be written now costs another test. */
async function noteFailedTest(
  { zk, clock, logger }: Surroundings,
  { image, id }: BuildRecord,
  provider: string,
  reason: string,
): Promise<void> {
  const path = buildPath(image, id);
  for (;;) {
    try {
      const { data, stat } = await zk.getData(path);
      const stored = decodeBuild({ image, id }, data, stat, clock.now());
      if (stored?.state === 'ready')
        await zk.setData(path, encodeBuild(withFailedTest(stored, provider, reason)), stat.version);
      return;
    } catch (error) {
      if (isZooKeeperError(error, 'ZK_BAD_VERSION')) continue; // a launcher noted a launch
      if (!isZooKeeperError(error)) throw error;
      logger.warn('A failed test of an image could not be stored', { image, build: id, provider, error });
      return;
    }
  }
}

async function createRecord({ zk, clock }: Surroundings, { planned }: UploadOrder): Promise<UploadRecord> {
  const { build, provider } = planned;
  const directory = uploadsPath(build.image, build.id, provider);
  const key = { image: build.image, buildId: build.id, provider, id: '' };
  const { username, pythonPath, shellType } = build;
  const upload = newUpload(key, { state: 'uploading', username, pythonPath, shellType }, clock.now());
  const { path, stat } = await zk.create2(`${directory}/`, encodeUpload(upload), { sequential: true });
  return { ...upload, id: lastPart(path), stat };
}

/**
 * The record of the upload as it is stored now. Each write is conditional: a record that another process changed ends the
 * upload.
 */
class StoredUpload {
  #current: UploadRecord;

  constructor(
    private readonly surroundings: Surroundings,
    created: UploadRecord,
  ) {
    this.#current = created;
  }

  get current(): UploadRecord {
    return this.#current;
  }

  async update(
    changes: Partial<Pick<UploadRecord, 'state' | 'externalId' | 'externalName' | 'format'>>,
    error?: string,
  ) {
    const { zk, clock } = this.surroundings;
    const changed = withUpload(this.#current, changes, clock.now());
    const next = error === undefined ? changed : { ...changed, raw: { ...changed.raw, [ERROR_KEY]: error } };
    const { image, buildId, provider, id, stat } = next;
    const written = await zk.setData(uploadPath(image, buildId, provider, id), encodeUpload(next), stat?.version);
    this.#current = { ...next, stat: written };
  }
}

async function sendImage(
  surroundings: Surroundings,
  { planned, provider, settings, progress, signal }: UploadOrder,
  record: StoredUpload,
  file: string,
  startedMs: number,
): Promise<string> {
  const { build, format } = planned;
  const { id: uploadId } = record.current;
  const { md5, sha256 } = await readChecksums(file);
  const name = nameOfImage(settings.nameFormat, {
    image_name: build.image,
    upload_id: uploadId,
    timestamp: String(Math.floor(startedMs / 1_000)),
  });
  if (!provider.uploadImage)
    throw new NodepoolError('NODEPOOL_NO_IMAGES', `provider "${planned.provider}" takes no images`);
  await record.update({ externalName: name, format });
  const place = at(record.current, startedMs);
  progress({ ...place, phase: 'uploading' });
  const late = new AbortController();
  const cancel = surroundings.clock.setTimer(settings.uploadTimeoutMs, () =>
    late.abort(new NodepoolError('NODEPOOL_IMAGE_TIMEOUT', tooLate(settings.uploadTimeoutMs))),
  );
  const follow = new UploadProgress(surroundings, place, progress);
  try {
    return await provider.uploadImage(
      {
        ...{ image: build.image, name, file, format, md5, sha256 },
        metadata: metadataOf(surroundings, settings, place),
        onCreated: (externalId) => record.update({ externalId }),
        onProgress: (sentBytes, totalBytes) => follow.sent(sentBytes, totalBytes),
      },
      AbortSignal.any([signal, late.signal]),
    );
  } finally {
    cancel();
  }
}

const at = ({ image, buildId, provider, id: uploadId }: UploadRecord, startedMs: number) => ({
  ...{ image, buildId, startedMs, provider, uploadId },
});

/** Metadata of the image in the cloud: configured properties and tags of the owner. */
function metadataOf(
  { config, databaseId }: Surroundings,
  settings: ProviderImages,
  { image, buildId, uploadId, provider }: { image: string; buildId: string; uploadId: string; provider: string },
): Record<string, string> {
  return {
    ...propertyTexts(config().diskimages.get(image)?.metadata ?? {}),
    ...settings.diskimages.get(image)?.metadata,
    nodepool_build_id: buildId,
    nodepool_upload_id: uploadId,
    nodepool_provider_name: provider,
    ...databaseTag(databaseId()),
  };
}

const tooLate = (ms: number): string => `not uploaded within ${ms / 1_000} s (image-upload-timeout)`;

async function runHook(
  { env, sandbox, clock, logger }: Surroundings,
  { planned, settings, signal }: UploadOrder,
  externalId: string,
  file: string,
): Promise<void> {
  if (settings.postUploadHook === undefined) return;
  const { said, refusal } = await runCheck({
    key: 'post-upload-hook',
    command: [settings.postUploadHook, planned.provider, externalId, file],
    ...{ env, sandbox, clock, signal, timeoutMs: HOOK_LIMIT_MS },
  });
  if (refusal !== undefined) throw new NodepoolError('NODEPOOL_HOOK', refusal);
  const { build, provider } = planned;
  logger.info('Post-upload hook succeeded', {
    image: build.image,
    build: build.id,
    provider,
    externalId,
    output: said,
  });
}

/** Removes a failed upload. If that fails, the record keeps the id for the janitor. */
async function undo(
  { tree }: Pick<Surroundings, 'tree'>,
  provider: Provider,
  record: StoredUpload,
  error: unknown,
): Promise<void> {
  const reason = error instanceof Error ? error.message : String(error);
  const { externalId } = record.current;
  try {
    if (externalId === null) {
      await record.update({ state: 'failed', externalName: null, format: null }, reason);
      return;
    }
    await record.update({ state: 'deleting' }, reason);
    if (!isOfAnotherUpload(tree, record.current)) {
      await provider.deleteImage?.(externalId, AbortSignal.timeout(60_000));
    }
    await record.update({ state: 'failed', externalId: null, externalName: null, format: null }, reason);
  } catch (problem) {
    // the record stays as last stored, and the janitor continues from there
    if (!isZooKeeperError(problem) && externalId === null) throw problem;
  }
}

/** @throws {ConfigError} the format asks for something that does not exist */
function nameOfImage(format: string, fields: Readonly<Record<string, string>>): string {
  try {
    return formatTemplate(format, fields);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigError(`image-name-format "${format}": ${reason}`, [], { cause });
  }
}
