import { SimulatedLauncher } from '../actors/launcher.js';
import { ZuulClient, type Answer, type JobPlan } from '../actors/zuul.js';
import { cloudDriver } from '../fleets/cloud-fleet.js';
import type { ConfigSpec } from '../fleets/config.js';
import { checkStandby } from '../world/standby-check.js';
import { Violation } from '../world/violation.js';
import { World } from '../world/world.js';
import type { Incident } from './incidents.js';
import { Region } from './region.js';

const MINUTE_MS = 60_000;
const LABEL = 'small';
const REGIONS = ['north', 'south', 'west'];
/** How far the clock of each launcher is ahead. */
const AHEAD_MS = [0, 60_000, -60_000];
/** Instances in each region. Two regions can serve the whole load. */
const INSTANCES = 42;
/** Mean time between requests and mean use of a machine. */
const LOAD = { everyMs: 5_000, useMs: 240_000 } as const;
const WARM_UP_MS = 5 * MINUTE_MS;
const AFTERWARDS_MS = 8 * MINUTE_MS;
/** Time limit to answer remaining requests; the slowest request has three attempts in each region. */
const LONGEST_END_MS = 6 * 60 * MINUTE_MS;
/** Window and share of new machines that define recovery after an incident. */
const WINDOW_MS = 2 * MINUTE_MS;
const FULL_SHARE = 0.6;

/** Result of one incident. */
export interface EpisodeResult {
  readonly violations: readonly string[];
  readonly answers: readonly Answer[];
  /** Machines ordered in the region from its first failed launch until the end of the incident. */
  readonly ordersAfterFirstFailure: number;
  /** From the end of the incident until the region gets its share of new machines again; `undefined` if it does not. */
  readonly recoveredMs: number | undefined;
}

/** Launchers that serve the regions. */
export interface Setup {
  /** One launcher has all regions. Default: one launcher for each region. */
  readonly oneLauncher?: boolean | undefined;
  /** Number of launchers that each have all regions. */
  readonly sharedBy?: number | undefined;
  /** Seconds until a launch times out. Default: 60. */
  readonly bootTimeoutS?: number | undefined;
  /** Standby nodes, over all regions. Default: none. */
  readonly minReady?: number | undefined;
}

/** One incident in one of three regions. */
export class Episode {
  readonly #world: World;
  readonly #regions = new Map<string, Region>();
  readonly #launchers: readonly SimulatedLauncher[];
  readonly #client: ZuulClient;
  readonly #answers: Answer[] = [];
  /** Time and region of each launched node. */
  readonly #launched: { readonly ms: number; readonly region: string }[] = [];
  readonly #struck: Region;
  #ordersAtFirstFailure: number | undefined;
  #isOn = false;

