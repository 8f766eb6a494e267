import { afterEach, beforeEach } from 'vitest';
import { createCommitter, createNodeCache, createRequestCache, encodeNode, nodeLockPath } from '@nodepool/zk-protocol';
import { NODE_CREATE_PATH, nodePath, systemClock, withNode } from '@nodepool/zk-protocol';
import type {
  Clock,
  Committer,
  JsonObject,
  NodeCache,
  NodeFields,
  NodeId,
  NodeRecord,
  Operation,
  RequestCache,
  ZooKeeper,
} from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import { silentLogger } from '@nodepool/core';
import type { Logger, ProviderContext } from '@nodepool/core';
import type { HostLookup } from '@nodepool/core/ssh';
import { readProviderConfig } from '../src/config.js';
import { StaticProvider } from '../src/provider.js';

export interface WorldOptions {
  lookup?: HostLookup;
  logger?: Logger;
  clock?: Clock;
}

/** A provider entry with one pool. */
export function entry(nodes: JsonObject[], pool: JsonObject = {}): JsonObject {
  return { name: 'rack', driver: 'static', pools: [{ name: 'main', ...pool, nodes }] };
}

function typed(from: JsonObject) {
  return readProviderConfig(from, { labels: new Map(), diskimages: new Map(), problem: () => {} });
}

/** Whether so many nodes are ready. */
export const ready = (count: number) => (records: NodeRecord[]) =>
  records.filter((node) => node.state === 'ready').length === count;

/** Whether there are so many nodes, all of them ready. */
export const allReady = (count: number) => (records: NodeRecord[]) => records.length === count && ready(count)(records);

/** Host and slot of each record. */
export const slotsOf = (records: NodeRecord[]) => records.map((node) => `${node.hostname}#${node.slot}`).sort();

/** A host that is never contacted. */
export const unchecked = (name: string, more: JsonObject = {}): JsonObject => ({
  name,
  labels: ['small'],
  'host-key-checking': false,
  ...more,
});

/**
 * Opens worlds on one ZooKeeper for each test and closes them after it. Without a `lookup` of its own, each name
 * resolves to an address for documentation.
 */
export function useWorlds(): (options?: WorldOptions) => Promise<World> {
  const opened: World[] = [];
  let server: MemoryServer;
  beforeEach(() => {
    server = new MemoryServer(systemClock);
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((world) => world.stop()));
  });
  return async (options = {}) => {
    const world = await openWorld(connectInMemory(server).zk, {
      lookup: () => Promise.resolve({ address: '192.0.2.7', family: 4 }),
      ...options,
    });
    opened.push(world);
    return world;
  };
}

/** A launcher reduced to the needs of a static provider: session, node cache, reload and deletion. */
export async function openWorld(zk: ZooKeeper, options: WorldOptions = {}): Promise<World> {
  await zk.ensurePath('/nodepool/nodes');
  await zk.ensurePath('/nodepool/requests');
  const world = new World(zk, options);
  await world.start();
  return world;
}

/** See {@link openWorld}. Its functions may be destructured. */
export class World {
  readonly zk: ZooKeeper;
  readonly nodes: NodeCache;
  readonly committer: Committer;
  readonly #requests: RequestCache;
  readonly #clock: Clock;
  readonly #lookup: HostLookup | undefined;
  readonly context: ProviderContext;
  /** What the provider has said of nodes that are not free. */
  readonly unusable: { readonly id: NodeId; readonly why: string }[] = [];
  readonly #providers: StaticProvider[] = [];

  constructor(zk: ZooKeeper, { clock = systemClock, logger = silentLogger, lookup }: WorldOptions) {
    this.zk = zk;
    this.#clock = clock;
    this.#lookup = lookup;
    const nodes = createNodeCache({ zk, clock, logger });
    const requests = createRequestCache({ zk, clock, logger });
    const committer = createCommitter(zk, [nodes, requests]);
    this.nodes = nodes;
    this.#requests = requests;
    this.committer = committer;
    this.context = {
      ...{ zk, clock, logger, nodes, requests, committer, hostname: 'launcher.example.com' },
      config: () => {
        throw new Error('the static driver does not read the whole configuration');
      },
      ownNodes: () => [...nodes.values()].filter((node) => node.provider === 'rack'),
      databaseId: undefined,
      capacityChanged: () => {},
      random: () => 0.5,
      nodeUnusable: (id, why) => void this.unusable.push({ id, why }),
    };
  }

  async start(): Promise<void> {
    await Promise.all([this.nodes.start(), this.#requests.start()]);
  }

  readonly own = (): NodeRecord[] => {
    return [...this.nodes.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  };

  /** Waits until the records satisfy the condition. */
  readonly until = (condition: (records: NodeRecord[]) => boolean, what: string): Promise<NodeRecord[]> => {
    return new Promise((resolve, reject) => {
      const look = () => {
        const records = this.own();
        if (!condition(records)) return false;
        clearTimeout(timer);
        unsubscribe();
        resolve(records);
        return true;
      };
      const timer = setTimeout(() => {
        unsubscribe();
        const seen = this.own().map(
          (node) => `${node.id} ${node.state} ${node.hostname}#${node.slot} ${String(node.allocatedTo)}`,
        );
        reject(new Error(`timed out: ${what}; records: ${JSON.stringify(seen)}`));
      }, 50_000);
      const unsubscribe = this.nodes.onChange(() => void look());
      look();
    });
  };

  /** Removes a node as a launcher does: the successor of its slot in the same transaction. */
  readonly deleteNode = async (id: NodeId): Promise<'succeeded' | 'notified'> => {
    const node = this.#node(id);
    const provider = this.#providers.at(-1);
    const successor = provider?.successorOf(node);
    const operations: Operation[] = [];
    if (this.nodes.hasLockDirectory(id)) operations.push({ op: 'delete', path: nodeLockPath(id) });
    operations.push({ op: 'delete', path: nodePath(id) });
    if (successor) {
      operations.push({ op: 'create', path: NODE_CREATE_PATH, sequential: true, data: encodeNode(successor) });
    }
    await this.committer.commit(operations);
    if (successor) return 'succeeded';
    provider?.nodeDeletedNotification(node);
    return 'notified';
  };

  /** Replaces the provider, as a launcher does when its entry has changed. */
  readonly configure = async (from: JsonObject): Promise<StaticProvider> => {
    const old = this.#providers.at(-1);
    old?.idle();
    const provider = new StaticProvider(typed(from), this.context, this.#lookup);
    this.#providers.push(provider);
    await provider.start(new AbortController().signal);
    old?.stop();
    return provider;
  };

  /** Writes fields of a record as another participant would. */
  readonly write = async (id: NodeId, changes: NodeFields): Promise<void> => {
    const data = encodeNode(withNode(this.#node(id), changes, this.#clock.now()));
    await this.committer.commit([{ op: 'set', path: nodePath(id), data }]);
  };

  readonly stop = async (): Promise<void> => {
    for (const provider of this.#providers) provider.stop();
    await Promise.all(this.#providers.map((provider) => provider.join()));
    this.nodes.stop();
    this.#requests.stop();
    await this.zk.close();
  };

  #node(id: NodeId): NodeRecord {
    const node = this.nodes.get(id);
    if (node === undefined) throw new Error(`there is no node ${id}`);
    return node;
  }
}
