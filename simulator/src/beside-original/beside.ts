import { SimulatedLauncher } from '../actors/launcher.js';
import { OriginalLauncher } from '../actors/original-launcher.js';
import { ZuulClient } from '../actors/zuul.js';
import { cloudDriver } from '../fleets/cloud-fleet.js';
import type { ConfigSpec } from '../fleets/config.js';
import { World } from '../world/world.js';
import { Region } from '../year/region.js';

const LABEL = 'small';
const MINUTE_MS = 60_000;
/** Mean time between requests and mean use of a machine. */
const LOAD = { everyMs: 60_000, useMs: 120_000 } as const;
/** Without load, until jobs have ended, and what is surplus is gone. */
const CALM_MS = 20 * MINUTE_MS;
/** The forecast of a launcher comes so often. */
const FORECAST_MS = 30_000;

/** One launcher of each kind in one region. */
export interface BesideSetup {
  readonly minReady: number;
  readonly maxServers: number;
  readonly keep?: 'stopped';
  /** The number of standby nodes of our launcher; `undefined`: its `min-ready`. */
  readonly forecast?: number;
  /** `min-ready` of the original; `undefined`: there is none. */
  readonly original?: number;
  /** Whether the original has registered before ours. */
  readonly originalFirst?: boolean;
  /** Settings of a second launcher of ours. */
  readonly second?: Pick<BesideSetup, 'minReady' | 'keep'>;
}

/** What an hour has brought. */
export interface BesideResult {
  readonly violations: readonly string[];
  /** The most stopped nodes, and nodes of any state, at the same time. */
  readonly mostStopped: number;
  readonly mostNodes: number;
  /** At the end, when no job runs. */
  readonly stopped: number;
  readonly ready: number;
  readonly launches: number;
  readonly jobs: { readonly fulfilled: number; readonly failed: number };
  /** Conditions of our launcher at the end. */
  readonly conditions: readonly string[];
}

/**
 * Runs both kinds of launchers beside each other, with a light load.
 * In one piece: each part needs the world, and its end.
 */
export async function runBeside(seed: number, setup: BesideSetup, minutes: number): Promise<BesideResult> {
  const world = new World(seed, false, Infinity);
  const region = new Region(world, 'north', { instances: 40 });
  const driver = cloudDriver(new Map([[region.name, region]]));
  world.drivers.set(driver.name, driver);
  const zuul = new ZuulClient(world, 'zuul');
  const settings = setup.second ? [setup, { ...setup, ...setup.second }] : [setup];
  const ours = settings.map((each, i) => new SimulatedLauncher(world, `ours${i + 1}`, specOf(region, each)));
  const { original: minReady } = setup;
  const pool = { provider: region.name, pool: 'main', minReady: { [LABEL]: minReady ?? 0 } };
  const original = minReady === undefined ? undefined : new OriginalLauncher(world, 'original', pool);
  const tally = { mostStopped: 0, mostNodes: 0, launches: 0 };
  const count = (state: string) => [...world.checker.nodes.values()].filter((node) => node.state === state).length;
  world.checker.watch((before) => {
    if (!before) tally.launches++;
    tally.mostStopped = Math.max(tally.mostStopped, count('testing'));
    tally.mostNodes = Math.max(tally.mostNodes, world.checker.nodes.size);
  });
  try {
    world.launcherCount = ours.length;
    if (setup.originalFirst) {
      void original?.start();
      await world.run(MINUTE_MS / 4);
    }
    for (const launcher of ours) {
      launcher.start();
      await world.run(MINUTE_MS / 4);
    }
    if (!setup.originalFirst) void original?.start();
    zuul.start();
    keepForecast(world, ours, setup.forecast);
    const load = { isOver: false };
    submitJobs(world, zuul, load);
    await world.run(minutes * MINUTE_MS);
    load.isOver = true;
    await world.run(CALM_MS);
    return {
      violations: world.violations.map(({ message }) => message),
      ...tally,
      ...{ stopped: count('testing'), ready: count('ready') },
      jobs: { fulfilled: zuul.fulfilled, failed: zuul.failed },
      conditions: ours.flatMap(({ running }) => running?.conditions.find() ?? []).map(({ type }) => type),
    };
  } finally {
    for (const launcher of ours) launcher.crash();
    original?.kill();
    zuul.crash();
    world.restore();
  }
}

function keepForecast(world: World, launchers: readonly SimulatedLauncher[], nodes: number | undefined): void {
  if (nodes === undefined) return;
  const level = { nodes, reason: 'as simulated', isFallback: false };
  for (const { standby } of launchers) standby.keep(new Map([[LABEL, level]]));
  world.clock.setTimer(FORECAST_MS, () => keepForecast(world, launchers, nodes));
}

function submitJobs(world: World, zuul: ZuulClient, load: { readonly isOver: boolean }): void {
  world.repeat(LOAD.everyMs, () => {
    if (load.isOver) return false;
    zuul.submit({
      ...{ labels: [LABEL], priority: 200, relativePriority: 0, provider: null, tenantName: null },
      useMs: world.random.exponential(LOAD.useMs),
      ...{ cancelAfterMs: undefined, reviseAfterMs: undefined, holdMs: undefined },
    });
    return true;
  });
}

function specOf(region: Region, { minReady, maxServers, keep, forecast }: BesideSetup): ConfigSpec {
  const standby = forecast === undefined ? {} : { standby: { atMost: 10 } };
  return {
    labels: [{ name: LABEL, minReady, ...standby, ...(keep && { keep }) }],
    ...{ maxHoldAgeMs: 0, tenantLimits: new Map() },
    providers: [
      {
        ...{ name: region.name, driver: 'fake', cloud: region.name, 'cloud-settings': region.settings },
        'cloud-images': [{ name: 'image' }],
        pools: [
          {
            ...{ name: 'main', 'max-servers': maxServers },
            labels: [{ name: LABEL, 'cloud-image': 'image', 'flavor-name': LABEL }],
          },
        ],
      },
    ],
  };
}
