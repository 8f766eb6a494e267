import type { Config } from '@nodepool/core';
import { buildContentsToJson, buildLogFile, parseBuildLogName } from '@nodepool/core/service';
import type { FileAnswer, FileRoute, RouteTable } from '@nodepool/daemon';
import { readLogPart } from '../files/log-part.js';
import { readContents } from '../files/manifest.js';

const TEXT = 'text/plain; charset=UTF-8';

interface AskedBuild {
  readonly image: string;
  readonly buildId: string;
}

/**
 * What a builder has on its disk of a build, for `nodepool` on other machines:
 * - `/image-log?build=<image>-<build id>&offset=<bytes>`: its log from there on, in parts; an empty part is the end so far;
 *   with a token
 * - `/image-contents?build=<image>-<build id>`: sizes of its files, packages and repositories in it
 */
export function createBuildRoutes(config: () => Config): RouteTable {
  const log = route(async ({ image, buildId }, parameters) => {
    const offset = Number(parameters.get('offset') ?? 0);
    if (!Number.isSafeInteger(offset) || offset < 0) return plain(400, 'offset is a number of bytes');
    const part = await readLogPart(buildLogFile(config().buildLogDir, image, buildId), offset);
    return part ? { status: 200, contentType: TEXT, body: part } : notHere('log', { image, buildId });
  });
  const contents = route(async ({ image, buildId }) => {
    const { imagesDir } = config();
    const found = imagesDir === undefined ? undefined : await readContents(imagesDir, image, buildId);
    if (!found) return notHere('file', { image, buildId });
    return { status: 200, contentType: 'application/json', body: buildContentsToJson(found) };
  });
  return new Map([
    ['/image-log', { ...log, needsToken: true }],
    ['/image-contents', contents],
  ]);
}

const plain = (status: number, text: string): FileAnswer => ({ status, contentType: TEXT, body: `${text}\n` });
const notHere = (what: string, { image, buildId }: AskedBuild): FileAnswer =>
  plain(404, `No ${what} of build ${buildId} of ${image} is here`);

function route(answer: (build: AskedBuild, parameters: URLSearchParams) => Promise<FileAnswer>): FileRoute {
  return {
    kind: 'file',
    async answer(parameters) {
      const name = parameters.get('build') ?? '';
      // Names are those of files here: one with a slash would lead elsewhere.
      const build = name.includes('/') ? undefined : parseBuildLogName(`${name}.log`);
      return build ? answer(build, parameters) : plain(400, 'build=<image>-<build id> is missing');
    },
  };
}
