import { describe, expect, it } from 'vitest';
import { driverContract, testDriverContract, VirtualClock, type ContractCloud } from '../index.js';
import { inventoryConfig, inventoryDriver, type InventoryFlaws } from '../../../test/contract/inventory-driver.js';

function cloud(): ContractCloud {
  const clock = new VirtualClock();
  const list = () => ['small', 'large'].map((id) => ({ id, isReady: true }));
  return { clock, advance: (ms) => clock.advance(ms), list, failNext: () => {} };
}

const options = { cloud, validConfig: inventoryConfig, invalidConfigs: {} };

testDriverContract({ driver: inventoryDriver(), ...options, test: { describe, it } });

const IN_USE = 'keeps a node in use when the launcher dies, and registers it again after use';

const BROKEN: readonly [flaw: string, flaws: InventoryFlaws, breaks: string, ...also: string[]][] = [
  ['gives no address', { address: null }, 'serves a request with a node that is registered'],
  ['registers nothing again after use', { forgetful: true }, 'lends the same thing again after use', IN_USE],
  ['launches although it says it does not', { launches: true }, 'makes nothing on request'],
  ['registers everything at each start', { repeats: true }, 'registers nothing twice, however often it starts', IN_USE],
  ['begins again at each start', { ruthless: true }, IN_USE],
];

describe('the driver contract, for a driver without launches that', () => {
  it.each(BROKEN)('%s', async (_flaw, flaws, breaks, ...also) => {
    const failed: string[] = [];
    for (const { name, run } of driverContract({ driver: inventoryDriver(flaws), ...options })) {
      await run().catch(() => failed.push(name)); // the failing test is the result
    }

    expect(failed).toContain(breaks);
    expect(failed.filter((name) => name !== breaks && !also.includes(name))).toEqual([]);
  });
});
