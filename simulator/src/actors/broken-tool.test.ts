import { encodeNode, newNode } from '@nodepool/zk-protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SimulatedProcess } from '../world/process.js';
import { World } from '../world/world.js';
import { BrokenTool } from './broken-tool.js';

/** Longer than a record stays spoiled. */
const REPAIRED_MS = 30_000;

let world: World;
let process: SimulatedProcess;
let tool: BrokenTool;
let path: string;

beforeEach(async () => {
  world = new World(1, false);
  process = new SimulatedProcess(world, 'launcher1', world.server);
  tool = new BrokenTool(world);
  const body = encodeNode(newNode({ state: 'ready', labels: ['small'] }, world.clock.now()));
  const made = process.zk
    .ensurePath('/nodepool/nodes')
    .then(() => process.zk.create('/nodepool/nodes/', body, { sequential: true }));
  await world.run(1_000);
  path = await made;
});

afterEach(() => world.restore());

/** The body of the record after this time. */
async function bodyAfter(ms: number): Promise<string> {
  await world.run(ms);
  const read = process.zk.getData(path);
  await world.run(1_000);
  return (await read).data.toString();
}

/** Spoils the record: the kind of the record is drawn, and there is only a node. */
async function spoil(): Promise<void> {
  for (let i = 0; i < 10; i++) tool.spoil();
  await world.run(100);
}

it('spoils a record and repairs it later', async () => {
  const before = await bodyAfter(0);
  world.drawn = new Set(['unreadable', 'processes']);

  await spoil();

  expect(await bodyAfter(0)).not.toBe(before);
  expect(await bodyAfter(REPAIRED_MS)).toBe(before);
  expect(world.violations).toEqual([]);
});

it('finds that no launcher reports it', async () => {
  world.drawn = new Set(['unreadable']);

  for (let i = 0; i < 5 && world.violations.length === 0; i++) {
    await spoil(); // some records are repaired too soon
    await world.run(REPAIRED_MS);
  }

  expect(world.violations.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^no launcher has logged that it cannot read record \d{10}$/),
  ]);
});
