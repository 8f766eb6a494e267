import { afterEach, expect, vi } from 'vitest';
import { World, type WorldOptions } from './world.js';

/** Starts the world of a test and stops it after the test. */
export function useWorld(): (options: WorldOptions) => Promise<World> {
  let world: World | undefined;
  afterEach(async () => {
    await world?.end();
    world = undefined;
  });
  return async (options) => (world = await World.start(options));
}

/** Waits until there are exactly so many builds of `debian`, all ready and uploaded. */
export function whenReady(
  world: World,
  count: number,
  wait: { readonly timeout: number; readonly interval: number },
): Promise<void> {
  const [builds, uploads] = [Array<string>(count).fill('ready'), Array<string>(count).fill('sky ready')];
  return vi.waitFor(() => expect(world.states('debian')).toEqual({ builds, uploads }), wait);
}