  constructor(
    seed: number,
    steering: boolean,
    { oneLauncher = false, sharedBy = 0, minReady = 0, bootTimeoutS }: Setup = {},
  ) {
    this.#world = new World(seed, false, Infinity);
    for (const name of REGIONS) this.#regions.set(name, new Region(this.#world, name, { instances: INSTANCES }));
    const driver = cloudDriver(this.#regions);
    this.#world.drivers.set(driver.name, driver);
    this.#struck = this.#world.random.pick([...this.#regions.values()]);
    const regions = [...this.#regions.values()];
    const policy = { steering, minReady, bootTimeoutS };
    const shares = sharedBy > 0 ? Array.from({ length: sharedBy }, () => regions) : regions.map((region) => [region]);
    this.#launchers = (oneLauncher ? [regions] : shares).map((own, i) => {
      const name = sharedBy > 0 ? `launcher-${i + 1}` : ['launcher', ...own.map((region) => region.name)].join('-');
      return new SimulatedLauncher(this.#world, name, specOf(own, policy), AHEAD_MS[i]);
    });
    // launchers that start simultaneously may not see each other yet
    checkStandby(this.#world, () => (this.#world.elapsedMs < WARM_UP_MS ? Infinity : minReady));
    this.#world.launcherCount = this.#launchers.length;
    this.#client = new ZuulClient(this.#world, 'zuul');
    this.#client.onAnswer = (answer) => this.#answers.push(answer);
    this.#world.checker.watch((before, { body, state }) => {
      const region = typeof body['provider'] === 'string' ? body['provider'] : '';
      if (!before) this.#launched.push({ ms: this.#world.elapsedMs, region });
      const hasFailed = state === 'failed' || state === 'aborted' || typeof body['launch_error'] === 'string';
      if (this.#isOn && hasFailed && region === this.#struck.name) this.#ordersAtFirstFailure ??= this.#struck.orders;
    });
  }

  async run(incident: Incident, minutes: number): Promise<EpisodeResult> {
    const world = this.#world;
    try {
      for (const actor of [...this.#launchers, this.#client]) actor.start();
      let isOver = false;
      world.repeat(LOAD.everyMs, () => {
        if (!isOver) this.#client.submit(this.#job());
        return !isOver;
      });
      await world.run(WARM_UP_MS);
      this.#isOn = true;
      incident.begin(this.#struck);
      await world.run(minutes * MINUTE_MS);
      incident.end(this.#struck);
      this.#isOn = false;
      const endedMs = world.elapsedMs;
      const orders = this.#struck.orders - (this.#ordersAtFirstFailure ?? this.#struck.orders);
      await world.run(AFTERWARDS_MS);
      const recoveredMs = this.#recovered(endedMs);
      isOver = true;
      await world.run(LONGEST_END_MS, () => this.#client.active === 0);
      if (this.#client.active > 0) world.violate(new Violation(`${this.#client.active} requests are not answered`));
      const violations = world.violations.map(({ message }) => message);
      return { violations, answers: this.#answers, ordersAfterFirstFailure: orders, recoveredMs };
    } finally {
      for (const launcher of this.#launchers) launcher.crash();
      this.#client.crash();
      world.restore();
    }
  }

  #job(): JobPlan {
    return {
      ...{ labels: [LABEL], priority: 200, relativePriority: 0, provider: null, tenantName: null },
      useMs: this.#world.random.exponential(LOAD.useMs),
      ...{ cancelAfterMs: undefined, reviseAfterMs: undefined, holdMs: undefined },
    };
  }

  /** Start of the first period in which the region got most of its share of new machines. */
  #recovered(endedMs: number): number | undefined {
    const after = this.#launched.filter(({ ms }) => ms >= endedMs);
    for (let from = endedMs; from + WINDOW_MS <= this.#world.elapsedMs; from += WINDOW_MS / 4) {
      const inWindow = after.filter(({ ms }) => ms >= from && ms < from + WINDOW_MS);
      const here = inWindow.filter(({ region }) => region === this.#struck.name).length;
      if (here >= (inWindow.length / REGIONS.length) * FULL_SHARE && here > 0) return from - endedMs;
    }
    return undefined;
  }
}

/** Configuration of the launchers. */
interface Policy {
  readonly steering: boolean;
  readonly minReady?: number;
  readonly maxConcurrency?: number;
  readonly bootTimeoutS?: number | undefined;
}

function specOf(regions: readonly Region[], policy: Policy): ConfigSpec {
  const { steering, minReady = 0, maxConcurrency = -1, bootTimeoutS = 60 } = policy;
  const pool = {
    name: 'main',
    'availability-zones': ['zone-1', 'zone-2'],
    labels: [{ name: LABEL, 'cloud-image': 'image', 'flavor-name': LABEL }],
  };
  const providers = regions.map(({ name, settings }) => ({
    ...{ name, driver: 'fake', cloud: name, 'cloud-settings': settings },
    ...{ 'launch-timeout': 600, 'boot-timeout': bootTimeoutS, 'launch-retries': 3, 'max-concurrency': maxConcurrency },
    ...{ 'cloud-images': [{ name: 'image' }], pools: [pool] },
  }));
  return { labels: [{ name: LABEL, minReady }], maxHoldAgeMs: 0, tenantLimits: new Map(), steering, providers };
}

/** Result of a burst of requests for one region. */
export interface HerdResult {
  readonly violations: readonly string[];
  readonly answers: readonly Answer[];
  /** From the first request until the last is answered. */
  readonly tookMs: number;
  readonly mostBooting: number;
}

/**
 * Runs a burst of requests for one region that slows down under load.
 * @param limit - concurrent launches; a number is a fixed limit without steering
 */
export async function runHerd(seed: number, requests: number, limit: 'ramp' | number): Promise<HerdResult> {
  const world = new World(seed, false, Infinity);
  const region = new Region(world, 'north', { instances: 1_000 });
  const driver = cloudDriver(new Map([[region.name, region]]));
  world.drivers.set(driver.name, driver);
  const spec = specOf([region], limit === 'ramp' ? { steering: true } : { steering: false, maxConcurrency: limit });
  const launcher = new SimulatedLauncher(world, 'launcher', spec);
  world.launcherCount = 1;
  const client = new ZuulClient(world, 'zuul');
  const answers: Answer[] = [];
  client.onAnswer = (answer) => answers.push(answer);
  const job: JobPlan = {
    ...{ labels: [LABEL], priority: 200, relativePriority: 0, provider: null, tenantName: null, useMs: 60_000 },
    ...{ cancelAfterMs: undefined, reviseAfterMs: undefined, holdMs: undefined },
  };
  try {
    for (const actor of [launcher, client]) actor.start();
    await world.run(5_000);
    for (let i = 0; i < 20; i++) {
      client.submit(job); // normal load first, so that launchers know the usual launch time
      await world.run(30_000);
    }
    await world.run(5 * MINUTE_MS, () => client.active === 0);
    answers.length = 0;
    const beganMs = world.elapsedMs;
    for (let i = 0; i < requests; i++) client.submit(job);
    await world.run(LONGEST_END_MS, () => answers.length === requests);
    if (answers.length < requests)
      world.violate(new Violation(`${requests - answers.length} requests are not answered`));
    const violations = world.violations.map(({ message }) => message);
    return { violations, answers, tookMs: world.elapsedMs - beganMs, mostBooting: region.mostBooting };
  } finally {
    launcher.crash();
    client.crash();
    world.restore();
  }
}
