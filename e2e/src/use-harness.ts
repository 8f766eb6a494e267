import type { SshdOptions, ZooKeeperOptions } from '@nodepool/test-servers';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { Harness } from './harness.js';

/**
 * Gives all tests of a file the same ZooKeeper and SSH servers, and each test launchers and records of its own. After
 * every test nothing may be left: no request, no lock entry, no allocation, no stray record.
 * @returns the harness, once tests run
 */
export function useHarness(options: { zookeeper?: ZooKeeperOptions; sshd?: SshdOptions } = {}): () => Harness {
  let harness: Harness | undefined;
  const get = (): Harness => {
    if (harness === undefined) throw new Error('the harness has not been started');
    return harness;
  };

  beforeAll(async () => {
    harness = await Harness.start(options);
  });

  let story = '';
  beforeEach(({ onTestFailed }) => {
    onTestFailed(() => console.error(`--- timeline\n${story}\n---`));
  });

  afterEach(async () => {
    try {
      await get().assertClean();
    } finally {
      story = get().timeline();
      await get().endLaunchers();
    }
  });

  afterAll(async () => {
    await harness?.stop();
  });

  return get;
}
