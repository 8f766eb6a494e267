import { driver as staticDriver } from '@nodepool/driver-static';
import type { Driver } from '@nodepool/core';
import type { Resources } from '@nodepool/zk-protocol';
import { BrokenTool } from './actors/broken-tool.js';
import { Chaos } from './actors/chaos.js';
import { SimulatedCloud } from './cloud/cloud.js';
import { cloudDriver, CloudFleet } from './fleets/cloud-fleet.js';
import type { ConfigSpec } from './fleets/config.js';
import { FAULT_ACTS } from './actors/fault-acts.js';
import type { Scene } from './actors/scene.js';
import { Forecasts } from './actors/forecasts.js';
import type { Fleet } from './fleets/fleet.js';
import { ImageWriter } from './actors/image-writer.js';
import { GivenUp } from './actors/given-up.js';
import { SimulatedLauncher } from './actors/launcher.js';
import { LauncherFaults } from './actors/launcher-faults.js';
import { Lessee } from './actors/lessee.js';
import { checkTenantLimit } from './world/limit-checks.js';
import { MetastaticFleet } from './fleets/metastatic-fleet.js';
import { NewerRelease } from './actors/newer-release.js';
import { Operator } from './actors/operator.js';
import { Orders } from './actors/orders.js';
import type { Random } from '@nodepool/core/testing';
import { StaticFleet } from './fleets/static-fleet.js';
import type { World } from './world/world.js';
import { jobPlan, leasePlan } from './actors/plans.js';
import { ZuulClient } from './actors/zuul.js';

const SIZES = ['small', 'medium', 'large'];
const SLOT = 'slot';
const TENANTS = ['one', 'two'];
/** How wrong the clock of a launcher may be. */
const MOST_AHEAD_MS = 60_000;
/** Faults that mean little without leases. */
export const OF_LEASES = ['clock-steps', 'due-at-once', 'cut-off', 'leader-clocks'] as const;
/** Faults with which launchers know the time no better than to some seconds. */
const OF_TIME = ['wrong-clocks', 'clock-steps', 'leader-clocks'] as const;

