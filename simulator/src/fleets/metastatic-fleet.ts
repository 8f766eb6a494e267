import { driver } from '@nodepool/driver-metastatic';
import { isBacking, type InvariantChecker, type NodeEntry } from '@nodepool/core/testing';
import type { JsonObject } from '@nodepool/zk-protocol';
import { Violation } from '../world/violation.js';
import type { ConfigSpec } from './config.js';
import type { Fleet } from './fleet.js';
import { Limit } from '../world/limit.js';
import { checkMaxServers } from '../world/limit-checks.js';
import type { Random } from '@nodepool/core/testing';
import type { World } from '../world/world.js';

interface Place {
  readonly backing_node: string;
  readonly slot: number;
}

/** A provider of slots on nodes of other providers. */
export class MetastaticFleet implements Fleet {
  readonly driver = driver;
  readonly #world: World;
  readonly #random: Random;
  readonly #backers: readonly Fleet[];
  readonly #label: string;
  #backingLabel: string;
  #slots: number;
  readonly #maxServers: Limit;
  readonly #maxConcurrency: Limit;
  #graceTime: number;

  /** @param backers - providers of its backing nodes */
  constructor(
    world: World,
    readonly name: string,
    label: string,
    backingLabels: readonly string[],
    backers: readonly Fleet[],
  ) {
    this.#world = world;
    this.#random = world.random.fork();
    this.#label = label;
    this.#backers = backers;
    const random = this.#random;
    this.#backingLabel = random.pick(backingLabels);
    this.#slots = random.int(1, 4);
    this.#maxServers = new Limit(random.int(2, 8));
    this.#maxConcurrency = new Limit(random.pick([1, 3, 20]));
    this.#graceTime = random.pick([0, 2, 20]);
    world.checker.watch((before, after) => this.#check(before, after));
    checkMaxServers(world, name, () => ({ maxServers: this.#maxServers }));
    world.maxConcurrency.set(name, this.#maxConcurrency);
  }

  entry(): JsonObject {
    const label = {
      name: this.#label,
      'backing-label': this.#backingLabel,
      'max-parallel-jobs': this.#slots,
      'grace-time': this.#graceTime,
    };
    return {
      ...{ name: this.name, driver: 'metastatic', 'launch-timeout': 60, 'launch-retries': 1 },
      'max-concurrency': this.#maxConcurrency.value,
      pools: [{ name: 'slots', 'max-servers': this.#maxServers.value, labels: [label] }],
    };
  }

  change(): string {
    const random = this.#random;
    switch (random.int(0, 2)) {
      case 0:
        this.#slots = random.int(1, 4);
        return `${this.name}: ${this.#slots} slots`;
      case 1:
        this.#maxServers.value = random.int(1, 8);
        return `${this.name}: at most ${this.#maxServers.value} servers`;
      default:
        this.#graceTime = random.pick([0, 2, 20]);
        return `${this.name}: a grace time of ${this.#graceTime} s`;
    }
  }

  unsettled(checker: InvariantChecker): string[] {
    const problems: string[] = [];
    const inUse = new Set<string>();
    for (const node of checker.nodes.values()) {
      if (node.body['provider'] !== this.name) continue;
      if (node.state !== 'ready') problems.push(`slot node ${node.id} is ${node.state}`);
      const backing = placeOf(node)?.backing_node ?? '';
      inUse.add(backing);
      const under = checker.nodes.get(backing);
      if (under === undefined || !isBacking(under)) problems.push(`slot node ${node.id} has no backing node`);
    }
    for (const node of checker.nodes.values()) {
      if (isBacking(node) && !inUse.has(node.id)) problems.push(`backing node ${node.id} is not given back`);
    }
    return problems;
  }

  offers(checker: InvariantChecker): ConfigSpec['labels'] {
    const canGrow = this.#backers.some((fleet) =>
      fleet.offers(checker).some(({ name }) => name === this.#backingLabel),
    );
    return canGrow ? [{ name: this.#label }] : [];
  }

  /** Checks that two nodes never share a slot, and that no slot loses its machine. */
  #check(before: NodeEntry | undefined, after: NodeEntry): void {
    const { nodes } = this.#world.checker;
    const place = placeOf(after);
    if (place && after.body['provider'] === this.name) {
      for (const other of nodes.values()) {
        const there = placeOf(other);
        if (other.id === after.id || there?.backing_node !== place.backing_node || there.slot !== place.slot) continue;
        this.#violate(`slot ${place.slot} of ${place.backing_node} is that of nodes ${other.id} and ${after.id}`);
      }
    }
    if (before === undefined || !isBacking(before) || isBacking(after) || before.touched || after.touched) return;
    for (const node of nodes.values()) {
      if (placeOf(node)?.backing_node === before.id && !node.touched) {
        this.#violate(`backing node ${before.id} is given back (${after.state}) under slot node ${node.id}`);
      }
    }
  }

  #violate(text: string): void {
    this.#world.violate(new Violation(text));
  }
}

function placeOf({ body }: NodeEntry): Place | undefined {
  const data = body['driver_data'];
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return undefined;
  const { backing_node: backing, slot } = data;
  return typeof backing === 'string' && typeof slot === 'number' ? { backing_node: backing, slot } : undefined;
}
