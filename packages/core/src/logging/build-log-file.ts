import { join } from 'node:path';

const LOG_NAME = /^(?<image>.+)-(?<buildId>[0-9a-f]{32}|\d{10})\.log$/;

/** The largest part in which a builder shows a log; a smaller one is the last so far. */
export const LOG_PART_BYTES = 262_144;

/** Log of one build, in the `build-log-dir` of its builder. */
export const buildLogFile = (logDir: string, image: string, buildId: string): string =>
  join(logDir, `${image}-${buildId}.log`);

/** The build whose log has that file name; `undefined` when it is no log of a build. */
export function parseBuildLogName(name: string): { readonly image: string; readonly buildId: string } | undefined {
  const { image, buildId } = LOG_NAME.exec(name)?.groups ?? {};
  return image === undefined || buildId === undefined ? undefined : { image, buildId };
}
