import assert from 'node:assert/strict';
import { Harness } from './harness/harness.js';
import type { ContractPart, PartTest } from './harness/part.js';
import { config } from './parts/config.js';
import { create } from './parts/create.js';
import { deletion } from './parts/delete.js';
import { errors } from './parts/errors.js';
import { images } from './parts/images.js';
import { lists } from './parts/lists.js';
import { loading } from './parts/loading.js';
import { nothingLeft } from './parts/nothing-left.js';
import { quota } from './parts/quota.js';
import { registered } from './parts/registered.js';
import { restart } from './parts/restart.js';
import { reuse } from './parts/reuse.js';
import { shutdown } from './parts/shutdown.js';
import { stopped } from './parts/stopped.js';
import { usable } from './parts/usable.js';
import type { ContractCloud, ContractTest, DriverContractOptions, TestRunner } from './harness/types.js';

const PARTS: readonly ContractPart[] = [
  ...[loading, config, create, lists, deletion, errors, quota],
  ...[restart, stopped, usable, nothingLeft, reuse, images, registered, shutdown],
];
/**
 * Returns the contract as a list of checks, each with its own cloud and ZooKeeper. The driver's declared capabilities
 * determine the checks that apply.
 * @throws {TypeError} if no applicable part has the name `part`
 */
export function driverContract<Cloud extends ContractCloud>(options: DriverContractOptions<Cloud>): ContractTest[] {
  const { capabilities } = options.driver;
  // all tests create their clouds from these options
  const any = options as unknown as DriverContractOptions;
  return chosenParts(options).flatMap((part) =>
    part
      .tests(any)
      .filter((test) => test.applies?.(capabilities) ?? true)
      .map((test) => ({ part: part.name, name: test.name, run: () => runTest(test, any) })),
  );
}

function chosenParts({ driver, part: chosen }: Pick<DriverContractOptions, 'driver' | 'part'>): ContractPart[] {
  const parts = PARTS.filter((part) => part.applies?.(driver.capabilities) ?? true);
  if (chosen === undefined) return parts;
  const found = parts.filter(({ name }) => name === chosen);
  if (found.length > 0) return found;
  const names = parts.map(({ name }) => `"${name}"`).join(', ');
  throw new TypeError(`the contract of driver "${driver.name}" has no part "${chosen}": choose one of ${names}`);
}

/** Registers the contract with a test runner, e.g. `{ describe, it }` of vitest, `node:test`, mocha or jest. */
export function testDriverContract<Cloud extends ContractCloud>(
  options: DriverContractOptions<Cloud> & { readonly test: TestRunner },
): void {
  const { describe, it } = options.test;
  const tests = driverContract(options);
  describe(`driver "${options.driver.name}"`, () => {
    for (const part of new Set(tests.map((test) => test.part))) {
      describe(part, () => {
        for (const test of tests.filter((candidate) => candidate.part === part)) {
          it(test.name, () => test.run());
        }
      });
    }
  });
}

async function runTest(test: PartTest, options: DriverContractOptions): Promise<void> {
  const harnesses: Harness[] = [];
  const open = async (): Promise<Harness> => {
    const harness = await Harness.open(options);
    harnesses.push(harness);
    return harness;
  };
  try {
    await test.run({ harness: await open(), options, open });
    const violations = harnesses.flatMap((harness) => harness.violations);
    assert.deepEqual(violations, [], 'records and locks in ZooKeeper are written by the rules of the data model');
  } finally {
    for (const harness of harnesses) await harness.close();
  }
}
