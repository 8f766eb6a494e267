import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempDir } from '../support/temp-dir.js';
import { driverContract, testDriverContract } from '../../src/testing/index.js';
import type { BrokenDriver } from './broken/broken-driver.js';
import { BROKEN } from './broken/index.js';
import { honestDriver, invalidConfigs, validConfig } from './honest-driver.js';
import { TestCloud } from './test-cloud.js';

let current = new TestCloud();
const cloud = () => (current = new TestCloud());
const packageFile = new URL('honest-package.json', import.meta.url);

testDriverContract({
  driver: honestDriver(() => current),
  cloud,
  validConfig,
  invalidConfigs,
  packageFile,
  test: { describe, it },
});

describe('the driver contract, of a driver that', () => {
  const cases = BROKEN.map((broken) => [broken.flaw, broken] as const);
  it.each(cases)('%s', async (_flaw, broken) => {
    const failures = await failuresOf(broken);
    const failed = [...failures.keys()];

    expect(failed).toContain(broken.breaks);
    if (broken.says) expect(failures.get(broken.breaks)).toMatch(broken.says);
    if (broken.spoilsAll) return;
    expect(failed.toSorted()).toEqual([broken.breaks, ...(broken.also ?? [])].toSorted());
  });

  it('is worked on: one part is run by its name', () => {
    const options = { driver: honestDriver(() => current), cloud, validConfig, invalidConfigs };

    const parts = new Set(driverContract({ ...options, part: 'nothing left' }).map(({ part }) => part));

    expect([...parts]).toEqual(['nothing left']);
    expect(() => driverContract({ ...options, part: 'error' })).toThrow(
      /the contract of driver "honest" has no part "error": choose one of "loading", .*, "errors", /,
    );
  });

  it('is broken in whatever way: every rule has one', () => {
    const tests = driverContract({
      driver: honestDriver(() => current),
      cloud,
      validConfig,
      invalidConfigs,
      packageFile,
    });
    const proved = new Set(BROKEN.flatMap(({ breaks, also = [] }) => [breaks, ...also]));

    expect(tests.map(({ part, name }) => `${part}: ${name}`).filter((name) => !proved.has(name))).toEqual([]);
  });
});

/** The rules that the driver breaks, in the parts in which it should break any, with what the author is told. */
async function failuresOf(broken: BrokenDriver): Promise<Map<string, string>> {
  const { make, packageFile: manifest, driverName = 'honest', breaks, also = [] } = broken;
  const parts = new Set([breaks, ...also].map((rule) => rule.slice(0, rule.indexOf(':'))));
  const failures = new Map<string, string>();
  let own = new TestCloud();
  const tests = driverContract({
    driver: make(() => own),
    cloud: () => (own = new TestCloud()),
    validConfig: { ...validConfig, driver: driverName },
    invalidConfigs: Object.fromEntries(
      Object.entries(invalidConfigs).map(([what, entry]) => [what, { ...entry, driver: driverName }]),
    ),
    packageFile: manifest ? writeManifest(manifest) : packageFile,
  });
  for (const { part, name, run } of tests) {
    if (!parts.has(part)) continue;
    // which rules fail, and what they say, is what is looked at
    await run().catch((error: unknown) => failures.set(`${part}: ${name}`, String(error)));
  }
  return failures;
}

function writeManifest(manifest: object): string {
  const file = join(tempDir(), 'package.json');
  writeFileSync(file, JSON.stringify(manifest));
  return file;
}
