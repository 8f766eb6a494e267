import { nodePath, withNode, type NodeRecord } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { LockLostError } from '../../contract/errors.js';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { newerOf, storeNode } from './store-node.js';

async function lockedNode() {
  const world = await ServiceWorld.open();
  const id = await world.createNode({ state: 'building' });
  const node = world.context.mirror.nodes.get(id);
  if (!node) throw new Error('the mirror does not show the node');
  const store = (changes: Partial<NodeRecord>) => storeNode(world.context, node, changes, new AbortController().signal);
  return { world, id, node, store };
}

function versionOf(node: NodeRecord, version: number, mzxid: bigint): NodeRecord {
  if (!node.stat) throw new Error('the node was never read');
  return { ...node, stat: { ...node.stat, version, mzxid } };
}

describe('storing a node', () => {
  it.each(['request', 'answer'] as const)(
    'is done once when the connection breaks and the %s is lost',
    async (what) => {
      const { world, id, store } = await lockedNode();
      if (what === 'request') world.loseRequest((write) => write === `set ${nodePath(id)}`);
      else world.loseAnswer((write) => write === `setData ${nodePath(id)}`);

      const stored = await world.clock.run(store({ externalId: 'i-1' }));

      expect(stored).toMatchObject({ externalId: 'i-1', stat: { version: 1 } });
      expect(world.breaks).toBe(1);
    },
  );

  it('is done once when the next connection breaks before the record is read again', async () => {
    const { world, id, store } = await lockedNode();
    world.loseAnswer((write) => write === `setData ${nodePath(id)}`);
    world.zk.onState((state) => {
      if (state === 'CONNECTED' && world.breaks === 1) world.clock.setTimer(1, () => world.link.break());
    });

    const stored = await world.clock.run(store({ externalId: 'i-1' }));

    expect(stored).toMatchObject({ externalId: 'i-1', stat: { version: 1 } });
    expect(world.breaks).toBe(2);
  });

  it('fails when another process has written the node meanwhile', async () => {
    const { world, id, store } = await lockedNode();
    await world.clock.run(world.other.setData(nodePath(id), '{"state":"building"}'));

    await expect(world.clock.run(store({ externalId: 'i-1' }))).rejects.toThrow(LockLostError);
  });
});

describe('the newer of two versions', () => {
  it('is what was written while the mirror is still catching up, and what the mirror shows after that', async () => {
    const { world, node } = await lockedNode();
    const shown = versionOf(node, 1, 10n);
    const written = versionOf(withNode(node, { externalId: 'i-1' }, world.clock.now()), 2, 11n);
    const later = versionOf(written, 3, 12n);

    expect(newerOf(written, shown)).toBe(written);
    expect(newerOf(written, undefined)).toBe(written);
    expect(newerOf(written, later)).toBe(later);
  });
});
