import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startZooKeeper, type ZooKeeperHandle } from '@nodepool/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EmbeddedServer, startEmbeddedServer } from '../../src/server/index.js';
import { Differential } from './differential.js';

/** `NODEPOOL_DIFFERENTIAL_SEED` repeats a run, `NODEPOOL_DIFFERENTIAL_OPERATIONS` makes it longer. */
const firstSeed = Number(process.env.NODEPOOL_DIFFERENTIAL_SEED ?? 1);
const operations = Number(process.env.NODEPOOL_DIFFERENTIAL_OPERATIONS ?? 2500);
const seeds = process.env.NODEPOOL_DIFFERENTIAL_SEED === undefined ? [firstSeed, 2, 3] : [firstSeed];

// ZooKeeper looks for empty containers at times of its own choice; here it never does.
const javaOptions = ['-Dznode.container.checkIntervalMs=86400000'];

describe('embedded server beside ZooKeeper 3.8', () => {
  let real: ZooKeeperHandle;
  let ours: EmbeddedServer;
  let dataDir: string;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'nodepool-differential-'));
    [real, ours] = await Promise.all([startZooKeeper({ javaOptions }), startEmbeddedServer({ dataDir, fsync: false })]);
  });

  afterAll(async () => {
    await Promise.all([real.stop(), ours.close()]);
    await rm(dataDir, { recursive: true });
  });

  it.each(seeds)(
    'answers random requests with the same replies, stats and events (seed %i)',
    async (seed) => {
      const differential = new Differential(seed, { real: real.plainPort, ours: ours.port });

      const difference = await differential.run(operations, seed === firstSeed ? 1 : 0).catch((error: Error) => error);

      expect(difference).toBeUndefined();
    },
    600_000,
  );
});
