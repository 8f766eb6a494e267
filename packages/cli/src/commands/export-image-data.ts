import { buildPath, imagePausePath } from '@nodepool/zk-protocol';
import type { ImageEntry, ZooKeeper } from '@nodepool/zk-protocol';
import { defineCommand, text } from '../command/command.js';
import type { CliContext } from '../command/context.js';
import { ifPresent, mapPipelined } from '../connection/fetch-records.js';
import { replaceFile } from '../images/replace-file.js';
import { withImages } from '../images/with-images.js';

/** `nodepool export-image-data`. */
export const command = defineCommand({
  positionals: { path: { type: 'string', demandOption: true, describe: 'the file; one that exists is replaced' } },
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

/** What is deleted meanwhile is left out. */
async function readImageData(zk: ZooKeeper, images: readonly ImageEntry[]): Promise<[path: string, body: string][]> {
  const paths = images.flatMap(pathsOf).sort();
  const bodies = await mapPipelined(paths, (path) => ifPresent(zk.getData(path)));
  return paths.flatMap((path, at) => {
    const body = bodies[at]?.data.toString('utf8');
    return body === undefined ? [] : [[path, path.endsWith('/pause') ? '' : body]];
  });
}
