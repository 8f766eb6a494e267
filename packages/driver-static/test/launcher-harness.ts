import { createCommitter, createNodeCache, createRequestCache, encodeNode, nodeLockPath } from '@nodepool/zk-protocol';
import { connect, NODE_CREATE_PATH, nodePath, systemClock, withNode } from '@nodepool/zk-protocol';
import type { Clock, JsonObject, NodeFields, NodeId, NodeRecord, Operation, ZooKeeper } from '@nodepool/zk-protocol';
import { silentLogger } from '@nodepool/core';
import type { HostLookup, Logger, ProviderContext } from '@nodepool/core';
import { readProviderConfig } from '../src/config.js';
import { StaticProvider } from '../src/provider.js';

export type TestLauncher = Awaited<ReturnType<typeof startLauncher>>;

export interface LauncherOptions {
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

/**
 * What a launcher does for a static provider, and nothing else: session, mirror, sweep and deletion.
 * @param session - a session to use, or where to begin one
 */
export async function startLauncher(session: string | ZooKeeper, options: LauncherOptions = {}) {
  const clock = options.clock ?? systemClock;
  const logger = options.logger ?? silentLogger;
  const zk = typeof session === 'string' ? await connect({ servers: session }) : session;
  await zk.ensurePath('/nodepool/nodes');
  await zk.ensurePath('/nodepool/requests');
  const nodes = createNodeCache({ zk, clock, logger });
  const requests = createRequestCache({ zk, clock, logger });
  const committer = createCommitter(zk, [nodes, requests]);
  await Promise.all([nodes.start(), requests.start()]);
  const providers: StaticProvider[] = [];
  const context: ProviderContext = {
    ...{ zk, clock, logger, nodes, requests, committer, hostname: 'launcher.example.com' },
    config: () => {
      throw new Error('the static driver does not look at the whole configuration');
    },
    ownNodes: () => [...nodes.values()].filter((node) => node.provider === 'rack'),
    capacityChanged: () => {},
    random: () => 0.5,
  };

  const own = () => [...nodes.values()].sort((a, b) => (a.id < b.id ? -1 : 1));

  /** Waits until the records satisfy the condition; looks at each change. */
  function until(condition: (records: NodeRecord[]) => boolean, what: string): Promise<NodeRecord[]> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const records = own();
        if (!condition(records)) return false;
        clearTimeout(timer);
        unsubscribe();
        resolve(records);
        return true;
      };
      const timer = setTimeout(() => {
        unsubscribe();
        const seen = own().map(
          (node) => `${node.id} ${node.state} ${node.hostname}#${node.slot} ${String(node.allocatedTo)}`,
        );
        reject(new Error(`never came true: ${what}; records: ${JSON.stringify(seen)}`));
      }, 20_000);
      const unsubscribe = nodes.onChange(() => void look());
      look();
    });
  }

  /** Removes a node as a launcher does: the successor of its slot in the same transaction. */
  async function deleteNode(id: NodeId): Promise<'succeeded' | 'notified'> {
    const node = nodes.get(id);
    if (node === undefined) throw new Error(`there is no node ${id}`);
    const provider = providers.at(-1);
    const successor = provider?.successorOf(node);
    const operations: Operation[] = [];
    if (nodes.hasLockDirectory(id)) operations.push({ op: 'delete', path: nodeLockPath(id) });
    operations.push({ op: 'delete', path: nodePath(id) });
    if (successor) {
      operations.push({ op: 'create', path: NODE_CREATE_PATH, sequential: true, data: encodeNode(successor) });
    }
    await committer.commit(operations);
    if (successor) return 'succeeded';
    provider?.nodeDeletedNotification(node);
    return 'notified';
  }

  return {
    zk,
    nodes,
    committer,
    own,
    until,
    deleteNode,

    /** Replaces the provider, as a launcher does when its entry has changed. */
    configure: async (from: JsonObject): Promise<StaticProvider> => {
      const old = providers.at(-1);
      old?.idle();
      const provider = new StaticProvider(typed(from), context, options.lookup);
      providers.push(provider);
      await provider.start(new AbortController().signal);
      old?.stop();
      return provider;
    },

    /** Writes fields of a record as another participant would. */
    write: async (id: NodeId, changes: NodeFields): Promise<void> => {
      const node = nodes.get(id);
      if (node === undefined) throw new Error(`there is no node ${id}`);
      const data = encodeNode(withNode(node, changes, clock.now()));
      await committer.commit([{ op: 'set', path: nodePath(id), data }]);
    },

    stop: async (): Promise<void> => {
      for (const provider of providers) provider.stop();
      await Promise.all(providers.map((provider) => provider.join()));
      nodes.stop();
      requests.stop();
      await zk.close();
    },
  };
}
