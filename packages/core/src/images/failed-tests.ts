import type { BuildRecord, JsonObject } from '@nodepool/zk-protocol';

/** Additional key in a build record: reasons of failed tests (`validate`) by provider. */
const FAILED_TESTS_KEY = 'failed_tests';

/** Reasons of failed tests by provider. The build is not uploaded there again. */
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

/** The build without failed tests: it is uploaded and tested again. */
export function withoutFailedTests(build: BuildRecord): BuildRecord {
  const { [FAILED_TESTS_KEY]: _, ...raw } = build.raw;
  return { ...build, raw };
}
