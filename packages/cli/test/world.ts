import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, onTestFinished } from 'vitest';
import {
  buildPath,
  componentCreatePath,
  componentsPath,
  connect,
  encodeBuild,
  encodeComponent,
  encodeNode,
  encodeRequest,
  encodeUpload,
  lastPart,
  newBuild,
  newComponent,
  newNode,
  newPoolComponent,
  newRequest,
  newUpload,
  NODE_CREATE_PATH,
  nodeLockPath,
  NODES_ROOT,
  requestCreatePath,
  REQUESTS_ROOT,
  uploadPath,
  uploadsPath,
  ZkLock,
  patientClock,
} from '@nodepool/zk-protocol';
import type {
  BuildFields,
  ComponentRecord,
  JsonObject,
  LauncherId,
  NodeFields,
  NodeId,
  PoolComponentRecord,
  RequestFields,
  UploadFields,
  ZooKeeper,
} from '@nodepool/zk-protocol';
import { startEmbeddedServer } from '@nodepool/zk-protocol/embedded';
import type { EmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { silentLogger } from '@nodepool/core';
import { conditionToJson } from '@nodepool/core/service';
import { embeddedDataDir, ensureTokenKey, embeddedSocket, writeEmbeddedServerInfo } from '@nodepool/core/config';
import type { CliContext } from '../src/command/context.js';
import { globalOptions } from '../src/command/global-options.js';
import { nodepool, type Outcome } from './program.js';

/** Id of the pool that {@link World.registerRack} registers. */
export const RACK_ID = `${hostname()}-PoolWorker.rack-main-0123456789abcdef0123456789abcdef` as LauncherId;
/** Id of the build that {@link World.createBuild} creates by default. */
export const BUILD = '5c14c8a6227f468a8c6d7b5734de7a92';

/** No process listens there: a launcher without its address in the registry does not answer. */
export const DEAD_PORT = 'webapp: {port: 1, listen_address: 127.0.0.1}\n';

/** A nodepool.yaml with these labels and one provider `rack` of static nodes, each host an entry in YAML. */
export function rackYaml(labels: string[], hosts: string[]): string {
  return (
    `${DEAD_PORT}labels:\n${labels.map((name) => `  - name: ${name}\n`).join('')}` +
    'providers:\n  - name: rack\n    driver: static\n    pools:\n      - name: main\n        nodes:\n' +
    hosts.map((host) => `          - ${host}\n`).join('')
  );
}

/** `small` on host1 and `big` on host2. */
export const TWO_HOSTS = rackYaml(['small', 'big'], ['{name: host1, labels: small}', '{name: host2, labels: big}']);

const TYPES = {
  ConfigurationNotLoaded: { kind: 'configuration', severity: 'error' },
  ConfigurationProblem: { kind: 'configuration', severity: 'warning' },
  DeletionFails: { kind: 'node', severity: 'error' },
  LaunchesFail: { kind: 'provider', severity: 'error' },
  LoginRefused: { kind: 'provider', severity: 'error' },
  NotServed: { kind: 'label', severity: 'error' },
  StandbyMissing: { kind: 'label', severity: 'warning' },
} as const;

/** Something that is wrong now, as a service publishes it. */
export function condition(type: keyof typeof TYPES, name: string, message: string): JsonObject {
  const [nowMs, words] = [Date.now(), { reason: 'Error', message, nextStep: 'repair it' }];
  return conditionToJson({
    ...{ ...TYPES[type], name, type, status: 'true', ...words, evidence: {}, sinceMs: nowMs, lastSeenMs: nowMs },
  });
}

/** A folder with configuration files and the state directory of an embedded ZooKeeper server; no launcher runs. */
export class World {
  private constructor(
    readonly directory: string,
    private readonly server: EmbeddedServer,
    /** The session of Zuul and of the launcher, whose parts the tests play. */
    readonly zk: ZooKeeper,
  ) {}

  static async start(): Promise<World> {
    const directory = await mkdtemp(join(tmpdir(), 'nodepool-cli-'));
    const stateDir = join(directory, 'state');
    await mkdir(stateDir);
    const socket = { path: embeddedSocket(stateDir), mode: 0o600 };
    const server = await startEmbeddedServer({ dataDir: embeddedDataDir(stateDir), fsync: false, socket });
    await ensureTokenKey(stateDir);
    await writeEmbeddedServerInfo(stateDir, { socket: socket.path, pid: process.pid });
    const world = new World(directory, server, await connect({ servers: server.connectString }));
    await world.write('nodepool.yaml', 'labels:\n  - name: small\n');
    return world;
  }

  file(name: string): string {
    return join(this.directory, name);
  }

  async write(name: string, text: string): Promise<void> {
    await writeFile(this.file(name), text);
  }

  /** Installs a driver package beside the configuration files. @param code - of its module */
  async installDriver(driver: string, code: string, apiVersion = 1): Promise<void> {
    const folder = `node_modules/nodepool-driver-${driver}`;
    const manifest = { name: `nodepool-driver-${driver}`, version: '1.2.3', type: 'module', exports: './index.js' };
    await mkdir(this.file(folder), { recursive: true });
    await this.write(`${folder}/package.json`, JSON.stringify({ ...manifest, nodepool: { driver, apiVersion } }));
    await this.write(`${folder}/index.js`, code);
  }

  /** Options that lead a command here. */
  options(config = 'nodepool.yaml'): string[] {
    return ['-c', this.file(config), '--state-dir', this.file('state')];
  }

  /** Runs `nodepool` with one of the configuration files here. */
  nodepool(config: string, ...argv: string[]): Promise<Outcome> {
    return nodepool(...this.options(config), ...argv);
  }

  /** Runs `nodepool` with `nodepool.yaml`. */
  call(...argv: string[]): Promise<Outcome> {
    return this.nodepool('nodepool.yaml', ...argv);
  }

  /** The context of a command, with these options. */
  context(options: Partial<CliContext['options']> = {}): CliContext {
    const defaults = globalOptions({ _: [], c: this.file('nodepool.yaml'), format: 'table' });
    const context = { logger: silentLogger, clock: patientClock, env: {} };
    return { ...context, options: { ...defaults, stateDir: this.file('state'), ...options } };
  }

  /** A session of the test's own, until the test is over. */
  async connect(): Promise<ZooKeeper> {
    const zk = await connect({ servers: this.server.connectString });
    onTestFinished(() => zk.close());
    return zk;
  }

  async createRoots(): Promise<void> {
    await Promise.all([NODES_ROOT, REQUESTS_ROOT, componentsPath('pool')].map((path) => this.zk.ensurePath(path)));
  }

  async deleteRecords(): Promise<void> {
    await this.zk.deleteRecursive('/nodepool');
  }

  /** A free node of `host1` in the pool `main` of the provider `rack`, as the static driver registers it. @returns its id */
  async createNode(fields: NodeFields = {}): Promise<NodeId> {
    const rackNode = {
      ...{ provider: 'rack', pool: 'main', labels: ['small'], externalId: 'host1', hostname: 'host1', slot: 0 },
      ...{ username: 'zuul', connectionPort: 22 },
    };
    const node = newNode({ state: 'ready', ...rackNode, ...fields }, Date.now());
    return lastPart(await this.zk.create(NODE_CREATE_PATH, encodeNode(node), { sequential: true })) as NodeId;
  }

  /** Locks a node, as Zuul does while a job uses it. @param ephemeral - false: a lasting lock */
  async lock(id: NodeId, { owner = 'zuul', ephemeral = true } = {}): Promise<ZkLock> {
    const lock = new ZkLock(this.zk, nodeLockPath(id), { identifier: owner, ephemeral });
    await lock.acquire();
    return lock;
  }

  /** A request of Zuul. @returns its id */
  async createRequest(labels: string[], fields: Partial<RequestFields> = {}): Promise<string> {
    const body = encodeRequest(newRequest({ labels, requestor: 'zuul', ...fields }, Date.now()));
    return lastPart(await this.zk.create(requestCreatePath(200), body, { sequential: true }));
  }

  /** Creates or replaces a build of the image `debian-12`. */
  async createBuild(fields: BuildFields = {}, id = BUILD, nowMs = Date.now()): Promise<void> {
    const build = newBuild({ image: 'debian-12', id }, { state: 'ready', formats: ['qcow2'], ...fields }, nowMs);
    await this.zk.ensurePath(buildPath('debian-12', id));
    await this.zk.setData(buildPath('debian-12', id), encodeBuild(build));
  }

  /** Creates an upload of a build of `debian-12` to the provider `sky`. */
  async createUpload(fields: UploadFields = {}, buildId = BUILD): Promise<void> {
    const key = { image: 'debian-12', buildId, provider: 'sky', id: '0000000000' };
    const ready = { state: 'ready', externalId: 'x1', externalName: 'debian-12-1' } as const;
    await this.zk.ensurePath(uploadsPath('debian-12', buildId, 'sky'));
    const body = encodeUpload(newUpload(key, { ...ready, ...fields }, Date.now()));
    await this.zk.create(uploadPath('debian-12', buildId, 'sky', '0000000000'), body);
  }

  /** Registers a launcher or builder of this host. */
  async register(kind: 'launcher' | 'builder', changes: Partial<ComponentRecord> = {}): Promise<void> {
    const component = newComponent({ kind, hostname: hostname(), state: 'running', version: '1.0' });
    await this.#register(kind, { ...component, ...changes });
  }

  /** Registers the pool `main` of the provider `rack`, as a launcher on this host does. */
  async registerRack(labels: string[], changes: Partial<PoolComponentRecord> = {}): Promise<string> {
    const pool = newPoolComponent({
      ...{ hostname: hostname(), state: 'running', version: '1.0', launcherId: RACK_ID, name: 'main' },
      ...{ providerName: 'rack', supportedLabels: labels, priority: 100, paused: false },
      ...changes,
    });
    return this.#register('pool', pool);
  }

  /** @returns the path of the entry */
  async #register(kind: string, component: ComponentRecord): Promise<string> {
    await this.zk.ensurePath(componentsPath(kind));
    const path = componentCreatePath(kind, hostname());
    return this.zk.create(path, encodeComponent(component), { sequential: true, ephemeral: true });
  }

  async stop(): Promise<void> {
    await this.zk.close();
    await this.server.close();
    await rm(this.directory, { recursive: true });
  }
}

/**
 * Gives all tests of a file the same world, and each test records of its own.
 * @returns the world, once tests run
 */
export function useWorld(): () => World {
  let world: World | undefined;
  const get = (): World => {
    if (world === undefined) throw new Error('the world has not been started');
    return world;
  };
  beforeAll(async () => {
    world = await World.start();
  });
  beforeEach(() => get().createRoots());
  afterEach(() => get().deleteRecords());
  afterAll(() => world?.stop());
  return get;
}
