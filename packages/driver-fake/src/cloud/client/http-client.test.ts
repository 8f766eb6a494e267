import { describe, expect, it, vi } from 'vitest';
import { isNodepoolError } from '@nodepool/zk-protocol';
import { idsOf, order, signal, useServers } from '../../../test/servers.js';
import { callsOf } from '../../driver/cloud-call.js';
import type { CloudChange } from './client.js';

const { startServer, startClient } = useServers();
const statesOf = (events: CloudChange[]) => events.map(({ instance }) => instance?.status ?? null);

describe('HttpClient', () => {
  it('creates, sees and deletes an instance', async () => {
    const { dir } = await startServer();
    const { client, events } = await startClient(dir);

    const made = await client.call('create', order, signal);
    const listed = await idsOf(client);
    const found = await client.call('find', { name: 'nodepool_node_id', value: '1' }, signal);
    const others = await client.call('find', { name: 'nodepool_node_id', value: '2' }, signal);
    const isGone = await client.call('remove', made.id, signal);

    expect(made.status).toBe('active');
    expect(listed).toEqual([made.id]);
    expect(found).toEqual([made]);
    expect(others).toEqual([]);
    expect(isGone).toBe(true);
    expect(await client.call('get', made.id, signal)).toBeNull();
    await vi.waitFor(() =>
      expect(events).toMatchObject([
        { id: made.id, instance: made },
        { id: made.id, instance: null },
      ]),
    );
  });

  it('reports changes that other clients make', async () => {
    const { dir, cloud } = await startServer();
    const [{ client }, other] = [await startClient(dir), await startClient(dir)];

    const { id } = await client.call('create', order, signal);
    cloud.kill(id);

    await vi.waitFor(() => expect(statesOf(other.events)).toEqual(['active', null]));
  });

  it('rejects a call as soon as its signal aborts', async () => {
    const { dir, cloud } = await startServer();
    const { client } = await startClient(dir);
    cloud.set('api-time', 3_600);
    const stop = new AbortController();

    const call = client.call('limits', null, stop.signal);
    stop.abort(new Error('enough'));

    await expect(call).rejects.toThrow('enough');
    cloud.set('api-time', 0);
    await expect(client.call('create', order, stop.signal)).rejects.toThrow('enough');
    expect(await idsOf(client)).toEqual([]);
  });

  it('rejects a call whose answer was lost after it took effect', async () => {
    const { dir, cloud } = await startServer();
    const { client } = await startClient(dir);
    cloud.set('failures.connection-reset', 1);

    const error = await callsOf(client)('create', order, signal).catch((reason: unknown) => reason);

    expect(isNodepoolError(error, 'NODEPOOL_PROVIDER_UNAVAILABLE')).toBe(true);
    expect(await idsOf(client)).toHaveLength(1);
  });

  it('does not report its own close as a lost connection', async () => {
    const { dir } = await startServer();
    const { client, lost } = await startClient(dir);
    const other = await startClient(dir);

    client.close();
    await other.client.call('create', order, signal); // by now both processes have seen the close

    expect(lost).toEqual([]);
  });
});
