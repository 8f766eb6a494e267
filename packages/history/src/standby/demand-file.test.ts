import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { appendDemand, readDemand, type SlotRecord } from './demand-file.js';

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-demand-'));
  path = join(directory, 'state', 'demand.jsonl');
});
afterEach(() => rm(directory, { recursive: true }));

const record = (slot: number): SlotRecord => ({
  ...{
    slot,
    isPartial: false,
    needs: { small: [2, 1] },
    unscheduled: { small: [1] },
    bootsMs: { small: [90_000] },
    kept: { small: 3 },
    served: { small: [2, 3] },
  },
});

it('reads the slots that were appended', async () => {
  for (const slot of [7, 8]) await appendDemand(path, record(slot));

  expect(await readDemand(path, 10)).toEqual({ slots: [record(7), record(8)], damagedLines: 0 });
});

it('reads what older releases wrote', async () => {
  await appendDemand(path, record(7));
  await writeFile(path, '{"slot":7,"needs":{},"boots":{}}\n');

  expect(await readDemand(path, 10)).toMatchObject({
    ...{ slots: [{ slot: 7, unscheduled: {}, kept: {}, served: {} }], damagedLines: 0 },
  });
});

it('has the last record of a slot that was not counted as a whole', async () => {
  const partial = (count: number) => ({ ...record(7), isPartial: true, needs: { small: [count] } });
  await appendDemand(path, partial(1));
  await appendDemand(path, partial(2));
  const first = await readDemand(path, 10);
  await appendDemand(path, record(7));
  await appendDemand(path, partial(3)); // of a clock that went back

  expect(first.slots).toEqual([partial(2)]);
  expect((await readDemand(path, 10)).slots).toEqual([record(7)]);
});

it('has slots in the order in which they were counted last, as a clock goes back', async () => {
  for (const slot of [7, 8, 9, 7]) await appendDemand(path, record(slot));

  expect((await readDemand(path, 10)).slots.map(({ slot }) => slot)).toEqual([8, 9, 7]);
  expect((await readDemand(path, 10)).slots.map(({ slot }) => slot)).toEqual([8, 9, 7]);
});

it('is empty without a file', async () => {
  expect(await readDemand(path, 10)).toEqual({ slots: [], damagedLines: 0 });
});

it('removes repeated slots and damaged lines', async () => {
  for (const slot of [9, 8, 8]) await appendDemand(path, record(slot));
  const bad = [
    '{"slot":7',
    '[]',
    '7',
    '{"slot":7}',
    '{"slot":7.5,"needs":{},"boots":{}}',
    '{"slot":7,"needs":{"a":[-1]},"boots":{}}',
    '{"slot":7,"needs":{},"boots":{},"kept":{"a":"3"}}',
    '{"slot":7,"needs":{},"boots":{},"served":{"a":3}}',
    '{"slot":7,"needs":{},"boots":{},"unscheduled":{"a":3}}',
  ];
  await writeFile(path, `${await readFile(path, 'utf8')}${bad.join('\n')}\n`);

  expect(await readDemand(path, 10)).toEqual({ slots: [record(9), record(8)], damagedLines: bad.length });
  expect(await readDemand(path, 10)).toEqual({ slots: [record(9), record(8)], damagedLines: 0 });
});

it('keeps so many slots, the ones that were written last', async () => {
  for (const slot of [1, 2, 3, 4]) await appendDemand(path, record(slot));

  expect(await readDemand(path, 10)).toMatchObject({ slots: [1, 2, 3, 4].map(record) });
  expect(await readDemand(path, 3)).toMatchObject({ slots: [2, 3, 4].map(record) });
  expect((await readFile(path, 'utf8')).split('\n')).toHaveLength(4);
});

it('says why a file cannot be read', async () => {
  await expect(readDemand(directory, 10)).rejects.toThrow('EISDIR');
});