/** Participants of one run and their actions, all derived from the seed. */
export class Scenario {
  readonly fleets: Fleet[] = [];
  readonly launchers: SimulatedLauncher[] = [];
  readonly clients: ZuulClient[] = [];
  readonly lessees: Lessee[] = [];
  readonly operator: Operator;
  readonly orders: Orders;
  readonly forecasts: Forecasts;
  readonly chaos: Chaos;
  readonly faults: LauncherFaults | undefined;
  readonly images: ImageWriter;
  readonly newer: NewerRelease | undefined;
  readonly tool: BrokenTool | undefined;
  /** `0`: held nodes stay until they are deleted by hand. */
  readonly maxHoldAgeMs: number;
  readonly #world: World;
  readonly #random: Random;
  readonly #clouds = new Map<string, SimulatedCloud>();
  readonly #cloudDriver: Driver = cloudDriver(this.#clouds);
  readonly #labels = new Map<string, ConfigSpec['labels'][number]>();
  readonly #tenantLimits = new Map<string, Resources>();
  /** Providers currently missing from the configuration. */
  readonly #absent = new Set<Fleet>();
  #isOver = false;

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random.fork();
    const random = this.#random;
    for (const driver of [this.#cloudDriver, staticDriver]) world.drivers.set(driver.name, driver);
    this.maxHoldAgeMs = world.without === 'age-limits' ? 0 : random.pick([0, 20_000]);
    for (const tenant of TENANTS) if (random.chance(0.4)) this.#limitTenant(tenant, random.int(3, 4));
    this.#addFleets();
    this.forecasts = new Forecasts(world, this.launchers, SIZES);
    for (const name of SIZES) this.#setLabel(name);
    for (let i = random.int(1, 3); i > 0; i--) {
      const isWrong = world.drawn.has('wrong-clocks') && random.chance(0.7);
      const aheadMs = isWrong ? random.int(-MOST_AHEAD_MS, MOST_AHEAD_MS) : 0;
      this.launchers.push(new SimulatedLauncher(world, `launcher${i}`, this.spec(), aheadMs));
    }
    world.launcherCount = this.launchers.length;
    for (let i = random.int(1, 2); i > 0; i--) this.clients.push(new ZuulClient(world, `zuul${i}`));
    world.leases.maxHoldAgeMs = this.maxHoldAgeMs;
    if (OF_TIME.some((name) => world.drawn.has(name))) world.leases.earlyMs = 2_500;
    const least = OF_LEASES.some((name) => world.drawn.has(name)) ? 1 : 0;
    const lessees = world.without === 'leases' ? 0 : Math.max(least, random.pick([0, 1, 1, 2]));
    for (let i = lessees; i > 0; i--) {
      this.lessees.push(
        new Lessee(world, `lessee${i}`, this.launchers, random.pick([1, 3, 10]), random.pick([null, null, ...TENANTS])),
      );
    }
    new GivenUp(world, this.launchers);
    this.operator = new Operator(world);
    this.orders = new Orders(world, this.launchers, this.fleets, SIZES);
    const struck = world.faults === 'all' ? this.clients : [];
    this.chaos = new Chaos(world, this.launchers, struck, this.fleets);
    this.faults = world.faults === 'all' ? undefined : new LauncherFaults(world, this.launchers);
    this.images = new ImageWriter(world);
    this.newer = world.drawn.has('unreadable') ? new NewerRelease(world) : undefined;
    this.tool = world.drawn.has('unreadable') ? new BrokenTool(world) : undefined;
  }

  /** Limits the nodes of a tenant over all providers. */
  #limitTenant(tenant: string, instances: number): void {
    this.#tenantLimits.set(tenant, { instances });
    checkTenantLimit(this.#world, tenant, instances);
  }

  /** The intended configuration of all launchers. */
  spec(): ConfigSpec {
    return {
      labels: [...this.#labels.values()],
      maxHoldAgeMs: this.maxHoldAgeMs,
      tenantLimits: new Map(this.#tenantLimits),
      providers: this.fleets.filter((fleet) => !this.#absent.has(fleet)).map((fleet) => fleet.entry()),
    };
  }

  begin(): void {
    const random = this.#random;
    for (const actor of [...this.launchers, ...this.clients, ...this.lessees]) actor.start();
    const { drawn } = this.#world;
    if (this.lessees.length > 0) this.#repeat(random.pick([300, 1_000]), () => this.#lease());
    if (this.lessees.length > 0 && drawn.has('lessees')) this.#repeat(20_000, () => random.pick(this.lessees).die());
    this.#repeat(random.pick([300, 1_000, 3_000]), () => this.#submit());
    this.#repeat(4_000, () => this.forecasts.change());
    this.faults?.begin();
    if (drawn.has('configurations')) this.#repeat(20_000, () => this.#changeConfig());
    if (drawn.has('operator')) this.#repeat(15_000, () => this.#meddle());
    if (drawn.has('orders')) this.#repeat(12_000, () => this.orders.giveAny());
    if (drawn.has('images')) this.#repeat(2_000, () => this.images.writeAny());
    this.chaos.begin(random.pick(this.faults ? [2_000, 10_000] : [300, 2_000, 10_000]));
    for (const name of drawn) FAULT_ACTS[name]?.(this.#scene);
  }

  /** Stops new work and faults, and gives all launchers the same configuration. */
  end(): void {
    this.#isOver = true;
    this.chaos.end();
    this.faults?.end();
    this.orders.end();
    this.newer?.end();
    this.tool?.end();
    for (const lessee of this.lessees) lessee.end();
    for (const fleet of this.fleets) fleet.calm?.();
    this.#absent.clear();
    if ([...this.#clouds.values()].some(({ users }) => users > 1)) this.#keepNoStandby();
    for (const launcher of this.launchers) {
      launcher.process?.stepBack();
      launcher.reconfigure(this.spec());
    }
  }

  /**
   * Two accounts share a cloud, and neither knows which machines of the other are idle. Those that get too old would be made again at once,
   * and requests of the other account wait without a limit if the cloud has not the capacity for both.
   */
  #keepNoStandby(): void {
    for (const [name, { maxReadyAgeMs = 0 }] of this.#labels)
      this.#labels.set(name, { name, minReady: 0, maxReadyAgeMs });
  }

  /** Submits one request for each served label. @returns the number of requests */
  probe(): number {
    const { checker } = this.#world;
    const labels = new Set(this.fleets.flatMap((fleet) => fleet.offers(checker).map(({ name }) => name)));
    for (const label of labels) {
      this.clients[0]?.submit({
        ...{ labels: [label], priority: 200, relativePriority: 0, provider: null, tenantName: null, useMs: 1_000 },
        ...{ cancelAfterMs: undefined, reviseAfterMs: undefined, holdMs: undefined },
      });
    }
    return labels.size;
  }

  #addFleets(): void {
    const random = this.#random;
    const isAll = this.#world.faults === 'all';
    const mayStop = this.#world.drawn.has('stopped-spares'); // hosts cannot be stopped: the loader refuses it
    const racks = isAll && !mayStop ? random.pick([0, 0, 1, 2]) : 0;
    const accounts = racks === 0 ? random.int(1, 2) : random.int(0, 1);
    for (let i = racks; i > 0; i--) this.#addFleet(new StaticFleet(`rack${i}`, SIZES, random.fork()));
    for (let i = accounts; i > 0; i--) {
      const fleet = new CloudFleet(this.#world, `account${i}`, this.#cloudDriver, this.#someCloud(), SIZES);
      this.#addFleet(fleet);
    }
    if (!isAll || !random.chance(0.35)) return;
    // Unused slots expire, which frees their backing nodes for other requests.
    this.#labels.set(SLOT, { name: SLOT, maxReadyAgeMs: 1_000 * random.int(20, 60) });
    this.#addFleet(new MetastaticFleet(this.#world, 'slots', SLOT, SIZES, [...this.fleets]));
  }

  /** A new cloud, or a shared one. */
  #someCloud(): SimulatedCloud {
    const [known] = this.#clouds.values();
    if (known && this.#random.chance(0.5)) return known;
    const cloud = new SimulatedCloud(this.#world, `cloud${this.#clouds.size + 1}`);
    this.addCloud(cloud);
    return cloud;
  }

  /** Lets providers use a cloud. */
  addCloud(cloud: SimulatedCloud): void {
    this.#clouds.set(cloud.name, cloud);
  }

  #addFleet(fleet: Fleet): void {
    this.#world.drivers.set(fleet.driver.name, fleet.driver);
    this.fleets.push(fleet);
  }

  #setLabel(name: string): string {
    const [random, { drawn, without }] = [this.#random, this.#world];
    const isStopped = drawn.has('stopped-spares') && random.chance(0.7);
    const minReady = random.chance(isStopped ? 0.7 : 0.2) ? random.int(1, 3) : 0;
    // Idle machines of one account free no capacity for another account of the same cloud.
    const mayIdle = this.fleets.length < 2 || this.#clouds.size === 0;
    // by clocks that are further apart, each would delete what the other has just made
    const isApart = drawn.has('wrong-clocks') || drawn.has('clock-steps');
    const leastMs = isApart && minReady > 0 ? 2.5 * MOST_AHEAD_MS : 20_000;
    const hasLimit = without !== 'age-limits' && (!mayIdle || random.chance(0.2));
    const maxReadyAgeMs = hasLimit ? leastMs + 1_000 * random.int(0, 40) : 0;
    const keep = isStopped ? 'stopped' : undefined;
    this.#labels.set(name, { name, minReady, maxReadyAgeMs, keep, ...this.forecasts.settingsOf(name) });
    return `label ${name} has min-ready ${minReady}, max-ready-age ${maxReadyAgeMs / 1000}`;
  }

  /** Calls `act` at random times until the scenario ends. */
  #repeat(meanMs: number, act: () => void): void {
    this.#world.repeat(meanMs, () => {
      if (!this.#isOver) act();
      return !this.#isOver;
    });
  }

  get #scene(): Scene {
    const { launchers, lessees, fleets, newer, tool, operator } = this;
    const taking = { launchers, lessees, fleets, newer, tool, operator };
    return {
      ...{ world: this.#world, random: this.#random, ...taking, labels: SIZES },
      repeat: this.#repeat.bind(this),
      spec: this.spec.bind(this),
      reload: this.#reload.bind(this),
    };
  }

  #submit(): void {
    const { clients, fleets } = this;
    this.#random.pick(clients).submit(jobPlan(this.#random, [...this.#labels.keys()], TENANTS, fleets));
  }

  #lease(): void {
    const longestMs = this.maxHoldAgeMs === 0 ? 120_000 : 1.2 * this.maxHoldAgeMs; // too long at times
    this.#random.pick(this.lessees).submit(leasePlan(this.#random, [...this.#labels.keys()], longestMs));
  }

  #changeConfig(): void {
    this.#world.trace.add('operator', `changes the configuration: ${this.#change()}`);
    this.#reload();
  }

  /** Gives all launchers the intended configuration, each at another time. */
  #reload(): void {
    const spec = this.spec();
    for (const launcher of this.launchers) {
      this.#world.clock.setTimer(this.#random.exponential(3_000), () => {
        if (!this.#isOver) launcher.reconfigure(spec);
      });
    }
  }

  #change(): string {
    const random = this.#random;
    const fleet = random.pick(this.fleets);
    const roll = random.int(0, 9);
    if (roll === 0) return this.#setLabel(random.pick(SIZES));
    if (roll > 1) return fleet.change();
    if (this.#absent.delete(fleet)) return `${fleet.name} is back`;
    this.#absent.add(fleet);
    return `${fleet.name} goes`;
  }

  #meddle(): void {
    const [random, ids] = [this.#random, [...this.#world.checker.nodes.keys()]];
    if (ids.length === 0) return;
    const id = random.pick(ids);
    if (random.chance(0.7)) void this.operator.deleteNode(id);
    else void this.operator.holdNode(id);
  }
}
