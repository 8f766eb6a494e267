import { isMap, type BuildRecord, type UploadRecord } from '@nodepool/zk-protocol';

/** Additional key in a record of a build or upload: how long it took, in seconds. */
export const DURATION_KEY = 'duration';
/** Additional key in a build record: why the build began. */
export const BUILD_REASON_KEY = 'build_reason';
/** Additional key in a build record: size and checksums of its image files, by format. */
export const FILES_KEY = 'files';
/** Additional key in an upload record: whether a node of it passed the test of its image (`validate`). */
export const TESTED_KEY = 'tested';

/** Seconds that a build or upload took; `null`: not recorded. */
export function durationOf({ raw }: BuildRecord | UploadRecord): number | null {
  const seconds = raw[DURATION_KEY];
  return typeof seconds === 'number' && seconds > 0 ? seconds : null;
}

/** Why a build began; `null`: not recorded. */
export function buildReasonOf({ raw }: BuildRecord): string | null {
  const reason = raw[BUILD_REASON_KEY];
  return typeof reason === 'string' ? reason : null;
}

/** Bytes of the image files of a build, by format; `null`: not recorded. */
export function sizesOf({ raw }: BuildRecord): Record<string, number> | null {
  const files = raw[FILES_KEY];
  if (!isMap(files)) return null;
  const sizes = Object.entries(files).flatMap(([format, file]): [string, number][] => {
    const bytes = isMap(file) ? file['bytes'] : undefined;
    return typeof bytes === 'number' ? [[format, bytes]] : [];
  });
  return Object.fromEntries(sizes);
}

/** Whether an upload passed its test; `null`: not recorded. */
export function isTested({ raw }: UploadRecord): boolean | null {
  const tested = raw[TESTED_KEY];
  return typeof tested === 'boolean' ? tested : null;
}
