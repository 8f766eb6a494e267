import { afterEach } from 'vitest';
import { systemClock } from '@nodepool/zk-protocol';
import { addressOf, CloudServer, HttpClient } from '../src/index.js';
import type { CloudChange, CloudClient, InstanceOrder } from '../src/index.js';
import { makeTempDir } from './temp-dir.js';

/** An instance to create. */
export const order: InstanceOrder = {
  ...{ name: 'np1', minRam: 2048, image: 'any', az: null },
  metadata: { nodepool_node_id: '1' },
};

/** Ends calls of a test that hangs. */
export const signal = AbortSignal.timeout(60_000);

/** Ids of all instances that a client sees. */
export const idsOf = async (client: CloudClient) => (await client.call('find', null, signal)).map(({ id }) => id);

/** Starts servers of fake clouds and clients of them; ends them after each test. */
export function useServers() {
  const closing: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function startServer(dir = makeTempDir(), options: Partial<Parameters<typeof CloudServer.start>[0]> = {}) {
    const server = await CloudServer.start({
      ...{ dir, address: addressOf(dir), clock: systemClock, random: Math.random },
      ...options,
    });
    closing.push(() => server.stop());
    return { dir, server, cloud: server.cloud };
  }

  async function startClient(dir: string, listen?: string) {
    const lost: Error[] = [];
    const client = new HttpClient({
      address: addressOf(dir, listen),
      clock: systemClock,
      onLost: (error) => lost.push(error),
    });
    closing.push(() => client.close());
    const events: CloudChange[] = [];
    client.onChange((event) => events.push(event));
    await client.start(signal);
    return { client, events, lost };
  }

  return { startServer, startClient };
}
