import { createFakeDriver } from '@nodepool/driver-fake';
import type { Driver } from '@nodepool/core';
import type { JsonObject } from '@nodepool/zk-protocol';
import { isBacking, Violation, type Books, type NodeEntry } from '../books.js';
import type { ConfigSpec } from '../config.js';
import type { Fleet } from '../fleet.js';
import type { Random } from '../random.js';
import type { World } from '../world.js';
import type { SimulatedCloud } from './cloud.js';

interface Pool {
  readonly name: string;
  labels: string[];
  maxServers: number;
  priority: number | undefined;
  /** The most that was allowed in the last moments, as launchers hear of a change one after the other. */
  recentMost: number;
}

/** The driver of all simulated clouds. A provider names its cloud. */
export function cloudDriver(clouds: ReadonlyMap<string, SimulatedCloud>): Driver {
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
  readonly #random: Random;
  readonly #world: World;
  readonly #labels: readonly string[];
  readonly #pools: Pool[] = [];
  readonly #timeouts: JsonObject;
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
    this.#labels = labels;
    this.#random = world.random.fork();
    const random = this.#random;
    for (let i = random.int(1, 2); i > 0; i--) this.#pools.push(this.#newPool());
    this.#timeouts = {
      'launch-timeout': random.pick([20, 60, 300]),
      'boot-timeout': random.pick([10, 60]),
      'launch-retries': random.int(1, 3),
    };
    world.books.watch((before, after, who) => this.#checkSize(before, after, who));
  }

  entry(): JsonObject {
    const pools = this.#pools.map(({ name, labels, maxServers, priority }) => ({
      name,
      'max-servers': maxServers,
      'node-attributes': { provider: this.name },
      ...(priority === undefined ? {} : { priority }),
      labels: labels.map((label) => ({ name: label, 'cloud-image': 'image', 'flavor-name': label })),
    }));
    return {
      ...{ name: this.name, driver: 'fake', cloud: this.cloud.name, 'cloud-settings': this.cloud.settings },
      ...this.#timeouts,
      'cloud-images': [{ name: 'image' }],
      pools,
    };
  }

  change(): string {
    const random = this.#random;
    const pool = random.pick(this.#pools);
    switch (random.int(0, 4)) {
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
      default:
        pool.maxServers = random.int(0, 6);
        pool.recentMost = Math.max(pool.recentMost, pool.maxServers);
        return `${this.name}: pool ${pool.name} has at most ${pool.maxServers} servers`;
    }
  }

  unsettled(books: Books): string[] {
    const problems = this.cloud.unsettled(this.name, books.nodes);
    for (const node of books.nodes.values()) {
      if (node.body['provider'] !== this.name || isBacking(node)) continue;
      if (node.state !== 'ready') problems.push(`node ${node.id} of ${this.name} is ${node.state}`);
    }
    return problems;
  }

  offers(books: Books): ConfigSpec['labels'] {
    // What the others keep ready, and twins of instances, count as foreign.
    if (this.cloud.users > 1 || !this.cloud.isHonest) return [];
    const backing = [...books.nodes.values()].filter(isBacking);
    const names = new Set<string>();
    for (const { name, labels, maxServers } of this.#pools) {
      const taken = backing.filter(({ body }) => body['provider'] === this.name && body['pool'] === name).length;
      if (taken >= maxServers) continue;
      for (const label of labels) if (this.cloud.hasRoomFor(label, backing.length)) names.add(label);
    }
    return [...names].map((name) => ({ name }));
  }

  calm(): void {
    this.cloud.calm();
  }

  strike(): void {
    this.cloud.strike();
  }

  #newPool(): Pool {
    const random = this.#random;
    const maxServers = random.int(1, 6);
    return {
      name: `pool${++this.#poolCount}`,
      labels: random.shuffle([...this.#labels]).slice(0, random.int(1, 3)),
      maxServers,
      priority: random.chance(0.2) ? random.int(1, 99) : undefined,
      recentMost: maxServers,
    };
  }

  /** Launchers that fill a pool at the same moment may each believe that the last room is theirs. */
  #checkSize(before: NodeEntry | undefined, after: NodeEntry, who: string): void {
    if (before !== undefined || after.body['provider'] !== this.name) return;
    const pool = this.#pools.find(({ name }) => name === after.body['pool']);
    if (pool === undefined) return;
    let count = 0;
    for (const { body } of this.#world.books.nodes.values()) {
      if (body['provider'] === this.name && body['pool'] === pool.name) count++;
    }
    const most = pool.recentMost * this.#world.launcherCount;
    if (count <= most) return;
    this.#world.violate(
      new Violation(`${who} makes node ${after.id}, number ${count} of at most ${most} in ${pool.name}`),
    );
  }
}
