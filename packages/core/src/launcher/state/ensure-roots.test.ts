import { COMPONENTS_ROOT, LEGACY_LAUNCHERS_ROOT } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { readDatabase } from './ensure-roots.js';

it('directories are made although the connection breaks meanwhile', async () => {
  const world = await ServiceWorld.open();
  let isDone = false;

  const made = readDatabase(world.context, [{ directories: ['/nodepool/of-a-part'] }]).then(() => (isDone = true));
  world.link.break();
  const broken = isDone;
  for (let i = 0; i < 100 && !isDone; i++) await world.clock.advance(100);
  await made;

  expect(broken).toBe(false);
  const paths = [COMPONENTS_ROOT, LEGACY_LAUNCHERS_ROOT, '/nodepool/of-a-part'];
  const [found] = await Promise.all([
    Promise.all(paths.map((path) => world.zk.exists(path))),
    world.clock.advance(100),
  ]);
  expect(found).not.toContain(undefined);
});
