import { connect } from '@nodepool/zk-protocol';
import { countOvertaking, LeanClient, type LeanGrant, type LoadResult } from './lean-client.js';
import { percentiles } from './process-usage.js';

/** Options of the load client, passed as JSON in its first argument. */
export interface LoadOptions {
  connectString: string;
  labels: string[];
  inFlight: number;
  /** Requests measured. */
  requests: number;
  /** Requests before the measurement. Default: a tenth of those measured. */
  warmUp?: number | undefined;
}

/** Serves `count` requests with `inFlight` of them at a time. */
async function serveMany(client: LeanClient, inFlight: number, count: number): Promise<LeanGrant[]> {
  const grants: LeanGrant[] = [];
  let left = count;
  const lane = async (): Promise<void> => {
    while (left-- > 0) {
      const grant = await client.obtain();
      grants.push(grant);
      await Promise.all(grant.nodes.map((node) => client.use(node)));
    }
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, count) }, lane));
  return grants;
}

const { connectString, labels, inFlight, requests, warmUp } = JSON.parse(process.argv[2] ?? '{}') as LoadOptions;
const zk = await connect({ servers: connectString, sessionTimeoutMs: 30_000 });
const client = new LeanClient(zk, labels);
await client.start();
await serveMany(client, inFlight, warmUp ?? Math.max(inFlight, Math.floor(requests / 10)));
client.takeReturnTimes();
process.send?.('measuring');
const begin = performance.now();
const grants = await serveMany(client, inFlight, requests);
const result: LoadResult = {
  requestsPerSecond: (requests / (performance.now() - begin)) * 1000,
  fulfilMs: percentiles(grants.map(({ fulfilMs }) => fulfilMs)),
  takenBackMs: percentiles(client.takeReturnTimes()),
  requests,
  overtaking: countOvertaking(grants),
};
process.send?.({ result });
await zk.close();
process.disconnect();
