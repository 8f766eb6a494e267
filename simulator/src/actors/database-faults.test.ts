import { encodeNode, newNode, NODE_CREATE_PATH } from '@nodepool/zk-protocol';
import { afterEach, expect, it } from 'vitest';
import { SimulatedProcess } from '../world/process.js';
import { NEWER_RELEASE, World } from '../world/world.js';
import { copyOf } from './database-faults.js';
import { CONTENTS } from './newer-release.js';

const world = new World(1, false);

afterEach(() => world.restore());

it('copies records as they were before they were spoiled, and none of a newer release', async () => {
  const { zk } = new SimulatedProcess(world, NEWER_RELEASE, world.server);
  const before = encodeNode(newNode({ state: 'ready', labels: ['small'] }, world.clock.now())).toString();
  const kept = { sequential: true };
  const write = async () => {
    await zk.ensurePath('/nodepool/nodes');
    const spoiled = await zk.create(NODE_CREATE_PATH, '{"sta', kept);
    const written = await zk.create(NODE_CREATE_PATH, before, kept);
    for (const content of CONTENTS) await zk.create(NODE_CREATE_PATH, content, kept);
    return [spoiled, written];
  };
  const paths = write();
  await world.run(1_000);
  const [spoiled = '', written = ''] = await paths;
  world.spoiled.set(spoiled, { before: Buffer.from(before), after: '{"sta' });
  world.spoiled.set(written, { before: Buffer.from('older'), after: '{"sta' });

  const copied = copyOf(world).znodes.filter(([path]) => path.startsWith('/nodepool/nodes/'));

  expect(copied.map(([path, { data }]) => [path, data?.toString()])).toEqual([
    [spoiled, before],
    [written, before],
  ]);
});
