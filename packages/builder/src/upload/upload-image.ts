import {
  buildPath,
  decodeBuild,
  encodeBuild,
  isZooKeeperError,
  type BuildRecord,
  type UploadRecord,
} from '@nodepool/zk-protocol';
import { ConfigError, formatTemplate, isNodepoolError, NodepoolError, type Provider } from '@nodepool/core';
import {
  databaseTag,
  DURATION_KEY,
  propertyTexts,
  takeLeftImage,
  TESTED_KEY,
  withFailedTest,
  type ProviderImages,
} from '@nodepool/core/service';
import type { Progress } from '../context/progress.js';
import { checkFile, expectedChecksums } from '../context/recorded-files.js';
import { imageFile } from '../files/image-files.js';
import type { PlannedUpload } from '../plan/plan-uploads.js';
import type { BuilderContext } from '../context/builder-context.js';
import { validateUpload } from '../validate/validate-upload.js';
import { isOfAnotherUpload } from '../context/shared-image.js';
import { convertImage } from './convert-image.js';
import { StoredUpload } from './stored-upload.js';
import { UploadProgress } from './upload-progress.js';
import { runCheck } from '../tool/run-check.js';

/** One upload, under the lock of build and provider that the caller holds. */
export interface UploadOrder {
  readonly planned: PlannedUpload;
  readonly provider: Provider;
  readonly settings: ProviderImages;
  /** The upload that a builder which is gone began, if any: it is continued. */
  readonly begun: UploadRecord | undefined;
  readonly progress: (progress: Progress) => void;
  /** Ends the upload. */
  readonly signal: AbortSignal;
  /** Aborted with the loss of the lock: another builder may have continued the upload. */
  readonly lost: AbortSignal;
}

const HOOK_LIMIT_MS = 600_000;

/**
 * Uploads one build to one provider: record, data, hook, `ready`. Stores the cloud's id before sending data, so that the image
 * can be found and removed after any failure.
 * @throws the error; the record is `failed` and the image was removed, or the record stays for a builder that continues
 */
export async function uploadImage(context: BuilderContext, order: UploadOrder): Promise<UploadRecord> {
  const { clock, logger, events, imagesDir } = context;
  const { planned, provider } = order;
  const { build, format } = planned;
  const startedMs = clock.now();
  const file = imageFile(imagesDir, build.image, build.id, format);
  if (planned.convertFrom !== undefined) await convertImage(context, planned, order.signal);
  const record = order.begun ? new StoredUpload(context, order.begun) : await StoredUpload.create(context, planned);
  const fields = { image: build.image, build: build.id, provider: planned.provider, upload: record.current.id };
  logger.info(order.begun ? 'Upload of a builder that is gone is continued' : 'Upload started', fields);
  let externalId = order.begun && (await takeLeft(context, order, record));
  if (externalId !== undefined) logger.info('Image is complete in the cloud: nothing is sent again', fields);
  try {
    externalId ??= await sendImage(context, order, record, file, startedMs);
    await finish(context, order, { record, externalId, file, startedMs });
    events.uploaded(build.image, planned.provider, clock.now() - startedMs);
    logger.info('Upload is ready', { ...fields, externalId, durationMs: clock.now() - startedMs });
    return record.current;
  } catch (error) {
    if (isNodepoolError(error, 'NODEPOOL_IMAGE_TEST')) {
      await noteFailedTest(context, build, planned.provider, error.message);
    }
    const isForNext = externalId !== undefined && (order.signal.aborted || isZooKeeperError(error));
    if (!isForNext && !order.lost.aborted) await undo(context, provider, record, error);
    throw error;
  }
}

/**
 * Asks the cloud what it has of an upload that was begun. Writes the record first, so that no other builder that still believes to
 * own the upload can remove the image. An error leaves everything for the next attempt.
 */
