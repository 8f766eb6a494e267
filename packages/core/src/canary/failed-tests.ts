import type { BuildRecord, JsonObject } from '@nodepool/zk-protocol';

/** Key of ours in a build record: the providers in which the build failed its test (`validate`), with the reasons. */
const FAILED_TESTS_KEY = 'failed_tests';

/** Why the build failed its test, by provider: it is not uploaded there again. */
export function failedTests({ raw }: Pick<BuildRecord, 'raw'>): ReadonlyMap<string, string> {
  const stored = raw[FAILED_TESTS_KEY];
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) return new Map();
  return new Map(
    Object.entries(stored).flatMap(([provider, reason]) => (typeof reason === 'string' ? [[provider, reason]] : [])),
  );
}

/** The build with a failed test. */
export function withFailedTest(build: BuildRecord, provider: string, reason: string): BuildRecord {
  const failed: JsonObject = { ...Object.fromEntries(failedTests(build)), [provider]: reason };
  return { ...build, raw: { ...build.raw, [FAILED_TESTS_KEY]: failed } };
}

/** The build as one that was never tested: it is uploaded and tested again. */
export function withoutFailedTests(build: BuildRecord): BuildRecord {
  const { [FAILED_TESTS_KEY]: _, ...raw } = build.raw;
  return { ...build, raw };
}
