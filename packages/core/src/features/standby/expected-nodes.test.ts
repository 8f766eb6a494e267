import { nodePath, encodeNode, withNode, type RequestId } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { ExpectedNodes } from './expected-nodes.js';

const ID = '900-0000000001' as RequestId;

async function setUp() {
  const world = await ServiceWorld.open();
  const expected = new ExpectedNodes(world.context);
  expected.requested('a', ID);
  const gone = () => world.clock.run(expected.requestGone('a', ID));
  return { world, expected, gone };
}

it('counts one node for each request, however often it is noted', async () => {
  const { expected } = await setUp();

  expected.requested('a', ID);
  expected.requested('a', '900-0000000002' as RequestId);

  expect([expected.count('a'), expected.count('b')]).toEqual([2, 0]);
});

it('counts none for a request that went without a node', async () => {
  const { expected, gone } = await setUp();

  await gone();

  expect(expected.count('a')).toBe(0);
});

it('counts the node of a request that went until it is free, even if it was just written', async () => {
  const { world, expected } = await setUp();
  const { other, clock, context } = world;
  const id = await world.createNode({ state: 'building', allocatedTo: null });
  const node = context.mirror.nodes.get(id);
  if (!node) throw new Error('the mirror does not show the node');
  const write = (changes: Parameters<typeof withNode>[1]) =>
    other.setData(nodePath(id), encodeNode(withNode(node, changes, clock.now())));

  const written = write({ allocatedTo: ID });
  const gone = expected.requestGone('a', ID); // the mirror has not read the node yet
  const before = expected.count('a');
  await clock.run(Promise.all([written, gone]));
  const coming = expected.count('a');
  await clock.run(write({ state: 'ready', allocatedTo: null }));
  await world.pass(100);

  expect([before, coming, expected.count('a')]).toEqual([1, 1, 0]);
});

it('does not wait for a connection that is away', async () => {
  const { world, expected } = await setUp();
  world.loseSession();

  const gone = expected.requestGone('a', ID);
  await world.pass(60_000);
  await gone;

  expect(expected.count('a')).toBe(0);
});
