import { decodeLine, encodeLine, UsageRecord, type PastLine } from '@nodepool/history';
import type { Driver } from '@nodepool/core';
import { Past } from '@nodepool/history/replay';
import { SimulatedLauncher } from '../actors/launcher.js';
import { ZuulClient, type JobPlan } from '../actors/zuul.js';
import { cloudDriver } from '../fleets/cloud-fleet.js';
import type { ConfigSpec } from '../fleets/config.js';
import { World } from '../world/world.js';
import { Region } from '../year/region.js';

const HOUR_MS = 3_600_000;
const LABELS = ['small', 'medium'];
/** Capacity of the cloud in instances, above the limit of any pool. */
const INSTANCES = 1_000;

/** Share of machines that fail during boot. */
const FAILING = 0.03;

/** Life of an instance. */
interface Life {
  readonly createdMs: number;
  endMs: number;
}

/** A run with its history. */
export interface RecordedDay {
  readonly past: Past;
  readonly usage: UsageRecord;
  /** Seconds that instances existed in the cloud between the two times, by its own record. */
  readonly instanceSeconds: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly driver: Driver;
  readonly violations: readonly string[];
  /** The configuration with this `max-servers`, optionally without a label. */
  spec(maxServers: number, drop?: string): ConfigSpec;
}

/** What else happens on the day. */
export interface DayEvents {
  /** Interval at which the launcher is killed; it restarts after ten seconds. Missing: never. */
  readonly killEveryMs?: number;
  /** Standby nodes of each label. */
  readonly minReady?: number;
}

const RESTART_MS = 10_000;

/** Simulates requests for a cloud with barely enough capacity, and returns the launcher's history. */
export async function recordDay(
  seed: number,
  hours: number,
  maxServers: number,
  { killEveryMs, minReady = 0 }: DayEvents = {},
): Promise<RecordedDay> {
  const world = new World(seed, false, Infinity);
  const region = new Region(world, 'north', { instances: INSTANCES });
  const driver = cloudDriver(new Map([[region.name, region]]));
  world.drivers.set(driver.name, driver);
  const [past, usage] = [new Past(), new UsageRecord()];
  const instances = livesIn(region, world);
  world.onHistory = (lines) => {
    for (const record of [past, usage]) addAsWritten(record, lines, world.clock.now());
  };
  const spec = (most: number, drop?: string) => specOf(region, { maxServers: most, minReady }, drop);
  const launcher = new SimulatedLauncher(world, 'launcher', spec(maxServers));
  world.launcherCount = 1;
  region.fake.set('failures.error-state', FAILING);
  const client = new ZuulClient(world, 'zuul');
  try {
    for (const actor of [launcher, client]) actor.start();
    await world.run(60_000);
    const { fromMs, toMs } = await work({ world, launcher, client, hours, killEveryMs });
    const violations = world.violations.map(({ message }) => message);
    const instanceSeconds = secondsOf(instances.values(), fromMs, toMs);
    return { past, usage, instanceSeconds, fromMs, toMs, driver, violations, spec };
  } finally {
    launcher.crash();
    client.crash();
    world.restore();
  }
}

interface Work extends Pick<DayEvents, 'killEveryMs'> {
  readonly world: World;
  readonly launcher: SimulatedLauncher;
  readonly client: ZuulClient;
  readonly hours: number;
}

/** Submits a job every 20 s, and waits until all have ended. @returns the time of the submissions */
async function work({ world, launcher, client, hours, killEveryMs }: Work): Promise<{ fromMs: number; toMs: number }> {
  const fromMs = world.clock.now();
  let isOver = false;
  world.repeat(20_000, () => {
    if (!isOver) client.submit(jobOf(world));
    return !isOver;
  });
  if (killEveryMs !== undefined)
    world.repeat(killEveryMs, () => {
      launcher.crash();
      world.clock.setTimer(RESTART_MS, () => launcher.start());
      return !isOver;
    });
  await world.run(hours * HOUR_MS);
  isOver = true;
  const toMs = world.clock.now();
  await world.run(6 * HOUR_MS, () => client.active === 0);
  await world.run(60_000);
  return { fromMs, toMs };
}

/** Follows the lives of all instances; those that exist have no end yet. */
function livesIn({ fake }: Region, { clock }: World): Map<string, Life> {
  const lives = new Map<string, Life>();
  fake.onChange(({ id, instance }) => {
    const life = lives.get(id);
    if (!life && instance) lives.set(id, { createdMs: instance.createdMs, endMs: Infinity });
    else if (life && !instance) life.endMs = clock.now();
  });
  return lives;
}

function secondsOf(lives: Iterable<Life>, fromMs: number, toMs: number): number {
  let totalMs = 0;
  for (const { createdMs, endMs } of lives) totalMs += Math.max(0, Math.min(endMs, toMs) - Math.max(createdMs, fromMs));
  return totalMs / 1000;
}

/** Adds the lines after a round trip through the file format. */
function addAsWritten(past: Past | UsageRecord, lines: readonly PastLine[], nowMs: number): void {
  for (const line of lines) {
    const read = decodeLine(encodeLine(line, nowMs), nowMs);
    if (read) past.add(read);
  }
}

function jobOf({ random }: World): JobPlan {
  return {
    ...{
      labels: [random.pick(LABELS)],
      priority: random.pick([100, 200, 200, 300]),
      relativePriority: random.int(0, 2),
    },
    ...{ provider: null, tenantName: null, useMs: random.exponential(240_000) },
    ...{ cancelAfterMs: random.chance(0.05) ? 120_000 : undefined, reviseAfterMs: undefined, holdMs: undefined },
  };
}

function specOf(
  region: Region,
  { maxServers, minReady }: { readonly maxServers: number; readonly minReady: number },
  drop?: string,
): ConfigSpec {
  const names = LABELS.filter((name) => name !== drop);
  const labels = names.map((name) => ({ ...{ name, 'cloud-image': 'image', 'flavor-name': 'small' } }));
  const provider = {
    ...{ name: region.name, driver: 'fake', cloud: region.name, 'cloud-settings': region.settings },
    ...{ 'launch-timeout': 600, 'boot-timeout': 60, 'launch-retries': 3 },
    ...{ 'cloud-images': [{ name: 'image' }], pools: [{ name: 'main', 'max-servers': maxServers, labels }] },
  };
  return {
    labels: names.map((name) => ({ name, minReady })),
    maxHoldAgeMs: 0,
    tenantLimits: new Map(),
    providers: [provider],
  };
}
