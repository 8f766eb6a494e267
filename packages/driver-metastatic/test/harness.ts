import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@nodepool/core';
import { loadConfig } from '@nodepool/core/config';
import { Launcher } from '@nodepool/core/launcher';
import type { Config, Driver, Logger } from '@nodepool/core';
import type { DriverRegistry } from '@nodepool/core/config';
import { driver as staticDriver } from '@nodepool/driver-static';
import {
  createNodeCache,
  createRequestCache,
  decodeNode,
  decodeRequest,
  encodeNode,
  encodeRequest,
} from '@nodepool/zk-protocol';
import { newRequest, nodeLockPath, nodePath, requestCreatePath, requestPath } from '@nodepool/zk-protocol';
import { withNode, ZkLock } from '@nodepool/zk-protocol';
import type { NodeId, NodeRecord, NodeState, RequestId, RequestRecord } from '@nodepool/zk-protocol';
import type { ZooKeeper } from '@nodepool/zk-protocol';
import { driver } from '../src/index.js';
import { realBackend } from './backend.js';
import type { Backend } from './backend.js';

const WAIT_MS = 12_000;

/** A registry of exactly these drivers. */
export function registryOf(...drivers: Driver[]): DriverRegistry {
  return {
    get: (name) => {
      const found = drivers.find((each) => each.name === name);
      return found ? Promise.resolve(found) : Promise.reject(new Error(`no driver ${name}`));
    },
    reset: () => Promise.resolve(),
    loaded: () => [],
  };
}

export const drivers = registryOf(staticDriver, driver);

/** How the metastatic provider and its backing provider are set up. */
export interface Setup {
  /** Machines of the backing provider. */
  hosts?: number;
  /** Keys of the metastatic label, as YAML in one line. */
  label?: string;
  pool?: string;
  provider?: string;
  /** Extra labels of the metastatic pool, as YAML in one line each. */
  more?: string[];
}

export function yamlOf({ hosts = 4, label = '', pool = '', provider = '', more = [] }: Setup): string {
  const nodes = Array.from(
    { length: hosts },
    (_, i) => `      - {name: fake-${i}, labels: [big], host-key-checking: false, username: root}`,
  );
  const names = ['small', ...more.map((text) => /name: (\w+)/.exec(text)?.[1] ?? '')];
  return [
    `labels: [{name: big}, ${names.map((name) => `{name: ${name}}`).join(', ')}]`,
    'providers:',
    '- name: rack',
    '  driver: static',
    '  pools:',
    '  - name: main',
    '    node-attributes: {zone: east, rack: r1}',
    '    nodes:',
    ...nodes,
    '- name: meta',
    '  driver: metastatic',
    `  ${provider}`,
    '  pools:',
    '  - name: main',
    `    ${pool}`,
    '    labels:',
    `    - {name: small, backing-label: big, max-parallel-jobs: 4${label && `, ${label}`}}`,
    ...more.map((text) => `    - {${text}}`),
  ].join('\n');
}

export type World = Awaited<ReturnType<typeof startWorld>>;
export type TestClient = Awaited<ReturnType<World['client']>>;

/** The `user_data` text of a node. */
export function userDataOf(client: TestClient, id: string | undefined): string {
  const userData = id === undefined ? null : client.nodes.get(id)?.userData;
  return typeof userData === 'string' ? userData : '';
}

