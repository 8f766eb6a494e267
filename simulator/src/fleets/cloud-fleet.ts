import { createFakeDriver } from '@nodepool/driver-fake';
import type { Driver } from '@nodepool/core';
import { isBacking, type InvariantChecker } from '@nodepool/core/testing';
import type { JsonObject } from '@nodepool/zk-protocol';
import type { ConfigSpec } from './config.js';
import type { Fleet } from './fleet.js';
import { Limit } from '../world/limit.js';
import { checkMaxServers } from '../world/limit-checks.js';
import type { Random } from '@nodepool/core/testing';
import type { World } from '../world/world.js';
import type { SimulatedCloud } from '../cloud/cloud.js';

interface Pool {
  readonly name: string;
  labels: string[];
  readonly maxServers: Limit;
  priority: number | undefined;
}

/** The driver of all simulated clouds. A provider names its cloud. */
export function cloudDriver(clouds: ReadonlyMap<string, Pick<SimulatedCloud, 'connect'>>): Driver {
  return createFakeDriver({
    connect: ({ cloud }, { clock }) => {
      const found = clouds.get(cloud);
      if (found === undefined) throw new Error(`there is no cloud ${cloud}`);
      return found.connect(clock);
    },
  });
}

/** A provider of instances of a cloud. */
export class CloudFleet implements Fleet {
  readonly cloud: SimulatedCloud;
  readonly #world: World;
  readonly #random: Random;
  readonly #labels: readonly string[];
  readonly #pools: Pool[] = [];
  readonly #timeouts: JsonObject;
  readonly #maxConcurrency: Limit;
  #poolCount = 0;

  constructor(
    world: World,
    readonly name: string,
    readonly driver: Driver,
    cloud: SimulatedCloud,
    labels: readonly string[],
  ) {
    this.#world = world;
    this.cloud = cloud;
    cloud.users++;
    cloud.plantAliens(name);
    this.#labels = labels;
    this.#random = world.random.fork();
    const random = this.#random;
    for (let i = random.int(1, 2); i > 0; i--) this.#pools.push(this.#newPool());
    this.#maxConcurrency = new Limit(random.pick([1, 2, 4, 20]));
    const isPatient = world.faults === 'launchers'; // no instance is slower
    this.#timeouts = {
      'launch-timeout': random.pick(isPatient ? [300] : [20, 60, 300]),
      'boot-timeout': random.pick(isPatient ? [120] : [10, 60]),
      'launch-retries': random.int(1, 3),
    };
    checkMaxServers(world, name, (pool) => this.#pools.find((known) => known.name === pool));
    world.maxConcurrency.set(name, this.#maxConcurrency);
  }

  entry(): JsonObject {
    const pools = this.#pools.map(({ name, labels, maxServers, priority }) => ({
      name,
      'max-servers': maxServers.value,
      'node-attributes': { provider: this.name },
      ...(priority === undefined ? {} : { priority }),
      labels: labels.map((label) => ({ name: label, 'cloud-image': 'image', 'flavor-name': label })),
    }));
    return {
      ...{ name: this.name, driver: 'fake', cloud: this.cloud.name, 'cloud-settings': this.cloud.settings },
      ...this.#timeouts,
      'max-concurrency': this.#maxConcurrency.value,
      'cloud-images': [{ name: 'image' }],
      pools,
    };
  }

  change(): string {
    const random = this.#random;
    const pool = random.pick(this.#pools);
    switch (random.int(0, 5)) {
      case 0:
        this.#pools.push(this.#newPool());
        return `${this.name}: a new pool`;
      case 1:
        if (this.#pools.length < 2) return 'nothing';
        this.#pools.splice(this.#pools.indexOf(pool), 1);
        return `${this.name}: pool ${pool.name} goes`;
      case 2:
        pool.labels = random.shuffle([...this.#labels]).slice(0, random.int(1, 2));
        return `${this.name}: pool ${pool.name} has labels ${pool.labels.join(' ')}`;
      case 3:
        pool.priority = random.int(1, 99);
        return `${this.name}: pool ${pool.name} has priority ${pool.priority}`;
      case 4:
        this.#maxConcurrency.value = random.int(0, 4);
        return `${this.name}: at most ${this.#maxConcurrency.value} launches at once`;
      default:
        pool.maxServers.value = random.int(0, 6);
        return `${this.name}: pool ${pool.name} has at most ${pool.maxServers.value} servers`;
    }
  }

  unsettled(checker: InvariantChecker): string[] {
    const problems = this.cloud.unsettled(this.name, checker.nodes);
    for (const node of checker.nodes.values()) {
      if (node.body['provider'] !== this.name || isBacking(node)) continue;
      const isStopped = node.state === 'testing' && this.#world.drawn.has('stopped-spares');
      if (node.state !== 'ready' && !isStopped) problems.push(`node ${node.id} of ${this.name} is ${node.state}`);
    }
    return problems;
  }

  offers(checker: InvariantChecker): ConfigSpec['labels'] {
    // Standby nodes of other fleets and duplicate instances count as foreign.
    if (this.cloud.users > 1 || !this.cloud.isHonest || this.#maxConcurrency.value === 0) return [];
    const backing = [...checker.nodes.values()].filter(isBacking);
    const names = new Set<string>();
    for (const { name, labels, maxServers } of this.#pools) {
      const taken = backing.filter(({ body }) => body['provider'] === this.name && body['pool'] === name).length;
      if (taken >= maxServers.value) continue;
      for (const label of labels) if (this.cloud.hasCapacityFor(label, backing.length)) names.add(label);
    }
    return [...names].map((name) => ({ name }));
  }

  calm(): void {
    if (this.#maxConcurrency.value === 0) this.#maxConcurrency.value = 1; // with 0, requests may wait indefinitely
    this.cloud.calm();
  }

  strike(): void {
    this.cloud.strike();
  }

  beLate(): void {
    this.cloud.beLate();
  }

  breakLabel(): void {
    this.cloud.breakLabel();
  }

  close(): () => void {
    const limit = this.#maxConcurrency;
    const before = limit.value;
    limit.value = 0;
    return () => {
      if (limit.value === 0) limit.value = before;
    };
  }

  #newPool(): Pool {
    const random = this.#random;
    const name = `pool${++this.#poolCount}`;
    const labels = random.shuffle([...this.#labels]).slice(0, random.int(1, 3));
    return {
      name,
      labels,
      maxServers: new Limit(random.int(1, 6)),
      priority: random.chance(0.2) ? random.int(1, 99) : undefined,
    };
  }
}
