import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StaticFleet } from '../fleets/static-fleet.js';
import { World } from '../world/world.js';
import { SimulatedLauncher } from './launcher.js';
import { Lessee, type LeasePlan } from './lessee.js';

const plan: LeasePlan = {
  ...{ labels: ['small'], priority: 200, ttlMs: 60_000, giveUpMs: null, isRepeated: false },
  ...{ returnAfterMs: 5_000, renewAfterMs: undefined },
};

let world: World;
let lessee: Lessee;

beforeEach(async () => {
  world = new World(1, false);
  const fleet = new StaticFleet('rack1', ['small'], world.random.fork());
  world.drivers.set(fleet.driver.name, fleet.driver);
  const spec = { labels: [{ name: 'small' }], maxHoldAgeMs: 0, tenantLimits: new Map(), providers: [fleet.entry()] };
  const launchers = ['launcher1', 'launcher2'].map((name) => new SimulatedLauncher(world, name, spec));
  world.launcherCount = launchers.length;
  lessee = new Lessee(world, 'lessee1', launchers, 2);
  for (const actor of [...launchers, lessee]) actor.start();
  await world.run(15_000);
});
afterEach(() => world.restore());

const states = () => [...world.leases.leases.values()].map(({ state }) => state);

describe('a lessee', () => {
  it('gets nodes and returns them, although calls and answers are lost', async () => {
    for (let i = 0; i < 10; i++) {
      lessee.submit({ ...plan, isRepeated: true, renewAfterMs: 1_000 });
      await world.run(120_000, () => lessee.active === 0);
    }

    expect(world.violations).toEqual([]);
    expect([lessee.active, world.leases.served]).toEqual([0, 10]);
    expect(states()).toEqual(Array<string>(10).fill('ended'));
  });

  it('may not have more nodes than its token says', async () => {
    lessee.submit({ ...plan, labels: ['small', 'small', 'small'] });
    await world.run(120_000, () => lessee.active === 0);

    expect([lessee.active, world.leases.served, world.violations.length]).toEqual([0, 0, 0]);
  });

  it('that dies leaves its lease to expire', async () => {
    lessee.submit(plan);
    await world.run(3_000);
    lessee.die();
    await world.run(30_000);
    expect(states()).toEqual(['active']);

    await world.run(40_000);

    expect([...states(), ...world.leases.overdue(), ...world.leases.leftovers()]).toEqual(['ended']);
  });
});
