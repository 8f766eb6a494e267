import type { ZooKeeperOptions } from '@nodepool/test-servers';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { ElasticHarness } from './elastic-harness.js';

/**
 * Gives all tests of a file the same ZooKeeper, and each test a cloud, launchers and records of its own. After every
 * test nothing may be left, in ZooKeeper or in the cloud, but the standby nodes it has announced.
 * @returns the harness, once tests run
 */
export function useElastic(options: ZooKeeperOptions = {}): () => ElasticHarness {
  let harness: ElasticHarness | undefined;
  const get = (): ElasticHarness => {
    if (harness === undefined) throw new Error('the harness has not been started');
    return harness;
  };

  beforeAll(async () => {
    harness = await ElasticHarness.start(options);
  });

  let story = '';
  beforeEach(async ({ onTestFailed }) => {
    onTestFailed(() => console.error(`--- timeline\n${story}\n---`));
    await get().startCloud();
  });

  afterEach(async ({ task }) => {
    try {
      if (task.result?.state !== 'fail') await get().assertClean();
    } finally {
      story = get().timeline();
      await get().endTest();
    }
  });

  afterAll(async () => {
    await harness?.stop();
  });

  return get;
}
