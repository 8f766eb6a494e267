import {
  buildPath,
  decodeBuild,
  decodeUpload,
  encodeBuild,
  encodeUpload,
  isZooKeeperError,
  uploadPath,
  withBuild,
  withUpload,
} from '@nodepool/zk-protocol';
import type { ReadResult, ZooKeeper } from '@nodepool/zk-protocol';
import { withZooKeeper } from '../connection/connection.js';
import { print } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { ifPresent } from '../connection/fetch-records.js';

/** A record as it was read. */
type Stored = Pick<Extract<ReadResult, { read: 'data' }>, 'data' | 'stat'>;

/** What becomes of a record: its next body, or why it stays. */
type Change = { readonly body: Buffer } | { readonly stays: string };

/**
 * An image may have dashes in its name; the id of a build has none.
 * @throws CliError with status 1, as the original, whose parser takes any text
 */
function parseBuildName(name: string): { image: string; buildId: string } {
  const dash = name.lastIndexOf('-');
  if (dash > 0 && dash < name.length - 1) return { image: name.slice(0, dash), buildId: name.slice(dash + 1) };
  throw new CliError(`"${name}" is no id of a build: those are IMAGE-BUILD, as dib-image-list shows them`);
}

/**
 * `nodepool dib-image-delete`: the builder that has the build removes its uploads, files and record.
 * @param name - `<image>-<build id>`
 */
export async function deleteBuild(context: CliContext, name: string): Promise<void> {
  const { image, buildId } = parseBuildName(name);
  const missing = `Build ${image}-${buildId} not found`;
  await change(context, { path: buildPath(image, buildId), missing }, ({ data, stat }) => {
    const nowMs = context.clock.now();
    const record = decodeBuild({ image, id: buildId }, data, stat, nowMs);
    if (!record) return { stays: missing };
    if (record.state === 'building') return { stays: 'Cannot delete a build in progress' };
    return { body: encodeBuild(withBuild(record, { state: 'deleting' }, nowMs)) };
  });
}

/** Where an upload is, as `image-list` shows it. */
export interface UploadAddress {
  readonly image: string;
  readonly buildId: string;
  readonly provider: string;
  readonly uploadId: string;
}

/** `nodepool image-delete`: a builder removes the image from the cloud, and its record. */
export async function deleteUpload(context: CliContext, upload: UploadAddress): Promise<void> {
  const { image, buildId, provider, uploadId } = upload;
  const missing = 'Image upload not found';
  await change(context, { path: uploadPath(image, buildId, provider, uploadId), missing }, ({ data, stat }) => {
    const nowMs = context.clock.now();
    const record = decodeUpload({ image, buildId, provider, id: uploadId }, data, stat, nowMs);
    if (!record) return { stays: missing };
    if (record.state === 'uploading') return { stays: 'Cannot delete because image upload in progress' };
    return { body: encodeUpload(withUpload(record, { state: 'deleting' }, nowMs)) };
  });
}

/** What stays is said, and a success as scripts rely on it, unless they ask for more with `--strict`. */
async function change(
  context: CliContext,
  { path, missing }: { readonly path: string; readonly missing: string },
  decide: (stored: Stored) => Change,
): Promise<void> {
  const stays = await withZooKeeper(context, (zk) => changeStored(zk, path, missing, decide));
  if (stays === undefined) return;
  if (context.options.strict) throw new CliError(stays);
  print(stays);
}

/** Decides again when another process, such as the builder, writes at the same moment. */
async function changeStored(
  zk: ZooKeeper,
  path: string,
  missing: string,
  decide: (stored: Stored) => Change,
): Promise<string | undefined> {
  for (;;) {
    const stored = await ifPresent(zk.getData(path));
    const next = stored ? decide(stored) : { stays: missing };
    if ('stays' in next) return next.stays;
    try {
      await zk.setData(path, next.body, stored?.stat.version);
      return undefined;
    } catch (error) {
      if (!isZooKeeperError(error, 'ZK_BAD_VERSION') && !isZooKeeperError(error, 'ZK_NO_NODE')) throw error;
    }
  }
}
