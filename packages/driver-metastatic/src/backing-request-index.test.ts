import { describe, expect, it } from 'vitest';
import { requestPath } from '@nodepool/zk-protocol';
import { useWorld, yamlOf } from '../test/world.js';
import { deleteRequest } from './backing-request-index.js';

const world = useWorld();

describe('deleteRequest', () => {
  async function requested() {
    await world.launcher(yamlOf({ hosts: 1 }));
    const client = await world.client();
    const id = await client.ask(['none']);
    let losses = 0;
    const committer = {
      commit: async (operations: Parameters<typeof client.zk.multi>[0]) => {
        const sent = client.zk.multi(operations);
        if (losses-- > 0) void world.breakConnections();
        return sent;
      },
    };
    const remove = (version?: number) =>
      deleteRequest({ committer, zk: client.zk }, requestPath(id), new AbortController().signal, version);
    return { remove, lose: (times: number) => (losses = times) };
  }

  it('deletes a request, and counts a missing one as deleted', async () => {
    const { remove } = await requested();

    await expect(remove()).resolves.toBe(true);
    await expect(remove()).resolves.toBe(true);
  });

  it('keeps a request that was written after the given version', async () => {
    const { remove } = await requested();

    await expect(remove(99)).resolves.toBe(false);
  });

  it('deletes a request although the connection is lost, again and again', async () => {
    const { remove, lose } = await requested();
    lose(2);

    await expect(remove()).resolves.toBe(true);
  });
});
