import { driver } from '@nodepool/driver-static';
import { isBacking, type InvariantChecker } from '@nodepool/core/testing';
import type { JsonObject } from '@nodepool/zk-protocol';
import type { ConfigSpec } from './config.js';
import type { Fleet } from './fleet.js';
import type { Random } from '@nodepool/core/testing';

interface Host {
  name: string;
  labels: string[];
  slots: number;
}

interface Pool {
  name: string;
  hosts: Host[];
  priority: number | undefined;
}

/** A provider of permanent hosts. */
export class StaticFleet implements Fleet {
  readonly driver = driver;
  readonly #random: Random;
  readonly #labels: readonly string[];
  readonly #pools: Pool[] = [];
  #hosts = 0;

  constructor(
    readonly name: string,
    labels: readonly string[],
    random: Random,
  ) {
    this.#random = random;
    this.#labels = labels;
    for (let i = random.int(1, 2); i > 0; i--) {
      const pool: Pool = { name: `pool${i}`, hosts: [], priority: random.chance(0.2) ? random.int(1, 99) : undefined };
      for (let j = random.int(1, 3); j > 0; j--) pool.hosts.push(this.#newHost());
      this.#pools.push(pool);
    }
  }

  #newHost(): Host {
    const random = this.#random;
    const labels = random.shuffle([...this.#labels]).slice(0, random.int(1, 2));
    return { name: `fake-${this.name}-${++this.#hosts}`, labels, slots: random.pick([1, 1, 2, 3]) };
  }

  entry(): JsonObject {
    const pools = this.#pools.map(({ name, hosts, priority }) => ({
      name,
      ...(priority === undefined ? {} : { priority }),
      nodes: hosts.map((host) => ({ name: host.name, labels: host.labels, 'max-parallel-jobs': host.slots })),
    }));
    return { name: this.name, driver: 'static', pools };
  }

  change(): string {
    const random = this.#random;
    const pool = random.pick(this.#pools);
    const host = pool.hosts.length > 0 ? random.pick(pool.hosts) : undefined;
    switch (host === undefined ? 0 : random.int(0, 4)) {
      case 0:
        pool.hosts.push(this.#newHost());
        return `${this.name}: a new host in ${pool.name}`;
      case 1:
        if (pool.hosts.length < 2) return 'nothing';
        pool.hosts.splice(pool.hosts.indexOf(host as Host), 1);
        return `${this.name}: host ${host?.name ?? ''} goes`;
      case 2:
        if (host) host.slots = random.int(1, 3);
        return `${this.name}: host ${host?.name ?? ''} has ${host?.slots ?? 0} slots`;
      case 3:
        if (host) host.labels = random.shuffle([...this.#labels]).slice(0, random.int(1, 2));
        return `${this.name}: host ${host?.name ?? ''} has labels ${host?.labels.join(' ') ?? ''}`;
      default:
        pool.priority = random.int(1, 99);
        return `${this.name}: pool ${pool.name} has priority ${pool.priority}`;
    }
  }

  unsettled(checker: InvariantChecker): string[] {
    const problems: string[] = [];
    const wanted = new Map<string, string>();
    for (const { name, hosts } of this.#pools) {
      for (const host of hosts) {
        for (let slot = 0; slot < host.slots; slot++) wanted.set(`${name}/${host.name}#${slot}`, host.labels.join(' '));
      }
    }
    for (const node of checker.nodes.values()) {
      if (node.body['provider'] !== this.name) continue;
      const { pool, hostname, slot } = node.body;
      const key = [pool, '/', hostname, '#', slot].map((part) => (typeof part === 'object' ? '?' : part)).join('');
      const labels = wanted.get(key);
      if (labels === undefined) problems.push(`node ${node.id} is for ${key}, which is not configured or has another`);
      else if (labels !== node.labels.join(' '))
        problems.push(`node ${node.id} of ${key} has other labels than ${labels}`);
      if (node.state !== 'ready' && !isBacking(node)) problems.push(`node ${node.id} of ${key} is ${node.state}`);
      wanted.delete(key);
    }
    for (const key of wanted.keys()) problems.push(`${key} has no node`);
    return problems;
  }

  offers(checker: InvariantChecker): ConfigSpec['labels'] {
    const names = new Set<string>();
    for (const node of checker.nodes.values()) {
      if (node.body['provider'] !== this.name || isBacking(node)) continue;
      for (const label of node.labels) names.add(label);
    }
    return [...names].map((name) => ({ name }));
  }
}
