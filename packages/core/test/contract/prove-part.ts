import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { driverContract, testDriverContract } from '../../src/testing/index.js';
import { tempDir } from '../support/temp-dir.js';
import type { BrokenDriver } from './broken/broken-driver.js';
import { honestDriver, invalidConfigs, validConfig } from './honest-driver.js';
import { TestCloud } from './test-cloud.js';

/** The package manifest of the honest driver. */
export const packageFile = new URL('honest-package.json', import.meta.url);

/** Tests one part of the contract: the honest driver passes, and each broken driver fails exactly the rules that it breaks. */
export function provePart(part: string, broken: readonly BrokenDriver[]): void {
  let current = new TestCloud();
  testDriverContract({
    driver: honestDriver(() => current),
    cloud: () => (current = new TestCloud()),
    ...{ validConfig, invalidConfigs, packageFile, part, test: { describe, it } },
  });

  describe(`the part "${part}" of the contract, of a driver that`, () => {
    it.each(broken.map((each) => [each.flaw, each] as const))('%s', async (_flaw, each) => {
      const failures = await failuresOf(each);
      const failed = [...failures.keys()];

      expect(failed).toContain(each.breaks);
      if (each.says) expect(failures.get(each.breaks)).toMatch(each.says);
      if (each.spoilsAll) return;
      expect(failed.toSorted()).toEqual([each.breaks, ...(each.also ?? [])].toSorted());
    });
  });
}

/** Rules that the driver breaks in the affected parts, with their messages. */
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
    // the failing rules and their messages are the result
    await run().catch((error: unknown) => failures.set(`${part}: ${name}`, String(error)));
  }
  return failures;
}

function writeManifest(manifest: object): string {
  const file = join(tempDir(), 'package.json');
  writeFileSync(file, JSON.stringify(manifest));
  return file;
}
