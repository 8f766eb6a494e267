import { setMaxListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { NEVER, addServers, serverId, useCloud } from '../../test/support/client.js';

const { cloud, client } = useCloud();

describe('calls', () => {
  it('wait as long as the service asks for, and no others wait with them', async () => {
    cloud().faults.push({ method: 'DELETE', times: 1, status: 429, headers: { 'retry-after': '4' } });
    addServers(cloud(), 3);
    const api = client();
    await api.compute.flavors(NEVER);
    const ended: string[] = [];
    const deletions = [serverId(0), serverId(1)].map((id) =>
      api.compute.deleteServer(id, NEVER).then(() => ended.push('deleted')),
    );
    await cloud().arrived('DELETE', /servers/);

    await api.compute.servers(NEVER);
    ended.push('listed');
    await Promise.all(deletions);

    expect(ended, 'the list is not the last').toHaveLength(3);
    expect(ended.at(-1)).toBe('deleted');
    const times = cloud()
      .calls.filter(({ method }) => method === 'DELETE')
      .map(({ atMs }) => atMs);
    expect((times.at(-1) ?? 0) - (times[0] ?? 0), 'until the refused call is repeated').toBeGreaterThanOrEqual(3_990);
  });

  it('keep the rate, lists first', async () => {
    addServers(cloud(), 20);
    const api = client({ requestsPerSecond: 20 });
    await api.compute.flavors(NEVER);
    const begin = cloud().calls.length;
    const deletions = [0, 1, 2, 3, 4, 5].map((i) => api.compute.deleteServer(serverId(i), NEVER));
    await Promise.resolve();

    await api.compute.servers(NEVER);
    await Promise.all(deletions);

    const calls = cloud().calls.slice(begin);
    expect(calls.findIndex(({ method }) => method === 'GET')).toBeLessThanOrEqual(1);
    const tookMs = (calls.at(-1)?.atMs ?? 0) - (calls[0]?.atMs ?? 0);
    expect(tookMs).toBeGreaterThanOrEqual(6 * 50 - 20); // seven calls, twenty a second
  });

  it('that are not answered, however many, keep no list waiting, and no more run at once than their lane has', async () => {
    const order = { name: 'np1', flavorId: 'f-2', imageId: 'x', metadata: {}, networks: ['net-public'] };
    cloud().faults.push({ method: 'DELETE', silent: true }, { method: 'POST', path: /compute/, silent: true });
    const api = client();
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const hanging = Array.from({ length: 100 }, (_, i) => [
      api.compute.createServer(order, stop.signal),
      api.compute.deleteServer(serverId(i), stop.signal),
    ]);
    const ends = Promise.allSettled(hanging.flat());
    const orders = () => cloud().count('POST', /^compute/);
    await vi.waitUntil(() => orders() === 50 && cloud().count('DELETE', /^compute/) === 30, { timeout: 50_000 });

    expect(await api.compute.servers(NEVER)).toEqual([]);
    expect(orders()).toBe(50);
    stop.abort(new Error('enough'));
    expect((await ends).every(({ status }) => status === 'rejected')).toBe(true);
  });
});
