import { ConfigError } from '@nodepool/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ConfigSpec } from '../fleets/config.js';
import { StaticFleet } from '../fleets/static-fleet.js';
import { SimulatedProcess } from '../world/process.js';
import { World } from '../world/world.js';
import { SimulatedLauncher } from './launcher.js';
import { LauncherConfig } from './launcher-config.js';

let world: World;
let spec: ConfigSpec;
let wider: ConfigSpec;

beforeEach(() => {
  world = new World(1, false);
  world.drawn = new Set(['broken-files']);
  world.launcherCount = 1;
  const fleets = ['rack1', 'rack2'].map((name) => new StaticFleet(name, ['small'], world.random.fork()));
  for (const { driver } of fleets) world.drivers.set(driver.name, driver);
  const [entry = {}, other = {}] = fleets.map((fleet) => fleet.entry());
  spec = { labels: [{ name: 'small' }], maxHoldAgeMs: 0, tenantLimits: new Map(), providers: [entry] };
  wider = { ...spec, providers: [entry, other] };
});
afterEach(() => world.restore());

const texts = () => world.violations.map(({ message }) => message);

it('a launcher serves the same with a broken file, and takes the right one', async () => {
  const launcher = new SimulatedLauncher(world, 'launcher1', spec);
  launcher.start();
  await world.run(10_000);
  const served = () => [...new Set(launcher.running?.poolStatus.map(({ provider }) => provider))];

  for (let i = 0; i < 30; i++) {
    launcher.breakFile(spec);
    await world.run(2_000);
    expect(served()).toEqual(['rack1']);
  }
  expect(launcher.configProblems).not.toEqual([]);
  launcher.reconfigure(wider);
  await world.run(2_000);

  expect([served(), launcher.configProblems, texts()]).toEqual([['rack1', 'rack2'], [], []]);
});

it('a launcher with a broken file starts once the right one is there', async () => {
  const launcher = new SimulatedLauncher(world, 'launcher1', spec);
  launcher.breakFile({ ...spec, providers: [] });
  launcher.start();
  await world.run(20_000);
  expect(launcher.running).toBeUndefined();

  launcher.reconfigure(spec);
  await world.run(20_000);

  expect([launcher.running?.notReady, launcher.configProblems, texts()]).toEqual([[], [], []]);
});

describe('the checks', () => {
  it('find a broken file that is put in force', async () => {
    const config = new LauncherConfig(world, 'launcher1', spec);
    const process = new SimulatedProcess(world, 'launcher1', world.server);
    config.writeBroken({ ...spec, providers: [] });
    const isRefused = expect(config.load(process)).rejects.toThrow(ConfigError);
    await world.run(5_000);
    await isRefused;

    config.apply();

    expect(texts()).toEqual([expect.stringContaining('launcher1 takes a broken file')]);
  });
});
