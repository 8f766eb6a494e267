import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { IncusHarness } from './incus-harness.js';

/**
 * Gives all tests of a file the same daemon and ZooKeeper, and each test launchers and records of its own. After every test nothing
 * may be left, in ZooKeeper or in the daemon.
 */
export function useIncus(): () => IncusHarness {
  let harness: IncusHarness | undefined;
  const get = (): IncusHarness => {
    if (!harness) throw new Error('the harness has not been started');
    return harness;
  };
  beforeAll(async () => {
    harness = await IncusHarness.start();
  }, 300_000);
  beforeEach(({ onTestFailed }) => {
    onTestFailed(async () => console.error(`${await get().story()}\n${get().lxd.log}`));
    return get().startTest();
  });
  afterEach(async ({ task }) => {
    try {
      if (task.result?.state !== 'fail') await get().assertClean(60_000);
    } finally {
      await get().endTest();
    }
  }, 120_000);
  afterAll(async () => {
    await harness?.stop();
  }, 120_000);
  return get;
}
