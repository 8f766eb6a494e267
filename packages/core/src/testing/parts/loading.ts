import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { JsonObject } from '@nodepool/zk-protocol';
import { providerSchema } from '../../config/provider-schema.js';
import { assertCompiles } from '../../config/schema-validator.js';
import { DRIVER_API_VERSION } from '../../contract/driver.js';
import type { ContractPart, PartTest } from '../harness/part.js';

const CAPABILITIES = ['launches', 'pausesAtQuota', 'managesImages'] as const;

/** Checks of the host before it uses a driver. */
export const loading: ContractPart = {
  name: 'loading',
  tests: ({ packageFile }) => [...always, ...(packageFile === undefined ? [] : [describedByPackage(packageFile)])],
};

const always: readonly PartTest[] = [
  {
    name: 'has a name that a configuration can contain',
    run: async ({ harness: { driver, configuration } }) => {
      assert.match(driver.name, /^[a-z0-9][a-z0-9._-]*$/, 'driver.name is lower case letters, digits, ".", "_", "-"');
      assert.equal(configuration.entry['driver'], driver.name, '"driver" of validConfig is driver.name');
      await Promise.resolve();
    },
  },
  {
    name: 'is made for the driver API of this core',
    run: async ({ harness: { driver } }) => {
      assert.equal(driver.apiVersion, DRIVER_API_VERSION, 'driver.apiVersion is DRIVER_API_VERSION of @nodepool/core');
      await Promise.resolve();
    },
  },
  {
    name: 'says what it can do',
    run: async ({ harness: { driver } }) => {
      for (const name of CAPABILITIES) {
        assert.equal(typeof driver.capabilities[name], 'boolean', `driver.capabilities.${name} is true or false`);
      }
      await Promise.resolve();
    },
  },
  {
    name: 'has a schema that compiles',
    run: async ({ harness: { driver } }) => {
      assertCompiles(driver.name, providerSchema(driver));
      await Promise.resolve();
    },
  },
  {
    name: 'drops global state at each reset',
    run: async ({ harness }) => {
      await harness.during(Promise.resolve(harness.driver.reset?.()), 'reset ends', 60_000);
      await harness.during(Promise.resolve(harness.driver.reset?.()), 'reset ends again', 60_000);
      await harness.configuration.readEntry(harness.configuration.entry);
    },
  },
  {
    name: 'makes a provider without doing anything yet',
    run: async ({ harness }) => {
      const before = await harness.resources.list();
      const launcher = await harness.makeLauncher();
      let open = (): void => {};
      launcher.startGate = new Promise((resolve) => (open = resolve));
      const starting = launcher.launcher.start();
      await harness.until(() => launcher.providers.length > 0, 'the driver makes a provider', 60_000);
      await harness.pass(0);

      assert.equal(launcher.zkCalls, 0, 'getProvider does not call ZooKeeper: that belongs into start');
      assert.equal(launcher.clock.pendingTimers, 0, 'getProvider sets no timers: that belongs into start');
      assert.deepEqual(await harness.resources.list(), before, 'getProvider changes nothing in the cloud');
      open();
      await harness.during(starting, 'the launcher starts');
    },
  },
];

function describedByPackage(packageFile: string | URL): PartTest {
  return {
    name: 'is described in the same words by its package.json',
    run: async ({ harness: { driver } }) => {
      const manifest = JSON.parse(await readFile(packageFile, 'utf8')) as JsonObject;
      assert.deepEqual(
        manifest['nodepool'],
        { driver: driver.name, apiVersion: driver.apiVersion },
        '"nodepool" of package.json names the driver and the API version it exports',
      );
      const peers = manifest['peerDependencies'] ?? {};
      assert.ok(
        typeof peers === 'object' && '@nodepool/core' in peers,
        '@nodepool/core is a peer dependency, so that driver and host share one',
      );
      const own = manifest['dependencies'] ?? {};
      assert.ok(
        typeof own === 'object' && !('@nodepool/core' in own),
        '@nodepool/core is no dependency of its own: that would install a second copy',
      );
    },
  };
}
