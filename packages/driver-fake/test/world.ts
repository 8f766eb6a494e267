import { afterEach, expect } from 'vitest';
import { newNode, newRequest, withNode } from '@nodepool/zk-protocol';
import type { Clock, JsonObject, NodeId, NodeRecord, RequestId } from '@nodepool/zk-protocol';
import { silentLogger } from '@nodepool/core';
import type { LaunchResult, OperationMetrics, Provider, ProviderContext } from '@nodepool/core';
import { connectInProcess, createFakeDriver, FakeCloud } from '../src/index.js';
import { Random } from '@nodepool/core/testing';
import { VirtualClock } from './virtual-clock.js';

/** Body of a stored record: the creation time is final. */
const STORED = {};

const NEVER = new AbortController().signal;

/** Id of the database that the provider works for. */
export const DATABASE_ID = 'da7aba5e'.repeat(4);

/** A provider entry with one pool `main` and one label `small`. */
export function entry(cloudSettings: JsonObject = {}, changes: JsonObject = {}): JsonObject {
  return {
    name: 'provider',
    driver: 'fake',
    'cloud-images': [{ name: 'debian', username: 'zuul' }],
    pools: [
      {
        name: 'main',
        'host-key-checking': false,
        labels: [{ name: 'small', 'cloud-image': 'debian', 'min-ram': 2048 }],
      },
    ],
    'cloud-settings': cloudSettings,
    ...changes,
  };
}

export interface WorldOptions {
  readonly settings?: JsonObject;
  readonly changes?: JsonObject;
  readonly clock?: VirtualClock;
  readonly seed?: number;
}

/** A provider as a launcher runs it, on a virtual clock and a cloud in this process; nodes live in memory. */
export class World {
  readonly clock: VirtualClock;
  readonly cloud: FakeCloud;
  readonly provider: Provider;
  readonly nodes = new Map<string, NodeRecord>();
  /** Counted metrics: results of launches, and `leaked <plural>`. */
  readonly counted: string[] = [];
  #nextNode = 1;

  constructor({ settings = {}, changes = {}, clock = new VirtualClock(), seed = 1 }: WorldOptions = {}) {
    this.clock = clock;
    this.cloud = new FakeCloud({ clock, random: new Random(seed).next });
    const driver = createFakeDriver({ connect: (_config, context) => connectInProcess(this.cloud, context.clock) });
    const config = driver.getProviderConfig(entry(settings, changes), {
      labels: new Map(),
      diskimages: new Map(),
      problem: (_path, message) => {
        throw new Error(message);
      },
    });
    this.provider = driver.getProvider(config, this.#context(seed));
  }

  start(): Promise<void> {
    return this.during(this.provider.start(NEVER));
  }

  /** Lets time pass until the promise has settled. */
  async during<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const settle = () => (settled = true);
    promise.then(settle, settle);
    for (let step = 0; step < 100_000 && !settled; step++) await this.clock.advance(100);
    return promise;
  }

  launch(): Promise<LaunchResult> {
    const pool = this.provider.config.pools.get('main');
    const label = pool?.labels.get('small');
    if (!pool || !label) throw new Error('there is no label "small" in pool "main"');
    const id = String(this.#nextNode++).padStart(10, '0') as NodeId;
    const request = { ...newRequest({ labels: ['small'] }, this.clock.now()), id: '100-0000000001' as RequestId };
    const fields = { labels: ['small'], provider: 'provider', pool: 'main' };
    let node: NodeRecord = {
      ...newNode({ state: 'init', ...fields }, this.clock.now()),
      id,
      state: 'building',
      raw: STORED,
    };
    this.nodes.set(id, node);
    const store = async (changes: Partial<NodeRecord>) => {
      await Promise.resolve();
      node = withNode(node, changes, this.clock.now(), 'launcher');
      this.nodes.set(id, node);
      return node;
    };
    const launched = this.provider
      .getRequestHandler(pool, request)
      .launch?.({ node, pool, label, request, store }, NEVER);
    if (!launched) throw new Error('the handler has no launch method');
    return launched;
  }

  /** Deletes a node as a launcher does: its instance, then its record. */
  async cleanUp(node: NodeRecord): Promise<void> {
    await this.provider.startNodeCleanup(node, NEVER);
    this.nodes.delete(node.id);
  }

  /** Two sweeps: a leak is deleted when the second one finds it again. */
  async findLeaks(): Promise<void> {
    await this.during(this.provider.cleanupLeakedResources(NEVER));
    await this.during(this.provider.cleanupLeakedResources(NEVER));
  }

  async end(): Promise<void> {
    this.provider.stop();
    await this.during(this.provider.join());
    this.cloud.stop();
  }

  #context(seed: number): ProviderContext {
    const metrics: OperationMetrics = {
      launchEnded: (result) => this.counted.push(result),
      leaked: (_provider, plural) => this.counted.push(`leaked ${plural}`),
    };
    const clock: Clock = this.clock;
    // The state-machine provider uses only these parts of a launcher.
    return {
      clock,
      logger: silentLogger,
      metrics,
      hostname: 'launcher.example',
      nodes: { ready: true, get: (id: string) => this.nodes.get(id), onChange: () => () => {} },
      databaseId: DATABASE_ID,
      zk: {
        exists: (path: string) => Promise.resolve(this.nodes.get(path.slice(path.lastIndexOf('/') + 1))),
        getData: () => Promise.resolve({ data: Buffer.from(DATABASE_ID) }),
      },
      ownNodes: () => this.nodes.values(),
      capacityChanged: () => {},
      random: new Random(seed + 1).next,
    } as unknown as ProviderContext;
  }
}

/** Opens one world for a test; ends it after the test, and fails if timers remain. */
export function useWorld(): (options?: WorldOptions) => Promise<World> {
  let running: World | undefined;
  afterEach(async () => {
    await running?.end();
    expect(running?.clock.pendingTimers ?? 0).toBe(0);
    running = undefined;
  });
  return async (options = {}) => {
    running = new World(options);
    await running.start();
    return running;
  };
}

/** The instance of a node. */
export function idOf({ externalId }: NodeRecord): string {
  if (typeof externalId !== 'string') throw new Error('the node has no instance');
  return externalId;
}
