import { open, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { buildPath, imagePausePath } from '@nodepool/zk-protocol';
import type { ImageEntry, ZooKeeper } from '@nodepool/zk-protocol';
import { defineCommand, text } from '../command/command.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { ifPresent, mapPipelined } from '../connection/fetch-records.js';
import { withImages } from '../images/with-images.js';

/** `nodepool export-image-data`. */
export const command = defineCommand({
  positionals: { path: { type: 'string', demandOption: true, describe: 'the file; an existing file is replaced' } },
  parse: (values) => ({ file: text(values, 'path') ?? '' }),
  run: exportImages,
});

/** `nodepool export-image-data`: pause flags, builds and uploads with their bodies as stored, one JSON object by path. */
async function exportImages(context: CliContext, { file }: { file: string }): Promise<void> {
  const data = await withImages(context, ({ zk, images }) => readImageData(zk, [...images.values()]));
  await replaceFile(file, `${JSON.stringify(Object.fromEntries(data))}\n`);
}

function pathsOf({ name, paused, builds, uploads }: ImageEntry): string[] {
  return [
    ...(paused ? [imagePausePath(name)] : []),
    ...[...builds.keys()].map((id) => buildPath(name, id)),
    ...uploads.keys(),
  ];
}

/** Leaves out records that are deleted meanwhile. */
async function readImageData(zk: ZooKeeper, images: readonly ImageEntry[]): Promise<[path: string, body: string][]> {
  const paths = images.flatMap(pathsOf).sort();
  const bodies = await mapPipelined(paths, (path) => ifPresent(zk.getData(path)));
  return paths.flatMap((path, at) => {
    const body = bodies[at]?.data.toString('utf8');
    return body === undefined ? [] : [[path, path.endsWith('/pause') ? '' : body]];
  });
}

const OWNER_ONLY = 0o600;

/**
 * Writes a file that only its owner may read. Replaces an existing file atomically; writes to a device or pipe.
 * @throws CliError when it cannot be written
 */
async function replaceFile(file: string, text: string): Promise<void> {
  try {
    const target = await realpath(file).catch(() => file);
    const isSpecial = await stat(target).then(
      (found) => !found.isFile(),
      () => false,
    );
    if (isSpecial) await writeFile(target, text);
    else await writeBeside(target, text);
  } catch (error) {
    throw new CliError(`Cannot write ${file}: ${(error as Error).message}`, { cause: error });
  }
}

async function writeBeside(target: string, text: string): Promise<void> {
  const draft = `${target}.${process.pid}.tmp`;
  try {
    const handle = await open(draft, 'wx', OWNER_ONLY);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
