import { createControlCache, newControl, storeControl, type NodeFields } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { LauncherRooms } from '../../../test/support/launcher-rooms.js';
import { IdleNodes } from '../../launcher/nodes/idle-nodes.js';
import { ControlMirror } from '../../launcher/state/controls.js';
import { drains } from './index.js';

/** A launcher of provider `p`, and an operator. */
async function setUp() {
  const rooms = await LauncherRooms.open();
  const { world } = rooms;
  const { clock, other, context } = world;
  const { zk, logger } = context;
  const cache = createControlCache({ zk, clock, logger });
  await clock.run(cache.start());
  const own = { ...context, controls: new ControlMirror(cache, context) };
  const drained = new IdleNodes(own);
  drains(rooms.engine({ context: own, idle: drained }));
  return {
    stop: () => drained.stop(),
    drain: async (name: string) => {
      const fields = { kind: 'label', name, mode: 'drain', owner: 'alice', reason: '', endTimeMs: null } as const;
      await clock.run(storeControl(other, newControl(fields, clock.now())));
      await world.pass(200);
    },
    /** @returns how its state is read */
    create: async (fields: NodeFields) => {
      const id = await world.createNode(fields);
      await world.pass(200);
      return () => context.mirror.nodes.get(id)?.state;
    },
  };
}

it('deletes existing and future free nodes of drained providers, pools and labels', async () => {
  const { drain, create } = await setUp();
  const before = await create({ labels: ['a'] });
  const another = await create({ labels: ['b'] });
  const inUse = await create({ labels: ['a'], state: 'in-use' });

  await drain('a');
  const after = await create({ labels: ['a'] });

  expect([before(), another(), inUse(), after()]).toEqual(['deleting', 'ready', 'in-use', 'deleting']);
});

it('leaves nodes of providers that other launchers have', async () => {
  const { drain, create } = await setUp();
  const elsewhere = await create({ labels: ['a'], provider: 'elsewhere' });

  await drain('a');

  expect(elsewhere()).toBe('ready');
});

it('leaves all nodes once it has stopped', async () => {
  const { drain, create, stop } = await setUp();
  const node = await create({ labels: ['a'] });

  stop();
  await drain('a');

  expect(node()).toBe('ready');
});
