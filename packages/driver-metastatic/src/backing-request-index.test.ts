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
    const context = {
      committer: { commit: (operations: Parameters<typeof client.zk.multi>[0]) => client.zk.multi(operations) },
    } as never;
    return { path: requestPath(id), context };
  }

  it('deletes a request, and counts a missing one as deleted', async () => {
    const { path, context } = await requested();

    await expect(deleteRequest(context, path)).resolves.toBe(true);
    await expect(deleteRequest(context, path)).resolves.toBe(true);
  });

  it('keeps a request that was written after the given version', async () => {
    const { path, context } = await requested();

    await expect(deleteRequest(context, path, 99)).resolves.toBe(false);
  });
});
