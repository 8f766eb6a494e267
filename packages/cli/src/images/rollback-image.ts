import {
  buildPath,
  encodeBuild,
  encodeUpload,
  imagePausePath,
  isZooKeeperError,
  uploadPath,
  withBuild,
  withUpload,
} from '@nodepool/zk-protocol';
import type { BuildRecord, ImageEntry, Operation, UploadRecord } from '@nodepool/zk-protocol';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { withImages } from './with-images.js';

/**
 * `nodepool image-rollback`: takes the newest build of an image and its uploads out of service and pauses the image, in one
 * transaction, so that launchers use the previous build from that moment and no builder builds the bad one again.
 * @throws CliError when there is no previous build, or not where the newest one is
 */
export async function rollbackImage(context: CliContext, { image }: { image: string }): Promise<void> {
  await withImages(context, async ({ zk, images }) => {
    const entry = images.get(image);
    const { bad, good } = choose(image, entry);
    const uploads = readyUploads(entry, bad);
    const without = uploads.filter(
      ({ provider }) => !readyUploads(entry, good).some((one) => one.provider === provider),
    );
    if (without.length > 0) {
      const providers = without.map(({ provider }) => provider).join(', ');
      throw new CliError(`Build ${good.id} of ${image} is not ready in ${providers}: there would be no image there`);
    }
    try {
      await zk.multi(operations(entry, bad, uploads, context.clock.now()));
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_BAD_VERSION', 'ZK_NO_NODE', 'ZK_NODE_EXISTS')) throw error;
      throw new CliError(`Image ${image} has changed meanwhile, nothing was done: try again`, { cause: error });
    }
    print(`Build ${good.id} of ${image} serves; build ${bad.id} is being removed`);
    print(`The image is paused: "nodepool image-unpause ${image}" lets it be built again`);
  });
}

/** The two newest builds that are ready. */
function choose(image: string, entry: ImageEntry | undefined): { bad: BuildRecord; good: BuildRecord } {
  const ready = [...(entry?.builds.values() ?? [])].filter(({ state }) => state === 'ready');
  const [bad, good] = ready.sort((a, b) => b.stateTimeMs - a.stateTimeMs || (a.id < b.id ? 1 : -1));
  if (!bad) throw new CliError(`Image ${image} has no build that is ready`);
  if (!good) throw new CliError(`Image ${image} has no build before ${bad.id}: there is nothing to go back to`);
  return { bad, good };
}

function readyUploads(entry: ImageEntry | undefined, build: BuildRecord): UploadRecord[] {
  const uploads = [...(entry?.uploads.values() ?? [])];
  return uploads.filter(({ buildId, state }) => buildId === build.id && state === 'ready');
}

/** The pause stands first: then no builder finds the newest build gone and none paused. */
function operations(
  entry: ImageEntry | undefined,
  bad: BuildRecord,
  uploads: readonly UploadRecord[],
  nowMs: number,
): Operation[] {
  const pause: Operation[] = entry?.paused === true ? [] : [{ op: 'create', path: imagePausePath(bad.image) }];
  return [
    ...pause,
    ...uploads.map((upload): Operation => {
      const { image, buildId, provider, id, stat } = upload;
      const data = encodeUpload(withUpload(upload, { state: 'deleting' }, nowMs));
      return { op: 'set', path: uploadPath(image, buildId, provider, id), data, version: stat?.version ?? -1 };
    }),
    {
      op: 'set',
      path: buildPath(bad.image, bad.id),
      data: encodeBuild(withBuild(bad, { state: 'deleting' }, nowMs)),
      version: bad.stat?.version ?? -1,
    },
  ];
}
