import { connect } from '@nodepool/zk-protocol';
import { setTimeout as delay } from 'node:timers/promises';
import type { Finding } from './finding.js';
import { LeanClient } from './lean-client.js';
import { percentiles } from './process-usage.js';
import { withCloud } from './scenarios.js';

/** Latency of `/explain` for one of many waiting requests. */
export async function measureExplain(waiting: number): Promise<Finding[]> {
  return withCloud({ maxServers: 1 }, async ({ connectString, subject }) => {
    const zk = await connect({ servers: connectString, sessionTimeoutMs: 30_000 });
    const client = new LeanClient(zk, ['a']);
    await client.start();
    await client.obtain();
    const unanswered = Array.from({ length: waiting }, () => client.obtain());
    for (const promise of unanswered) promise.catch(() => undefined); // never served: the connection is closed below
    let ids: string[] = [];
    while (ids.length < waiting) {
      await delay(50);
      ids = (await zk.getChildren('/nodepool/requests')).sort();
    }
    await delay(1_000);
    const times: number[] = [];
    for (let i = 0; i < 20; i++) {
      const id = ids[Math.floor((i * (ids.length - 1)) / 19)] ?? '';
      const begin = performance.now();
      const answer = await fetch(`${subject.url}/explain?request=${id}`, { headers: { accept: 'application/json' } });
      const text = await answer.text();
      times.push(performance.now() - begin);
      if (!answer.ok) throw new Error(`/explain for ${id}: ${answer.status} ${text}`);
    }
    await zk.close();
    const { p50, p99 } = percentiles(times);
    return [
      { what: `/explain for one of ${waiting} waiting requests, p50`, value: p50, unit: 'ms', wanted: 'below 50' },
      { what: `/explain for one of ${waiting} waiting requests, slowest of 20`, value: p99, unit: 'ms' },
    ];
  });
}
