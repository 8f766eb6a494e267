import { nodeLockPath, REQUESTS_ROOT } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { FakeLauncher } from '../../test/fake-launcher.js';
import { useWorld } from '../../test/world.js';
import type { Lease } from './lease.js';
import { withLease } from './with-lease.js';

const get = useWorld();
const OPTIONS = {
  ...{
    labels: ['small'],
    provider: undefined,
    priority: 200,
    timeoutMs: undefined,
    quiet: true,
    force: false,
    sshKeyFile: undefined,
  },
  ...{ purpose: 'test', server: { url: undefined, tokenFile: undefined, caFile: undefined, isInsecure: false } },
};

/** Takes a node, and uses it. @returns the node, the outcome, and what was told of nodes that could not be returned */
async function useNode<T>(use: (lease: Lease) => Promise<T>) {
  const id = await get().createNode();
  const launcher = new FakeLauncher(get().zk);
  const unreturned: unknown[] = [];
  const using = withLease(get().context(), OPTIONS, (error) => void unreturned.push(error), use);
  const [outcome] = await Promise.allSettled([using, launcher.fulfil([id])]);
  return { id, outcome, unreturned, launcher };
}

it('returns the nodes, and what was made of them', async () => {
  const { id, outcome, unreturned, launcher } = await useNode((lease) => Promise.resolve(lease.nodes.length));

  expect(outcome).toEqual({ status: 'fulfilled', value: 1 });
  expect((await launcher.readNode(id)).state).toBe('used');
  expect(await get().zk.getChildren(nodeLockPath(id))).toEqual([]);
  expect(await get().zk.getChildren(REQUESTS_ROOT)).toEqual([]);
  expect(unreturned).toEqual([]);
});

it('returns the nodes when their use fails, and passes the error on', async () => {
  const { id, outcome, launcher } = await useNode(() => Promise.reject(new Error('broken')));

  expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'broken' } });
  expect((await launcher.readNode(id)).state).toBe('used');
});

it('does not return nodes that are lost: their launcher deletes them', async () => {
  const { id, outcome, launcher } = await useNode(async (lease) => {
    const lost = new Promise((resolve) => lease.lost.addEventListener('abort', resolve, { once: true }));
    await get().zk.deleteRecursive(nodeLockPath(lease.nodes[0]?.node.id ?? ('' as never)));
    await lost;
  });

  expect(outcome.status).toBe('fulfilled');
  expect((await launcher.readNode(id)).state).toBe('in-use');
});
