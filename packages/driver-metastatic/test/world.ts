import { afterEach, beforeEach } from 'vitest';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@nodepool/core';
import { loadConfig } from '@nodepool/core/config';
import { registryOf } from '@nodepool/core/testing';
import { Launcher } from '@nodepool/core/launcher';
import type { Config, Logger } from '@nodepool/core';
import type { DriverRegistry } from '@nodepool/core/config';
import { driver as staticDriver } from '@nodepool/driver-static';
import type { Clock, NodeRecord, ZooKeeper } from '@nodepool/zk-protocol';
import { driver } from '../src/index.js';
import { realBackend } from './backend.js';
import type { Backend } from './backend.js';
import { TestClient } from './test-client.js';

export type { TestClient };

export const drivers = registryOf(staticDriver, driver);

/** Configuration of the metastatic provider and its backing provider. */
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

/** The `user_data` text of a node. */
export function userDataOf(client: TestClient, id: string | undefined): string {
  const userData = id === undefined ? null : client.nodes.get(id)?.userData;
  return typeof userData === 'string' ? userData : '';
}

/** Options of a launcher in a test. */
export interface TestLauncherOptions {
  readonly logger?: Logger;
  readonly registry?: DriverRegistry;
  readonly random?: () => number;
  readonly clock?: Clock;
}

/** A new world for each test of a file, stopped after the test. Its properties are those of the current one. */
export function useWorld(): Pick<World, 'client' | 'launcher' | 'session'> {
  let world: World;
  beforeEach(async () => {
    world = await startWorld();
  });
  afterEach(() => world.stop());
  return {
    client: () => world.client(),
    launcher: (...args) => world.launcher(...args),
    session: (...args) => world.session(...args),
  };
}

/** Requests one slot and uses it. */
export async function useSlot(client: TestClient): Promise<NodeRecord> {
  const [slot] = await client.use(await client.ask(['small']));
  if (!slot) throw new Error('the request has no node');
  return slot;
}

/** Starts launchers and clients on one ZooKeeper. */
export async function startWorld(backend?: Backend): Promise<World> {
  const dataDir = await mkdtemp(join(tmpdir(), 'metastatic-'));
  return new World(backend ?? (await realBackend()), dataDir);
}

/** Launchers and clients on one ZooKeeper. */
export class World {
  readonly clock: Clock;
  readonly #server: Backend;
  readonly #dataDir: string;
  readonly #endings: (() => Promise<void>)[] = [];
  readonly #killed = new Set<ZooKeeper>();

  constructor(server: Backend, dataDir: string) {
    this.#server = server;
    this.#dataDir = dataDir;
    this.clock = server.clock;
  }

  async session(random?: () => number): Promise<ZooKeeper> {
    const zk = await this.#server.session(random);
    this.#endings.push(() => (this.#killed.has(zk) ? Promise.resolve() : zk.close()));
    return zk;
  }

  breakConnections() {
    return this.#server.breakConnections();
  }

  /** A real launcher. `kill` ends its session like a crash of its process. */
  async launcher(yaml: string, options: TestLauncherOptions = {}) {
    const zk = await this.session(options.random);
    const launcher = new Launcher({
      zk,
      config: await this.#config(yaml),
      registry: options.registry ?? drivers,
      logger: options.logger ?? silentLogger,
      clock: options.clock ?? this.clock,
      hostname: 'launcher.example.com',
      version: '1',
    });
    this.#endings.unshift(() => launcher.stop());
    await launcher.start();
    return {
      launcher,
      zk,
      reconfigure: async (text: string) => launcher.reconfigure(await this.#config(text)),
      stop: async () => {
        await launcher.drain(5_000);
        await launcher.stop();
        await zk.close();
      },
      /** Ends the session first, in the middle of any operation. */
      kill: async () => {
        this.#killed.add(zk);
        const isDead = this.#server.kill(zk);
        await launcher.stop();
        await isDead;
      },
    };
  }

  /** A client that uses nodes as Zuul does. */
  async client(): Promise<TestClient> {
    return TestClient.start(await this.session(), this.clock);
  }

  async stop(): Promise<void> {
    for (const end of this.#endings) await end();
    await this.#server.stop();
    await rm(this.#dataDir, { recursive: true, force: true });
  }

  async #config(yaml: string): Promise<Config> {
    const file = join(this.#dataDir, 'nodepool.yaml');
    await writeFile(file, yaml);
    return loadConfig({ file, env: {}, drivers, mode: 'service' });
  }
}
