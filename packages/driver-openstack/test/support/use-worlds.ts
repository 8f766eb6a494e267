import { afterEach } from 'vitest';
import { ProviderWorld, type WorldOptions } from './provider-world.js';

/**
 * For a file of tests: makes a world when a test asks for one, and ends it with the test.
 * @param take - gets each world as soon as it is made
 * @returns starts the provider of a new world; `before` may change the cloud
 */
export function useWorlds(take: (made: ProviderWorld) => void) {
  const open: ProviderWorld[] = [];
  afterEach(async () => {
    for (const world of open.splice(0)) await world.end();
  });
  return (options: WorldOptions = {}, before: (made: ProviderWorld) => void = () => undefined) => {
    const world = new ProviderWorld(options);
    open.push(world);
    take(world);
    before(world);
    return world.start();
  };
}

/** Adds a network that no server gets unless it is named. */
export const secondNetwork = (made: ProviderWorld) =>
  void made.cloud.state.networks.push({ id: 'net-2', name: 'storage', 'router:external': false, subnets: [] });
