import { join } from 'node:path';

const LOG_NAME = /^(?<image>.+)-(?<buildId>[0-9a-f]{32}|\d{10})\.log$/;

/** Maximum size of one part of a build log that a builder serves. A smaller part is the last one so far. */
export const LOG_PART_BYTES = 262_144;

/** Path of the log of a build in the `build-log-dir` of its builder. */
export const buildLogFile = (logDir: string, image: string, buildId: string): string =>
  join(logDir, `${image}-${buildId}.log`);

/** Parses the file name of a build log. @returns `undefined` for any other file name */
export function parseBuildLogName(name: string): { readonly image: string; readonly buildId: string } | undefined {
  const { image, buildId } = LOG_NAME.exec(name)?.groups ?? {};
  return image === undefined || buildId === undefined ? undefined : { image, buildId };
}
