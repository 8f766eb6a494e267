import { backoffMs, delay, type UploadRecord } from '@nodepool/zk-protocol';
import { isNodepoolError } from '@nodepool/core';
import {
  added,
  faultOf,
  mayBeFaultOfImage,
  NO_LAUNCHES,
  readyUploads,
  type ComparedLaunches,
} from '@nodepool/core/service';
import type { BuilderContext } from '../context/builder-context.js';
import { findTarget } from './find-target.js';
import { tryLaunch, refused, type TestOrder } from './trial-launch.js';

/** Backoff after launches that prove nothing about the image. */
const RETRY = { firstMs: 10_000, longestMs: 600_000 };

/** Receives the progress of a test. */
export interface TestProgress {
  /** A node is being launched. @param last - why the launch before was inconclusive, if there was one */
  testing(last?: string): void;
  /** The last launch was inconclusive. @param reason - cause of the failure */
  waiting(reason: string): void;
}

/**
 * Tests an upload before it becomes `ready`: a node must boot, show its host keys if the pool checks them, and pass the
 * image's command. A failed launch counts against the image only if an image can cause the failure and the previous
 * build boots in the same provider. The upload is refused when chance does not explain the failures; otherwise the test
 * is repeated later. Images without `validate`, and providers without a suitable label, need no test.
 * @param upload - complete, with its external id
 * @returns whether it was tested
 * @throws NODEPOOL_IMAGE_TEST with the reason for the refusal
 */
export async function validateUpload(
  context: BuilderContext,
  upload: UploadRecord,
  signal: AbortSignal,
  progress: TestProgress,
): Promise<boolean> {
  const { clock, logger, random } = context;
  const { image, buildId: build, provider } = upload;
  let seen: ComparedLaunches = { now: NO_LAUNCHES, before: NO_LAUNCHES };
  let last: string | undefined;
  for (let failures = 0; ; failures++) {
    const order = orderOf(context, upload, signal);
    if (!order) return false;
    const fields = { image, build, provider, pool: order.target.pool.name, label: order.target.label.name };
    logger.info('Image is tested with a node', fields);
    progress.testing(last);
    const failure = await failureOf(context, order);
    if (!failure) {
      logger.info('Image has passed its test', fields);
      return true;
    }
    if (isNodepoolError(failure, 'NODEPOOL_IMAGE_TEST')) throw failure;
    last = failure.message;
    const next = mayBeFaultOfImage(failure) ? await compare(context, order, seen, failure) : seen;
    const isCompared = next.now !== seen.now;
    seen = next;
    logger.warn('Image test is repeated: the launch failed', { ...fields, ...seen, error: failure });
    if (isCompared) continue;
    progress.waiting(failure.message);
    await delay(clock, backoffMs(failures, RETRY, random), signal);
  }
}

/** @returns `undefined` if the image needs no test here */
function orderOf({ config, logger }: BuilderContext, upload: UploadRecord, signal: AbortSignal): TestOrder | undefined {
  const { image, buildId: build, provider } = upload;
  const check = config().diskimages.get(image)?.validate;
  const settings = config().providers.get(provider);
  if (!check || !settings) return undefined;
  const target = findTarget(settings, image, check);
  if (target) return { upload, target, check, signal };
  logger.info('Image is not tested here: no label fits', { image, build, provider, pool: check.pool });
  return undefined;
}

/** @returns `undefined` if the test passed */
async function failureOf(context: BuilderContext, order: TestOrder): Promise<Error | undefined> {
  try {
    await tryLaunch(context, order);
    return undefined;
  } catch (error) {
    order.signal.throwIfAborted();
    return error instanceof Error ? error : new Error(String(error));
  }
}

/**
 * Launches the previous build under the same conditions. If that fails too, the failure of the new one does not count.
 * @returns the updated evidence
 * @throws NODEPOOL_IMAGE_TEST when chance does not explain the failures, or there is no build to compare with
 */
async function compare(
  context: BuilderContext,
  order: TestOrder,
  seen: ComparedLaunches,
  failure: Error,
): Promise<ComparedLaunches> {
  const { target, signal, upload } = order;
  const previous = previousUpload(context, upload);
  if (!previous) throw refused(order, `${failure.message} (there is no build before it to compare with)`, failure);
  if (await failureOf(context, { upload: previous, target, signal })) {
    return { ...seen, before: added(seen.before, { ready: 0, failed: 1 }) };
  }
  const now = added(seen.now, { ready: 0, failed: 1 });
  const before = added(seen.before, { ready: 1, failed: 0 });
  const bad = faultOf({ now, before });
  if (bad !== undefined) throw refused(order, `${bad}; the last error was: ${failure.message}`, failure);
  return { now, before };
}

function previousUpload(
  { tree }: BuilderContext,
  { image, buildId, provider }: UploadRecord,
): UploadRecord | undefined {
  const entry = tree.images.get(image);
  return entry && readyUploads(entry, provider).find((upload) => upload.buildId !== buildId);
}
