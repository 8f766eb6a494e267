import { DATABASE_ID_TAG, NODE_ID_TAG, POOL_TAG, PROVIDER_TAG } from '@nodepool/core';
import {
  FakeCloud,
  FAILURES,
  type CallName,
  type CloudCalls,
  type CloudClient,
  type CloudInstance,
} from '@nodepool/driver-fake';
import type { NodeEntry, Random } from '@nodepool/core/testing';
import type { Clock, Json, JsonObject } from '@nodepool/zk-protocol';
import { Violation } from '../world/violation.js';
import type { World } from '../world/world.js';
import { CloudChecks } from './cloud-checks.js';
import { CloudLink } from './link.js';
import { CloudWeather } from './weather.js';

/** Failures after which the instances differ from what calls and listings report. */
const LIES = ['duplicate', 'hide', 'resurrect'];
/** Failures that drivers must handle and that do not affect the checks. */
const HONEST = FAILURES.filter((failure) => !LIES.includes(failure) && failure !== 'no-ssh');
/** Sizes in ascending order; labels have the same names. */
const FLAVORS = [
  { name: 'small', ram: 1024, cores: 1 },
  { name: 'medium', ram: 2048, cores: 2 },
  { name: 'large', ram: 8192, cores: 4 },
];

/** The most nodes that one request asks for. */
const MOST_NODES = 3;
const MOST_CORES = Math.max(...FLAVORS.map(({ cores }) => cores));

/** A cloud of one or more providers, with faults, that checks the calls it gets. */
export class SimulatedCloud {
  readonly fake: FakeCloud;
  readonly weather: CloudWeather;
  /** Cloud settings for the configuration of each provider. */
  readonly settings: JsonObject;
  /** Number of providers that use it. */
  users = 0;
  /** Whether calls and listings always report the actual instances. */
  readonly isHonest: boolean;
  readonly #world: World;
  readonly #random: Random;
  readonly #foreign: string[] = [];
  readonly #checks: CloudChecks;
  #isCalm = false;