async function takeLeft(
  { clock, databaseId, tree }: BuilderContext,
  { provider, settings, progress, signal }: UploadOrder,
  record: StoredUpload,
): Promise<string | undefined> {
  const { stateTimeMs } = record.current;
  await record.update({});
  progress({ ...at(record.current, stateTimeMs), phase: 'asking the cloud' });
  const upload = record.current;
  const left = {
    ...{ upload, databaseId: databaseId(), clock, untilMs: stateTimeMs + settings.uploadTimeoutMs },
    isOfAnother: (externalId: string) => isOfAnotherUpload(tree, { ...upload, externalId }),
  };
  return takeLeftImage(provider, left, signal);
}

/** The steps after the cloud has the image. Must be repeatable, as another builder may have begun with it. */
async function finish(
  context: BuilderContext,
  order: UploadOrder,
  sent: { record: StoredUpload; externalId: string; file: string; startedMs: number },
): Promise<void> {
  const { record, externalId, file, startedMs } = sent;
  await runHook(context, order, externalId, file);
  const place = at(record.current, startedMs);
  const tested = await validateUpload(context, { ...record.current, externalId }, order.signal, {
    testing: (last) =>
      order.progress({ ...place, phase: last === undefined ? 'test' : againAfter(last), testFailure: last }),
    waiting: (reason) => order.progress({ ...place, phase: againAfter(reason), testFailure: reason, isIdle: true }),
  });
  const seconds = (context.clock.now() - startedMs) / 1_000;
  await record.update({ state: 'ready', externalId }, { [DURATION_KEY]: seconds, [TESTED_KEY]: tested });
}

const againAfter = (reason: string): string => `test again, as the last one failed: ${reason}`;

/** So that it is not uploaded and tested again and again. A record that cannot be written now costs another test. */
async function noteFailedTest(
  { zk, clock, logger }: BuilderContext,
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

async function sendImage(
  context: BuilderContext,
  { planned, provider, settings, progress, signal }: UploadOrder,
  record: StoredUpload,
  file: string,
  startedMs: number,
): Promise<string> {
  const { build, format } = planned;
  const { id: uploadId } = record.current;
  const place = at(record.current, startedMs);
  progress({ ...place, phase: 'checking the file' });
  await checkFile(context, { build, format, file }, signal);
  const { md5, sha256 } = await expectedChecksums(build, format, file);
  const timestamp = String(Math.floor(startedMs / 1_000));
  const name =
    record.current.externalName ??
    nameOfImage(settings.nameFormat, { image_name: build.image, upload_id: uploadId, timestamp });
  if (!provider.uploadImage)
    throw new NodepoolError('NODEPOOL_NO_IMAGES', `provider "${planned.provider}" takes no images`);
  await record.update({ externalName: name, format });
  progress({ ...place, phase: 'uploading', sentAtMs: context.clock.now() });
  const late = new AbortController();
  const cancel = context.clock.setTimer(settings.uploadTimeoutMs, () =>
    late.abort(new NodepoolError('NODEPOOL_IMAGE_TIMEOUT', tooLate(settings.uploadTimeoutMs))),
  );
  const follow = new UploadProgress(context, place, progress);
  try {
    return await provider.uploadImage(
      {
        ...{ image: build.image, name, file, format, md5, sha256 },
        metadata: metadataOf(context, settings, place),
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
  { config, databaseId }: BuilderContext,
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
  { env, sandbox, clock, logger }: BuilderContext,
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
  { tree }: Pick<BuilderContext, 'tree'>,
  provider: Provider,
  record: StoredUpload,
  error: unknown,
): Promise<void> {
  const notes = { error: error instanceof Error ? error.message : String(error) };
  const { externalId } = record.current;
  try {
    if (externalId === null) {
      await record.update({ state: 'failed', externalName: null, format: null }, notes);
      return;
    }
    await record.update({ state: 'deleting' }, notes);
    if (!isOfAnotherUpload(tree, record.current)) {
      await provider.deleteImage?.(externalId, AbortSignal.timeout(60_000));
    }
    await record.update({ state: 'failed', externalId: null, externalName: null, format: null }, notes);
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
