import { describe, expect, it } from 'vitest';
import { driverContract } from './contract.js';
import { BROKEN } from '../../test/contract/broken/index.js';
import { honestDriver, invalidConfigs, validConfig } from '../../test/contract/honest-driver.js';
import { packageFile } from '../../test/contract/prove-part.js';
import { TestCloud } from '../../test/contract/test-cloud.js';

let current = new TestCloud();
const cloud = () => (current = new TestCloud());

describe('the driver contract', () => {
  it('runs single parts by name', () => {
    const options = { driver: honestDriver(() => current), cloud, validConfig, invalidConfigs };

    const parts = new Set(driverContract({ ...options, part: 'nothing left' }).map(({ part }) => part));

    expect([...parts]).toEqual(['nothing left']);
    expect(() => driverContract({ ...options, part: 'error' })).toThrow(
      /the contract of driver "honest" has no part "error": choose one of "loading", .*, "errors", /,
    );
  });

  it('has a broken driver for each rule', () => {
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
