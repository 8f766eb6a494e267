import type { BuildRecord, JsonObject } from '@nodepool/zk-protocol';
import { trialOf } from './trial.js';

/** Additional key in a build record: reasons of failed tests (`validate`), and of failed trials, by provider. */
const FAILED_TESTS_KEY = 'failed_tests';

/** Why the build is not uploaded to providers any more, by provider: it failed its test or its trial there. */
export function failedTests({ raw }: Pick<BuildRecord, 'raw'>): ReadonlyMap<string, string> {
  const stored = raw[FAILED_TESTS_KEY];
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) return new Map();
  return new Map(
    Object.entries(stored).flatMap(([provider, reason]) => (typeof reason === 'string' ? [[provider, reason]] : [])),
  );
}

/** Whether launches in the provider, and not a test before them, showed that the build is bad. */
export function wasWithdrawnIn(build: Pick<BuildRecord, 'raw'>, provider: string): boolean {
  return failedTests(build).has(provider) && trialOf(build)?.now[provider] !== undefined;
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
