import { startZooKeeper, type ZooKeeperHandle } from '@nodepool/test-servers';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { systemClock } from '../../src/base/clock.js';
import { createNodeCache, type NodeCache } from '../../src/cache/record-caches.js';
import type { RecordChange } from '../../src/cache/types.js';
import { connect } from '../../src/client/connect.js';
import type { ZooKeeper } from '../../src/client/contract/types.js';
import { encodeNode, newNode } from '../../src/records/node.js';
import type { NodeId, NodeRecord } from '../../src/records/types.js';
import { recordingLogger } from './clients.js';

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
  readonly #sessions: ZooKeeper[] = [];
  readonly #stops: (() => void)[] = [];

  constructor() {
    beforeAll(async () => {
      this.#server = await startZooKeeper({});
    });
    beforeEach(() => {
      this.#tests += 1;
    });
    afterEach(async () => {
      for (const stop of this.#stops.splice(0)) stop();
      await Promise.all(this.#sessions.splice(0).map((zk) => zk.close()));
    });
    afterAll(() => this.#server?.stop());
  }

  get server(): ZooKeeperHandle {
    if (this.#server === undefined) throw new Error('the server has not been started');
    return this.#server;
  }

  async session(): Promise<ZooKeeper> {
    const servers = `${this.server.connectString}/test-${this.#tests}`;
    const zk = await connect({ servers, sessionTimeoutMs: 20_000 });
    this.#sessions.push(zk);
    return zk;
  }

  /** Stops a cache after the test. */
  stopping<T extends { stop(): void }>(cache: T): T {
    this.#stops.push(() => cache.stop());
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