  /** @param settings - in place of random ones */
  constructor(
    world: World,
    readonly name: string,
    settings: JsonObject = {},
  ) {
    this.#world = world;
    this.#random = world.random.fork();
    const random = this.#random;
    this.isHonest = world.faults === 'launchers' || random.chance(0.7);
    this.weather = new CloudWeather(random.fork());
    this.settings = { ...this.#chooseSettings(), ...settings };
    this.fake = new FakeCloud({ clock: world.clock, random: random.fork().next, settings: this.settings });
    this.#checks = new CloudChecks(world, this, this.#foreign);
    world.onReplaced.push(() => this.#endLost());
    world.checker.watch((before, after) => this.#checks.nodeChanged(before, after));
    if (random.chance(0.3)) this.#foreign.push(this.fake.leak({ name: 'foreign' }).id);
    this.fake.onChange(({ id, instance }) => {
      world.trace.add(this.name, () => `${id} ${describe(instance)}`);
      if (instance) world.launches?.shown(instance);
      else world.launches?.gone(id);
      if (instance?.status === 'building' || instance?.status === 'active') this.#checks.onlyOne(instance);
      // one that was ordered before the database was lost
      if (this.#isCalm && instance?.status === 'active') world.clock.setTimer(0, () => this.#endLost());
    });
  }

  /**
   * Adds machines with a provider's name that do not belong to this database: from another database, or from before
   * database ids existed. Their node numbers equal numbers of this installation.
   */
  plantAliens(provider: string): void {
    if (!this.#random.chance(0.3)) return;
    for (const databaseId of [undefined, 'f'.repeat(32)]) {
      const nodeId = String(this.#random.int(0, 20)).padStart(10, '0');
      const tags = { [PROVIDER_TAG]: provider, [NODE_ID_TAG]: nodeId, [POOL_TAG]: 'pool1' };
      const metadata = databaseId === undefined ? tags : { ...tags, [DATABASE_ID_TAG]: databaseId };
      this.#foreign.push(this.fake.leak({ name: `np${nodeId}`, metadata }).id);
    }
  }

  /** Creates a client for a launcher. */
  connect(clock: Clock): CloudClient {
    return new CloudLink({
      cloud: this.fake,
      weather: this.weather,
      worldClock: this.#world.clock,
      clock,
      ownerOf: (name, args) => {
        // an older copy of the database does not know what was ordered after it was made
        if (name === 'powerOff') return this.#world.replacements;
        const orderedFor = name === 'create' ? nodeOfOrder(args) : undefined;
        return orderedFor && this.#world.checker.holderOf(`/nodepool/nodes/${orderedFor}/lock`);
      },
      onCall: (name, args, { isWaiting, isOwner }) => {
        if (name === 'remove' && typeof args === 'string') this.#checks.removal(args);
        if (name === 'powerOff' && typeof args === 'string' && isOwner) this.#checks.stop(args);
        const orderedFor = name === 'create' ? nodeOfOrder(args) : undefined;
        if (orderedFor !== undefined && !(isWaiting && isOwner)) this.#checks.excuse(orderedFor);
        this.#world.onCloudCall?.(clock, orderedFor);
      },
    });
  }

  /** Whether the quota allows an instance of a label beside `taken` others. */
  hasCapacityFor(label: string, taken: number): boolean {
    const { instances, cores, ram } = this.fake.settings.quota;
    const flavor = FLAVORS.find(({ name }) => name === label);
    // Foreign and taken instances may have any size.
    const others = taken + this.#foreign.length;
    return flavor !== undefined && instances > others && cores - 4 * others >= flavor.cores && ram >= flavor.ram;
  }

  /** Starts a temporary fault. */
  strike(): void {
    const { random, weather } = { random: this.#random, weather: this.weather };
    switch (random.int(0, 7)) {
      case 0:
      case 1:
        return this.#fail(random.pick(this.isHonest ? HONEST : [...HONEST, ...LIES]), random.pick([0.1, 0.5, 1]));
      case 2:
        return this.#during('loses calls', () => (weather.lostCalls = random.pick([0.1, 0.5, 1])));
      case 3:
        return this.#during('loses answers', () => (weather.lostAnswers = random.pick([0.1, 0.5, 1])));
      case 4:
        return this.#during('is slow', () => (weather.latencyMs = random.pick([200, 2_000, 10_000])));
      case 5:
        return this.#accident();
      case 6:
        return this.#fail('api-down', 1);
      default:
        return this.#changeQuota();
    }
  }

  /** Calls take effect after their callers gave up. */
  beLate(): void {
    this.#during('carries calls out late', () => (this.weather.lateCalls = this.#random.pick([0.1, 0.5, 1])));
  }

  /** One of the labels cannot be launched for a while. */
  breakLabel(): void {
    const { name } = this.#random.pick(FLAVORS);
    this.#during(`makes no ${name} instances`, () => (this.weather.brokenFlavor = name));
  }

  /** Ends all faults, including those that would never end. */
  calm(): void {
    this.#isCalm = true;
    this.#endForeign();
    this.weather.calm();
    this.fake.set('failures', null);
    if (this.users > 1) this.#letAllServe();
    for (const { id, status } of [...this.fake.list()]) if (status === 'deleting') this.fake.kill(id);
    this.#endLost();
  }

  /**
   * Two accounts have one quota. Requests of both that got a part of their nodes could wait for each other without end: neither account
   * knows what the other needs.
   */
  #letAllServe(): void {
    const { instances, cores } = this.fake.settings.quota;
    const most = this.users * MOST_NODES;
    if (Number.isFinite(instances)) this.fake.set('quota.instances', Math.max(instances, most));
    if (Number.isFinite(cores)) this.fake.set('quota.cores', Math.max(cores, most * MOST_CORES));
  }

  /** An operator ends machines of a lost database once all else is calm, as requests wait for what they use. */
  #endLost(): void {
    if (!this.#isCalm) return;
    for (const { id, metadata } of [...this.fake.list()]) if (this.#isOfLost(id, metadata)) this.fake.kill(id);
  }

  /** Differences of one provider from the expected idle state. */
  unsettled(provider: string, nodes: ReadonlyMap<string, NodeEntry>): string[] {
    const problems: string[] = [];
    const shown = new Map([...this.fake.list()].map((instance) => [instance.id, instance]));
    for (const { id, metadata, status } of shown.values()) {
      if (metadata[PROVIDER_TAG] !== provider || this.#foreign.includes(id) || this.#isOfLost(id, metadata)) continue;
      const nodeId = metadata[NODE_ID_TAG] ?? '';
      const node = nodes.get(nodeId);
      if (node?.body['external_id'] !== id)
        problems.push(`instance ${id} (${status}) of node ${nodeId} is left over in ${this.name}`);
    }
    return problems;
  }

  /** Whether it was made for a database that is lost: it stays until an operator decides. */
  #isOfLost(instance: string, { [DATABASE_ID_TAG]: id }: Readonly<Record<string, string>>): boolean {
    const { databaseId, nodes } = this.#world.checker;
    if (id === undefined || id === databaseId) return false;
    return ![...nodes.values()].some(({ body }) => body['external_id'] === instance);
  }

  #chooseSettings(): JsonObject {
    const { pick, int } = { pick: <T>(items: readonly T[]) => this.#random.pick(items), int: this.#random };
    const quota = { instances: int.int(2, 12), ...(int.chance(0.3) && { cores: int.int(8, 32) }) };
    return {
      'create-time': pick<Json>([0, 0.5, { exponential: 3 }, { uniform: [1, 15] }]),
      'delete-time': pick([0, 0.5, { exponential: 3 }]),
      'api-time': pick([0, 0, 0.05, { exponential: 0.5 }]),
      'vanish-time': { exponential: 20 },
      'availability-zones': pick([[], ['az1', 'az2']]),
      flavors: FLAVORS,
      ...(int.chance(0.7) && { quota }),
    };
  }

  #fail(failure: string, rate: number): void {
    this.#during(`has ${failure} ${rate}`, () => this.fake.set(`failures.${failure}`, rate));
  }

  #during(what: string, begin: () => void): void {
    if (this.#isCalm) return;
    const ms = this.#random.exponential(10_000);
    this.#world.trace.add('chaos', `${this.name} ${what} for ${Math.round(ms)} ms`);
    begin();
    this.#world.clock.setTimer(ms, () => {
      this.weather.calm();
      this.fake.set('failures', null);
    });
  }

  #accident(): void {
    const random = this.#random;
    const instances = [...this.fake.list()];
    if (instances.length === 0) return;
    const { id, metadata } = random.pick(instances);
    if (this.#foreign.includes(id)) return;
    const roll = random.int(0, 2);
    this.#world.trace.add('chaos', `accident ${roll} to ${id} in ${this.name}`);
    if (roll === 0) this.fake.kill(id);
    else if (roll === 1) this.fake.breakDown(id);
    else if (!this.isHonest) this.fake.leak({ name: 'leaked', metadata });
  }

  /** Foreign instances end, as requests wait for what they use. Until now each must have been there. */
  #endForeign(): void {
    for (const id of this.#foreign.splice(0)) {
      if (this.fake.kill(id)) continue;
      this.#world.violate(new Violation(`foreign instance ${id} in ${this.name} was deleted`));
    }
  }

  #changeQuota(): void {
    const instances = this.#random.int(1, 10);
    this.#world.trace.add('chaos', `${this.name} has a quota of ${instances} instances`);
    this.fake.set('quota.instances', instances);
  }
}

function nodeOfOrder(order: CloudCalls[CallName][0]): string | undefined {
  return typeof order === 'object' && order !== null && 'metadata' in order ? order.metadata?.[NODE_ID_TAG] : undefined;
}

function describe(instance: CloudInstance | null): string {
  return instance === null ? 'is gone' : `is ${instance.status}, node ${instance.metadata[NODE_ID_TAG] ?? 'none'}`;
}
