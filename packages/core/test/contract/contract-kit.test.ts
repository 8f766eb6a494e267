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
    const failed = await failuresOf(broken);

    expect(failed).toContain(broken.breaks);
    if (broken.spoilsAll) return;
    if (broken.launchesNothing === true) return;
    expect(failed.filter((name) => name !== broken.breaks && !broken.also?.includes(name))).toEqual([]);
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

async function failuresOf({ make, packageFile: manifest, driverName = 'honest' }: BrokenDriver): Promise<string[]> {
  const failed: string[] = [];
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
    try {
      await run();
    } catch {
      failed.push(`${part}: ${name}`); // which one fails is what is looked at
    }
  }
  return failed;
}

function writeManifest(manifest: object): string {
  const file = join(tempDir(), 'package.json');
  writeFileSync(file, JSON.stringify(manifest));
  return file;
}
