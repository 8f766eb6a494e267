import { NODE_CREATE_PATH } from '@nodepool/zk-protocol';
import { silentLogger } from '@nodepool/core';
import { expect, it } from 'vitest';
import { useWorld } from '../../test/world.js';
import { fetchComponents, fetchNodeRows, fetchRequests, inBatches, mapPipelined } from './fetch-records.js';

const get = useWorld();

/** A source whose warnings are collected. */
function source() {
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
  return { ...get().context(), zk: get().zk, logger, warnings };
}

it('leaves out records that cannot be read, with a warning for each', async () => {
  await get().zk.create(NODE_CREATE_PATH, '', { sequential: true });
  await get().zk.create(NODE_CREATE_PATH, 'not JSON', { sequential: true });
  const id = await get().createNode();
  const from = source();

  const rows = await fetchNodeRows(from);

  expect(rows.map(({ node }) => node.id)).toEqual([id]);
  expect(from.warnings).toEqual(['Cannot read a record']);
});

it('marks locked nodes and sorts requests by id', async () => {
  const [free, used] = [await get().createNode(), await get().createNode()];
  await get().lock(used);
  const ids = [await get().createRequest(['b']), await get().createRequest(['a'])];

  expect((await fetchNodeRows(source())).map(({ node, locked }) => [node.id, locked]).sort()).toEqual([
    [free, false],
    [used, true],
  ]);
  expect((await fetchRequests(source())).map(({ id }) => id)).toEqual(ids);
});

it('finds nothing where there are no directories', async () => {
  await get().deleteRecords();

  expect([
    await fetchNodeRows(source()),
    await fetchRequests(source()),
    await fetchComponents(source(), 'pool'),
  ]).toEqual([[], [], []]);
  await get().createRoots();
});

it('maps many items in their order', async () => {
  const items = Array.from({ length: 1_201 }, (_, index) => index);

  expect(await mapPipelined(items, (item) => Promise.resolve(item * 2))).toEqual(items.map((item) => item * 2));
});

it('waits for the whole batch when one item fails, and does not begin the next batch', async () => {
  const done: number[] = [];
  const work = async (item: number): Promise<void> => {
    await Promise.resolve();
    if (item === 3) throw new Error('three fails');
    done.push(item);
  };

  await expect(
    inBatches(
      Array.from({ length: 120 }, (_, index) => index),
      work,
    ),
  ).rejects.toThrow('three fails');

  expect(done).toHaveLength(49);
  expect(Math.max(...done)).toBe(49);
});
