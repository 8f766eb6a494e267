import { connect, type ZooKeeper } from '@nodepool/zk-protocol';
import { setTimeout as delay } from 'node:timers/promises';
import { LeanClient, type LeanNode } from './lean-client.js';
import { percentiles, type Percentiles } from './process-usage.js';

/** Options of the churn client, passed as JSON in its first argument. */
export interface ChurnOptions {
  connectString: string;
  /** Nodes held at any time. */
  nodes: number;
  /** Nodes replaced a second. */
  perSecond: number;
  seconds: number;
}

/** Result of the churn client. */
export interface ChurnResult {
  fulfilMs: Percentiles;
  takenBackMs: Percentiles;
  /** Nodes replaced. */
  replaced: number;
  /** Greatest number of requests waiting at the same time. */
  mostWaiting: number;
}

/** Nodes in each request while filling up. */
const NODES_PER_REQUEST = 10;
const FILLING_IN_FLIGHT = 20;

async function fill(zk: ZooKeeper, nodes: number): Promise<LeanNode[]> {
  const client = new LeanClient(zk, Array<string>(NODES_PER_REQUEST).fill('a'));
  await client.start();
  const held: LeanNode[] = [];
  let left = nodes;
  const lane = async (): Promise<void> => {
    while ((left -= NODES_PER_REQUEST) >= 0) held.push(...(await client.obtain()).nodes);
  };
  await Promise.all(Array.from({ length: FILLING_IN_FLIGHT }, lane));
  return held;
}

/** Replaces nodes at a constant rate, independent of how long each replacement takes. */
async function churn(client: LeanClient, held: LeanNode[], { perSecond, seconds }: ChurnOptions): Promise<ChurnResult> {
  const fulfilMs: number[] = [];
  const running = new Set<Promise<void>>();
  let waiting = 0;
  let mostWaiting = 0;
  const replace = async (oldest: LeanNode): Promise<void> => {
    mostWaiting = Math.max(mostWaiting, ++waiting);
    const [grant] = await Promise.all([client.obtain(), client.use(oldest)]);
    waiting--;
    fulfilMs.push(grant.fulfilMs);
    held.push(...grant.nodes);
  };
  const begin = performance.now();
  for (let started = 0; started < perSecond * seconds;) {
    const due = Math.min(perSecond * seconds, Math.floor(((performance.now() - begin) * perSecond) / 1000));
    for (; started < due; started++) {
      const oldest = held.shift();
      if (!oldest) throw new Error('all nodes have been given back: the launcher is too slow');
      const run = replace(oldest).finally(() => running.delete(run));
      running.add(run);
    }
    await delay(5);
  }
  await Promise.all(running);
  const takenBackMs = percentiles(client.takeReturnTimes());
  return { fulfilMs: percentiles(fulfilMs), takenBackMs, replaced: fulfilMs.length, mostWaiting };
}

const options = JSON.parse(process.argv[2] ?? '{}') as ChurnOptions;
const zk = await connect({ servers: options.connectString, sessionTimeoutMs: 30_000 });
const held = await fill(zk, options.nodes);
const client = new LeanClient(zk, ['a']);
await client.start();
process.send?.('measuring');
process.send?.({ result: await churn(client, held, options) });
await zk.close();
process.disconnect();
