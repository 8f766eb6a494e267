import { Random } from '@nodepool/core/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StaticFleet } from '../fleets/static-fleet.js';
import { World } from '../world/world.js';
import { Orders } from './orders.js';

const ORDER = / (create|delete) controls\/(?:provider|pool|label)\/\S+/;

let world: World;

beforeEach(() => {
  world = new World(1, true);
});

afterEach(() => world.restore());

describe('operator orders', () => {
  it('are removed when withdrawn while their write is in progress', async () => {
    const orders = new Orders(world, [], [new StaticFleet('rack1', ['small'], new Random(1))], ['small']);

    orders.giveAny();
    orders.end();
    await world.run(60_000);

    expect(world.violations).toEqual([]);
    expect(world.trace.lines.map((line) => ORDER.exec(line)?.[1]).filter(Boolean)).toEqual(['create', 'delete']);
  });
});
