import { connect } from '@nodepool/zk-protocol';
import { LeanClient } from './lean-client.js';
import type { Finding } from './finding.js';
import { percentiles } from './process-usage.js';
import { withCloud } from './scenarios.js';

/** Time from the loss of an instance in the cloud to its replacement, in a pool with capacity for one. */
export async function measureLostInstance(times: number): Promise<Finding[]> {
  const setup = { maxServers: 1, settings: { 'delete-time': 0.05 } };
  return withCloud(setup, async ({ connectString, cloud }) => {
    const gaps: number[] = [];
    let goneMs: number | undefined;
    cloud.onChange(({ instance }) => {
      if (!instance) goneMs = performance.now();
      else if (goneMs !== undefined) {
        gaps.push(performance.now() - goneMs);
        goneMs = undefined;
      }
    });
    const zk = await connect({ servers: connectString, sessionTimeoutMs: 30_000 });
    const client = new LeanClient(zk, ['a']);
    await client.start();
    let left = times;
    const lane = async (): Promise<void> => {
      while (left-- > 0) {
        const { nodes } = await client.obtain();
        await Promise.all(nodes.map((node) => client.use(node)));
      }
    };
    await Promise.all([lane(), lane(), lane()]);
    await zk.close();
    const { p50, p99 } = percentiles(gaps);
    return [
      { what: 'lost instance to its replacement, p50', value: p50, unit: 'ms', wanted: 'at most 50' },
      { what: 'lost instance to its replacement, p99', value: p99, unit: 'ms' },
      { what: 'instances at the same time, max-servers 1', value: cloud.most, unit: '', wanted: '1' },
    ];
  });
}
