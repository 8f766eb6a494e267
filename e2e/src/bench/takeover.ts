import { randomUUID } from 'node:crypto';
import { connect, type ZooKeeper } from '@nodepool/zk-protocol';
import { percentiles, type Percentiles } from './process-usage.js';

const REQUESTS = '/nodepool/requests';

/** Registers the pool of a launcher that is about to be lost. */
async function announcePool(lost: ZooKeeper): Promise<void> {
  const launcherId = `lost-PoolWorker.gone-main-${randomUUID().replaceAll('-', '')}`;
  const component = { hostname: 'lost', kind: 'pool', state: 'running', version: null, model_api: 0 };
  const pool = {
    id: launcherId,
    name: 'main',
    provider_name: 'gone',
    supported_labels: ['other'],
    priority: 100,
    paused: false,
  };
  await lost.create('/nodepool/components/pool/lost', JSON.stringify({ ...component, ...pool }), {
    ephemeral: true,
    sequential: true,
  });
}

/** A request that a launcher works on. */
function pendingBody() {
  return {
    ...{
      state: 'pending',
      state_time: Date.now() / 1000,
      declined_by: [],
      node_types: ['a'],
      nodes: [],
      reuse: true,
    },
    ...{ requestor: 'takeover', requestor_data: null, provider: null, relative_priority: 0, event_id: null },
    ...{ created_time: null, tenant_name: null },
  };
}

/**
 * From the end of a launcher's session to the moment the request it had accepted is fulfilled by another. The lost
 * launcher is simulated: a session that registers a pool, locks a request, makes it `pending`, and ends.
 */
export async function measureTakeover(connectString: string, times: number): Promise<Percentiles> {
  const client = await connect({ servers: connectString, sessionTimeoutMs: 30_000 });
  const durations: number[] = [];
  for (let i = 0; i < times; i++) {
    const lost = await connect({ servers: connectString, sessionTimeoutMs: 30_000 });
    await announcePool(lost);
    const path = await lost.create(`${REQUESTS}/200-`, '', { sequential: true }); // no request before it is locked
    const id = path.slice(REQUESTS.length + 1);
    await lost.ensurePath(`/nodepool/requests-lock/${id}`);
    const entry = `/nodepool/requests-lock/${id}/${randomUUID().replaceAll('-', '')}__lock__`;
    await lost.create(entry, '', { ephemeral: true, sequential: true });
    const written = lost.setData(path, JSON.stringify(pendingBody()));
    // every other time the launcher still reads the request while the session ends
    if (i % 2 === 0) await written;
    const begin = performance.now();
    await Promise.all([written, lost.close()]);
    await whenFulfilled(client, path);
    durations.push(performance.now() - begin);
    await client.delete(path);
  }
  await client.close();
  return percentiles(durations);
}

async function whenFulfilled(zk: Awaited<ReturnType<typeof connect>>, path: string): Promise<void> {
  for (;;) {
    let wake = (): void => undefined;
    const changed = new Promise<void>((resolve) => (wake = resolve));
    const { data } = await zk.getData(path, () => wake());
    if ((JSON.parse(data.toString()) as { state: string }).state === 'fulfilled') return;
    await changed;
  }
}
