import { afterEach, beforeEach, expect, it } from 'vitest';
import { imagePath, requestPath, type RequestId } from '@nodepool/zk-protocol';
import { SimulatedProcess } from './process.js';
import { World } from './world.js';

const OTHER_DATABASE = 'A resource in use here carries the id of another database, whose launchers may delete it';

let world: World;

beforeEach(() => {
  world = new World(1, false);
});

afterEach(() => {
  world.restore();
});

async function run(act: Promise<unknown>): Promise<void> {
  let isDone = false;
  const done = act.finally(() => {
    isDone = true;
  });
  await world.run(10_000, () => isDone);
  expect(world.violations).toEqual([]); // a violation ends the run
  await done;
}

it('expects nothing of a lost session when another database is served', async () => {
  const { zk } = new SimulatedProcess(world, 'launcher1', world.server);
  const path = requestPath('900-0000000001' as RequestId);
  await run(zk.ensurePath('/nodepool/requests'));
  const body = JSON.stringify({ state: 'requested', node_types: ['small'], nodes: [], declined_by: [] });
  await run(zk.create(path, body, { ephemeral: true }));
  expect(world.checker.requests.size).toBe(1);

  world.replaceDatabase(world.server.copy(), true);

  expect(world.checker.requests.size).toBe(0);
});

it('expects records of a copy as of the transactions that wrote them', async () => {
  const { zk } = new SimulatedProcess(world, 'builder', world.server);
  await run(zk.ensurePath(imagePath('debian')));
  await run(zk.ensurePath(imagePath('fedora')));
  const before = new Map(world.stored.images);
  expect(before.size).toBe(2);

  world.replaceDatabase(world.server.copy(), true);

  expect(world.stored.images).toEqual(before);
});

it('lets a program go on after a broken connection, and after any failed call once another database is served', async () => {
  const { zk } = new SimulatedProcess(world, 'builder', world.server);
  const missing = await (async () => {
    let failure: unknown;
    await run(
      zk.getData('/missing').catch((error: unknown) => {
        failure = error;
      }),
    );
    return failure;
  })();
  expect(world.goesOnAfter(missing)).toBe(false);

  world.replaceDatabase(undefined, true);

  expect(world.goesOnAfter(missing)).toBe(true);
  expect(world.goesOnAfter(new Error('a defect'))).toBe(false);
});

it('allows launchers to tell of machines of another database after a loss only', () => {
  world.drawn = new Set(['lost-database']);
  world.errorLogged('launcher1', OTHER_DATABASE, undefined);
  expect(world.violations).toEqual([]);

  world.drawn = new Set(['restored-database']);
  world.errorLogged('launcher1', OTHER_DATABASE, undefined);
  expect(world.violations).toHaveLength(1);
});
