import { startZooKeeper, type ZooKeeperHandle } from '@nodepool/test-servers';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { systemClock } from '../../src/base/clock.js';
import { createNodeCache, type NodeCache } from '../../src/cache/record-caches.js';
import type { RecordChange } from '../../src/cache/types.js';
import { connect, type ZooKeeperOptions } from '../../src/client/connect.js';
import type { ZooKeeper } from '../../src/client/contract/types.js';
import { encodeNode, newNode } from '../../src/records/node.js';
import type { NodeId, NodeRecord } from '../../src/records/types.js';
import { closing, onTestEnd, recordingLogger, stopping } from './clients.js';
import { TcpProxy } from './tcp-proxy.js';

/** A node cache with a recording of everything that it reports. */
export interface WatchedNodes {
  /** Session of the cache. */
  readonly zk: ZooKeeper;
  /** Session of another process. */
  readonly other: ZooKeeper;
  readonly nodes: NodeCache;
  readonly changes: RecordChange<NodeRecord>[];
  readonly locks: [string, number][];
  readonly lines: string[];
}

/** A ZooKeeper server for the tests of one file. Each test has its own root; its sessions and caches end with it. */
export class World {
  #server: ZooKeeperHandle | undefined;
  #tests = 0;

  constructor(options: Parameters<typeof startZooKeeper>[0] = {}) {
    beforeAll(async () => {
      this.#server = await startZooKeeper(options);
    });
    beforeEach(() => {
      this.#tests += 1;
    });
    afterAll(() => this.#server?.stop());
  }

  get server(): ZooKeeperHandle {
    if (this.#server === undefined) throw new Error('the server has not been started');
    return this.#server;
  }

  /** A session in the root of this test, which need not exist. */
  async session(options: Partial<ZooKeeperOptions> & { servers?: string } = {}): Promise<ZooKeeper> {
    const servers = `${options.servers ?? this.server.connectString}/test-${this.#tests}`;
    return closing(await connect({ sessionTimeoutMs: 20_000, ...options, servers }));
  }

  /** A session in the root of this test, which exists. */
  async connected(options: Partial<ZooKeeperOptions> & { servers?: string } = {}): Promise<ZooKeeper> {
    const client = await this.session(options);
    await client.ensurePath('/');
    return client;
  }

  /** A session through a proxy. */
  async proxied(sessionTimeoutMs: number): Promise<{ proxy: TcpProxy; client: ZooKeeper }> {
    const [server] = this.server.servers;
    if (server === undefined) throw new Error('the ensemble has no server');
    const proxy = await stopping(TcpProxy.start(server));
    return { proxy, client: await this.connected({ servers: proxy.connectString, sessionTimeoutMs }) };
  }

  /** Stops a cache after the test. */
  stopping<T extends { stop(): void }>(cache: T): T {
    onTestEnd(() => cache.stop());
    return cache;
  }

  async watchNodes(): Promise<WatchedNodes> {
    const [zk, other] = await Promise.all([this.session(), this.session()]);
    await other.ensurePath('/nodepool/nodes');
    const { logger, lines } = recordingLogger();
    const nodes = this.stopping(createNodeCache({ zk, clock: systemClock, logger }));
    await nodes.start();
    const changes: RecordChange<NodeRecord>[] = [];
    const locks: [string, number][] = [];
    nodes.onChange((change) => changes.push(change));
    nodes.onLockChange((id, contenders) => locks.push([id, contenders]));
    return { zk, other, nodes, changes, locks, lines };
  }
}

/** Body of a node. */
export function nodeBody(fields: Partial<NodeRecord> = {}): Buffer {
  return encodeNode(newNode({ state: 'ready', labels: ['small'], ...fields }, 1000));
}

/** Id of a node, by its path. */
export function idOf(path: string): NodeId {
  return path.slice(path.lastIndexOf('/') + 1) as NodeId;
}