/** Launchers and clients on one ZooKeeper. */
export async function startWorld(backend?: Backend) {
  const dataDir = await mkdtemp(join(tmpdir(), 'metastatic-'));
  const server = backend ?? (await realBackend());
  const { clock } = server;
  const endings: (() => Promise<void>)[] = [];
  const killed = new Set<ZooKeeper>();

  async function session(random?: () => number): Promise<ZooKeeper> {
    const zk = await server.session(random);
    endings.push(() => (killed.has(zk) ? Promise.resolve() : zk.close()));
    return zk;
  }

  async function config(yaml: string): Promise<Config> {
    const file = join(dataDir, 'nodepool.yaml');
    await writeFile(file, yaml);
    return loadConfig({ file, env: {}, drivers, mode: 'service' });
  }

  /** A real launcher. `kill` ends its session as the death of its process does. */
  async function launcher(
    yaml: string,
    options: { logger?: Logger; registry?: DriverRegistry; random?: () => number } = {},
  ) {
    const zk = await session(options.random);
    const launched = new Launcher({
      zk,
      config: await config(yaml),
      registry: options.registry ?? drivers,
      logger: options.logger ?? silentLogger,
      clock,
      hostname: 'launcher.example.com',
      version: '1',
    });
    endings.unshift(() => launched.stop());
    await launched.start();
    return {
      launcher: launched,
      zk,
      reconfigure: async (text: string) => launched.reconfigure(await config(text)),
      stop: async () => {
        await launched.drain(5_000);
        await launched.stop();
        await zk.close();
      },
      /** In the middle of whatever it does: the session ends first. */
      kill: async () => {
        killed.add(zk);
        const isDead = server.kill(zk);
        await launched.stop();
        await isDead;
      },
    };
  }

  /** Somebody who uses nodes as Zuul does. */
  async function client() {
    const zk = await session();
    await zk.ensurePath('/nodepool/nodes');
    await zk.ensurePath('/nodepool/requests');
    const caches = { zk, clock, logger: silentLogger };
    const nodes = createNodeCache(caches);
    const requests = createRequestCache(caches);
    await Promise.all([nodes.start(), requests.start()]);
    const held = new Map<NodeId, ZkLock>();
    const all = () => [...nodes.values()].sort((a, b) => (a.id < b.id ? -1 : 1));

    /** Waits until the condition is true of what ZooKeeper shows. */
    function until<T>(what: string, condition: () => T | undefined | false): Promise<T> {
      return new Promise((resolve, reject) => {
        const look = () => {
          const found = condition();
          if (found === undefined || found === false) return;
          end();
          resolve(found);
        };
        const timer = setTimeout(() => {
          end();
          reject(new Error(`never came true: ${what}\n${describeAll(all(), [...requests.values()])}`));
        }, WAIT_MS);
        const unsubscribe = [nodes.onChange(look), requests.onChange(look), nodes.onLockChange(look)];
        const end = () => {
          clearTimeout(timer);
          for (const each of unsubscribe) each();
        };
        look();
      });
    }

    async function ask(labels: string[]): Promise<RequestId> {
      const request = newRequest({ labels, requestor: 'test', eventId: 'e' }, clock.now());
      const path = await zk.create(requestCreatePath(200), encodeRequest(request), { sequential: true });
      return path.slice(path.lastIndexOf('/') + 1) as RequestId;
    }

    const ended = (id: RequestId) =>
      until(`request ${id} ends`, () => {
        const request = requests.get(id);
        return request && (request.state === 'fulfilled' || request.state === 'failed') ? request : undefined;
      });

    async function read(id: NodeId): Promise<NodeRecord> {
      return until(`node ${id} is there`, () => nodes.get(id));
    }

    async function write(id: NodeId, state: NodeState): Promise<void> {
      const { data } = await zk.getData(nodePath(id));
      const current = nodes.get(id);
      if (!current) throw new Error(`there is no node ${id}`);
      const raw = JSON.parse(data.toString('utf8')) as NodeRecord['raw'];
      const node = withNode({ ...current, raw }, { state }, clock.now());
      await zk.setData(nodePath(id), encodeNode({ ...node, allocatedTo: (raw['allocated_to'] ?? null) as RequestId }));
    }

    return {
      zk,
      nodes,
      requests,
      all,
      until,
      ask,
      ended,
      read,
      held,
      slots: () => all().filter((node) => node.provider === 'meta'),
      backing: () => all().filter((node) => node.provider === 'rack' && node.state === 'in-use'),
      backingRequests: () => [...requests.values()].filter(({ requestor }) => requestor === 'NodePool:metastatic:meta'),

      /** Locks the nodes of a fulfilled request, deletes it, and begins to use them. */
      use: async (id: RequestId): Promise<NodeRecord[]> => {
        const request = await ended(id);
        if (request.state !== 'fulfilled') throw new Error(`request ${id} is ${request.state}`);
        for (const node of request.nodeIds) {
          const lock = new ZkLock(zk, nodeLockPath(node), { clock });
          await lock.acquire({ timeoutMs: 5_000 });
          held.set(node, lock);
        }
        await zk.delete(requestPath(id));
        const used: NodeRecord[] = [];
        for (const node of request.nodeIds) {
          const { data, stat } = await zk.getData(nodePath(node));
          const record = decodeNode(node, data, stat, clock.now());
          if (!record) throw new Error(`node ${node} is empty`);
          await zk.setData(nodePath(node), encodeNode(withNode(record, { state: 'in-use' }, clock.now(), 'zuul')));
          used.push(record);
        }
        return used;
      },

      /** Marks a free node for deletion as an operator does. */
      expire: async (node: NodeRecord): Promise<void> => {
        const deleting = encodeNode(withNode(node, { state: 'deleting' }, clock.now(), 'operator'));
        await zk.setData(nodePath(node.id), deleting, node.stat?.version).catch(() => undefined); // taken after all
      },

      /** Returns a node as Zuul does. */
      giveBack: async (id: NodeId): Promise<void> => {
        await write(id, 'used');
        await held.get(id)?.release();
        held.delete(id);
      },

      requestOf: async (id: RequestId): Promise<RequestRecord | undefined> => {
        const { data, stat } = await zk.getData(requestPath(id));
        return decodeRequest(id, data, stat, clock.now());
      },
    };
  }

  return {
    clock,
    breakConnections: () => server.breakConnections(),
    session,
    launcher,
    client,
    stop: async (): Promise<void> => {
      for (const end of endings) await end();
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

function describeAll(nodes: NodeRecord[], requests: RequestRecord[]): string {
  const lines = nodes.map(
    (node) =>
      `node ${node.id} ${node.state} ${String(node.provider)} ${node.labels.join()} slot=${String(node.slot)} ` +
      `for=${String(node.allocatedTo)} ${JSON.stringify(node.driverData)} ${JSON.stringify(node.userData)}`,
  );
  return [...lines, ...requests.map((each) => `request ${each.id} ${each.state} ${each.labels.join()}`)].join('\n');
}
