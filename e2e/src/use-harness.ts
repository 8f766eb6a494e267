import type { ZooKeeperOptions } from '@nodepool/test-servers';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { ElasticHarness } from './elastic-harness.js';
import { GceHarness } from './gce-harness.js';
import { type StaticOptions, StaticHarness } from './static-harness.js';

/**
 * Gives all tests of a file the same ZooKeeper and SSH servers, and each test launchers and records of its own. After
 * every test nothing may be left: no request, no lock entry, no allocation, no stray record.
 * @returns the harness, once tests run
 */
export function useStatic(options: StaticOptions = {}): () => StaticHarness {
  return useHarness(() => StaticHarness.start(options));
}

/**
 * Gives all tests of a file the same ZooKeeper, and each test a cloud, launchers and records of its own. After every
 * test nothing may be left, in ZooKeeper or in the cloud, but the standby nodes it has announced.
 * @returns the harness, once tests run
 */
export function useElastic(options: ZooKeeperOptions = {}): () => ElasticHarness {
  return useHarness(() => ElasticHarness.start(options));
}

/** As `useElastic`, with a fake Compute Engine for a cloud. */
export function useGce(options: ZooKeeperOptions = {}): () => GceHarness {
  return useHarness(() => GceHarness.start(options));
}

function useHarness<H extends StaticHarness | ElasticHarness | GceHarness>(start: () => Promise<H>): () => H {
  let harness: H | undefined;
  const get = (): H => {
    if (harness === undefined) throw new Error('the harness has not been started');
    return harness;
  };

  beforeAll(async () => {
    harness = await start();
  });

  let story = '';
  beforeEach(async ({ onTestFailed }) => {
    onTestFailed(() => console.error(story));
    await get().startTest();
  });

  afterEach(async ({ task }) => {
    let isGood = false;
    try {
      if (task.result?.state === 'fail') return;
      await get().assertClean();
      isGood = true;
    } finally {
      if (!isGood) story = await get().story();
      await get().endTest();
    }
  });

  afterAll(async () => {
    await harness?.stop();
  });

  return get;
}
