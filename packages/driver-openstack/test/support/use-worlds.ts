import { afterEach } from 'vitest';
import { World, type WorldOptions } from './world.js';

/**
 * For a file of tests: makes a world when a test asks for one, and ends it with the test.
 * @param take - gets each world as soon as it is made
 * @returns starts the provider of a new world; `before` may change the cloud
 */
export function useWorlds(take: (made: World) => void) {
  const open: World[] = [];
  afterEach(async () => {
    for (const world of open.splice(0)) await world.end();
  });
  return (options: WorldOptions = {}, before: (made: World) => void = () => undefined) => {
    const world = new World(options);
    open.push(world);
    take(world);
    before(world);
    return world.start();
  };
}

/** Adds a network that no server gets unless it is named. */
export const secondNetwork = (made: World) =>
  void made.cloud.state.networks.push({ id: 'net-2', name: 'storage', 'router:external': false, subnets: [] });
