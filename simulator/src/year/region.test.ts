import type { CloudClient } from '@nodepool/driver-fake';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { World } from '../world/world.js';
import { BOOT_S, Region } from './region.js';

let world: World;
let region: Region;
let client: CloudClient;

beforeEach(() => {
  world = new World(1, false);
  region = new Region(world, 'region-1', { instances: 500 });
  client = region.connect(world.clock);
});

afterEach(() => world.restore());

/** Orders instances. @returns the results, once the orders have arrived */
async function order(count: number, az: string | null = null): Promise<string[]> {
  const answers: string[] = [];
  for (let i = 0; i < count; i++) {
    const instance = { name: `node-${i}`, image: 'image', flavor: 'small', minRam: undefined, az, metadata: {} };
    client.call('create', instance).then(
      () => answers.push('ordered'),
      (error: Error) => answers.push(error.message),
    );
  }
  await world.run(2_000);
  return answers;
}

/** Lets time pass. @returns the number of active instances */
async function activeAfter(seconds: number): Promise<number> {
  await world.run(seconds * 1_000);
  return [...region.fake.list()].filter(({ status }) => status === 'active').length;
}

describe('a region', () => {
  it('boots a few machines in the usual time', async () => {
    await order(10);

    expect(await activeAfter(BOOT_S.to)).toBe(10);
    expect(region.orders).toBe(10);
    expect(region.mostBooting).toBe(10);
  });

  it('boots machines slower when many are ordered at once', async () => {
    await order(200);

    expect(region.mostBooting).toBe(200);
    expect(await activeAfter(BOOT_S.to)).toBeLessThan(100);
  });

  it('boots machines slower during an incident', async () => {
    region.slowDown(3);
    await order(1);

    expect(await activeAfter(BOOT_S.to)).toBe(0);
    expect(await activeAfter(2 * BOOT_S.to)).toBe(1);
  });

  it('refuses orders for a zone without capacity only', async () => {
    region.emptyZone = 'zone-1';

    expect(await order(1, 'zone-1')).toEqual(['no valid host was found: no capacity left in zone-1']);
    expect(await order(1, 'zone-2')).toEqual(['ordered']);
  });
});
