import { connect } from '@nodepool/zk-protocol';
import { LeanClient } from './lean-client.js';
import type { Finding } from './finding.js';
import { withCloud } from './scenarios.js';

/** Number of backing nodes for many slots at once. */
export async function measurePacking(slots: number, slotsPerNode: number): Promise<Finding[]> {
  return withCloud({ slotsPerNode }, async ({ connectString, cloud }) => {
    const zk = await connect({ servers: connectString, sessionTimeoutMs: 30_000 });
    const client = new LeanClient(zk, ['slot']);
    await client.start();
    const begin = performance.now();
    await Promise.all(Array.from({ length: slots }, () => client.obtain()));
    const seconds = (performance.now() - begin) / 1000;
    await zk.close();
    const least = Math.ceil(slots / slotsPerNode);
    return [
      { what: `${slots} slots asked for at once: obtained`, value: slots / seconds, unit: 'a second' },
      {
        what: `backing nodes for ${slots} slots, ${slotsPerNode} each`,
        value: cloud.most,
        unit: '',
        wanted: `${least}, at most ${Math.floor(least * 1.1)}`,
      },
    ];
  });
}
