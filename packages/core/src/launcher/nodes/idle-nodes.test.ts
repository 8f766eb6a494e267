import { encodeNode, nodePath, withNode, type NodeRecord } from '@nodepool/zk-protocol';
import { afterEach, expect, it, vi } from 'vitest';
import { LauncherRooms } from '../../../test/support/launcher-rooms.js';
import { IdleNodes, type IdleJudge } from './idle-nodes.js';

let idle: IdleNodes | undefined;
afterEach(() => idle?.stop());

/** A keeper with these judges, and how to make and change nodes. */
async function setUp(...judges: IdleJudge[]) {
  const { world } = await LauncherRooms.open();
  const { clock, other, context } = world;
  const keeper = (idle = new IdleNodes(context));
  for (const judge of judges) keeper.add(judge);
  const node = (id: NodeRecord['id']) => context.mirror.nodes.get(id) ?? expect.fail('no node');
  return {
    ...{ world, node, keeper },
    create: (fields: Parameters<typeof world.createNode>[0] = {}) => world.createNode(fields),
    write: async (id: NodeRecord['id'], comment: string) => {
      const next = withNode(node(id), { comment }, clock.now());
      await clock.run(other.setData(nodePath(id), encodeNode(next)));
      await world.pass(200);
    },
  };
}

it('carries out the verdict that is due first, and of several at once the first', async () => {
  const dueMs = { value: Infinity };
  const { world, create, node } = await setUp(
    () => ({ act: 'too old', afterMs: dueMs.value - world.clock.now() }),
    ({ comment }) => (comment === 'now' ? { act: 'surplus' } : undefined),
    ({ comment }) => (comment === 'now' ? { act: 'drained' } : undefined),
  );
  dueMs.value = world.clock.now() + 60_000;
  const [old, now] = [await create(), await create({ comment: 'now' })];

  await world.pass(59_000);
  const before = [node(old), node(now)].map(({ state, comment }) => [state, comment]);
  await world.pass(2_000);

  expect(before).toEqual([
    ['ready', null],
    ['deleting', 'surplus'],
  ]);
  expect([node(old).state, node(old).comment]).toEqual(['deleting', 'too old']);
});

it('judges a node again that changed while it waited', async () => {
  const { world, create, node, write } = await setUp(({ comment }) =>
    comment === 'keep' ? undefined : { act: 'due', afterMs: 10_000 },
  );
  const id = await create();
  await world.pass(5_000);

  await write(id, 'keep');
  await world.pass(60_000);

  expect(node(id).state).toBe('ready');
});

it('judges only idle nodes', async () => {
  const { world, create, node } = await setUp(() => ({ act: 'due' }));
  const inUse = ['in-use', 'used', 'building', 'testing'] as const;
  const ids = [await create({ state: 'hold' })];
  for (const state of inUse) ids.push(await create({ state }));

  await world.pass(1_000);

  expect(ids.map((id) => node(id).state)).toEqual(['deleting', ...inUse]);
});

it('does other work on one node once at a time, again after a failure, and aborts it at its end', async () => {
  const seen: string[] = [];
  let fail = true;
  const work = (signal: AbortSignal) => {
    seen.push('begun');
    if (fail) return Promise.reject(new Error('it did not work'));
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve(seen.push('aborted')));
    });
  };
  const { world, create, write, keeper } = await setUp(() => ({ act: work }));
  const error = vi.spyOn(world.context.logger, 'error').mockReturnValue(undefined);
  const id = await create();
  await world.pass(500);
  const failed = [...seen];

  fail = false;
  await world.pass(5_000);
  await write(id, 'changed');
  keeper.reconsider();
  const once = [...seen];
  keeper.stop();

  expect([failed, once, seen]).toEqual([['begun'], ['begun', 'begun'], ['begun', 'begun', 'aborted']]);
  expect(error).toHaveBeenCalledOnce();
  error.mockRestore();
});
