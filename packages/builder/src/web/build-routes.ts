import type { Config } from '@nodepool/core';
import { buildLogFile, parseBuildLogName } from '@nodepool/core/service';
import type { FileAnswer, RouteTable } from '@nodepool/daemon';
import { readLogPart } from '../files/log-part.js';

/**
 * `/image-log?build=<image>-<build id>&offset=<bytes>`, for `nodepool` on other machines: the log of a build on this disk from there
 * on, in parts; an empty part is the end so far.
 */
export function createBuildRoutes(config: () => Config): RouteTable {
  const answer = (parameters: URLSearchParams) => answerLog(config().buildLogDir, parameters);
  return new Map([['/image-log', { kind: 'file', answer }]]);
}

async function answerLog(directory: string, parameters: URLSearchParams): Promise<FileAnswer> {
  const name = parameters.get('build') ?? '';
  // Names are those of files here: one with a slash would lead elsewhere.
  const build = name.includes('/') ? undefined : parseBuildLogName(`${name}.log`);
  if (!build) return plain(400, 'build=<image>-<build id> is missing\n');
  const offset = Number(parameters.get('offset') ?? 0);
  if (!Number.isSafeInteger(offset) || offset < 0) return plain(400, 'offset is a number of bytes\n');
  const { image, buildId } = build;
  const part = await readLogPart(buildLogFile(directory, image, buildId), offset);
  return part ? plain(200, part) : plain(404, `No log of build ${buildId} of ${image} is here\n`);
}

const plain = (status: number, body: FileAnswer['body']): FileAnswer => ({
  ...{ status, contentType: 'text/plain; charset=UTF-8', body },
});
