import { connect } from '@nodepool/zk-protocol';
import { setTimeout as delay } from 'node:timers/promises';
import type { Finding } from './finding.js';
import { cpuMs } from './process-usage.js';
import { withCloud } from './scenarios.js';

/** Time without changes after which the launcher has settled. */
const QUIET_MS = 3_000;

/** Time from the start of the launcher's process until all standby nodes are ready and no request is left. */
export async function measureMinReady(count: number): Promise<Finding[]> {
  let beginMs = 0;
  const measured = withCloud(
    { minReady: count },
    async ({ connectString, subject, cloud }) => {
      const zk = await connect({ servers: connectString, sessionTimeoutMs: 30_000 });
      let mostNodes = 0;
      let settledMs = 0;
      for (let quietSinceMs: number | undefined; ; await delay(20)) {
        const [nodes, requests] = await Promise.all(
          ['/nodepool/nodes', '/nodepool/requests'].map(async (path) => (await zk.getChildren(path)).length),
        );
        mostNodes = Math.max(mostNodes, nodes ?? 0);
        const now = performance.now();
        if (nodes !== count || requests !== 0) {
          quietSinceMs = undefined;
          if (now - beginMs > 60_000) throw new Error(`${nodes} nodes and ${requests} requests after a minute`);
          continue;
        }
        if (quietSinceMs === undefined) settledMs = now - beginMs;
        quietSinceMs ??= now;
        if (now - quietSinceMs > QUIET_MS) break;
      }
      await zk.close();
      return [
        { what: `min-ready ${count} settled`, value: settledMs / 1000, unit: 's from the start', wanted: 'at most 5' },
        { what: `min-ready ${count}: launcher ready`, value: subject.startMs / 1000, unit: 's from the start' },
        { what: `min-ready ${count}: most nodes`, value: mostNodes, unit: '', wanted: `never above ${count}` },
        { what: `min-ready ${count}: most instances`, value: cloud.most, unit: '', wanted: `never above ${count}` },
        { what: `min-ready ${count}: CPU per node`, value: (await cpuMs(subject.pid)) / count, unit: 'ms' },
      ];
    },
    () => (beginMs = performance.now()),
  );
  return measured;
}
