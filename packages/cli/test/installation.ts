import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import {
  componentCreatePath,
  componentsPath,
  connect,
  encodeComponent,
  encodeNode,
  encodeRequest,
  lastPart,
  newNode,
  newPoolComponent,
  newRequest,
  NODE_CREATE_PATH,
  NODES_ROOT,
  requestCreatePath,
  REQUESTS_ROOT,
} from '@nodepool/zk-protocol';
import type { LauncherId, NodeFields, RequestFields, ZooKeeper } from '@nodepool/zk-protocol';
import { startEmbeddedServer } from '@nodepool/zk-protocol/embedded';
import type { EmbeddedServer } from '@nodepool/zk-protocol/embedded';
import { embeddedDataDir, embeddedSocket, writeEmbeddedServerInfo } from '@nodepool/core/config';
import { nodepool, type Outcome } from './program.js';

/** Id of the pool that {@link Installation.registerRack} registers. */
export const RACK_ID = `${hostname()}-PoolWorker.rack-main-0123456789abcdef0123456789abcdef` as LauncherId;

/** A folder with configuration files and the state directory of an embedded ZooKeeper server; no launcher runs. */
export class Installation {
  private constructor(
    readonly directory: string,
    private readonly server: EmbeddedServer,
    /** A session of its own, for playing Zuul and the launcher. */
    readonly zk: ZooKeeper,
  ) {}

  static async start(): Promise<Installation> {
    const directory = await mkdtemp(join(tmpdir(), 'nodepool-cli-'));
    const stateDir = join(directory, 'state');
    await mkdir(stateDir);
    const socket = { path: embeddedSocket(stateDir), mode: 0o600 };
    const server = await startEmbeddedServer({ dataDir: embeddedDataDir(stateDir), fsync: false, socket });
    await writeEmbeddedServerInfo(stateDir, { socket: socket.path, pid: process.pid });
    return new Installation(directory, server, await connect({ servers: server.connectString }));
  }

  file(name: string): string {
    return join(this.directory, name);
  }

  async write(name: string, text: string): Promise<void> {
    await writeFile(this.file(name), text);
  }

  /** Runs `nodepool` with one of the configuration files here. */
  nodepool(config: string, ...argv: string[]): Promise<Outcome> {
    return nodepool('-c', this.file(config), '--state-dir', this.file('state'), ...argv);
  }

  async createRoots(): Promise<void> {
    await Promise.all([NODES_ROOT, REQUESTS_ROOT, componentsPath('pool')].map((path) => this.zk.ensurePath(path)));
  }

  async deleteRecords(): Promise<void> {
    await this.zk.deleteRecursive('/nodepool');
  }

  /** A free node of `host1` in the pool `main` of the provider `rack`, as the static driver registers it. @returns its id */
  async createNode(fields: NodeFields = {}): Promise<string> {
    const rackNode = {
      provider: 'rack',
      pool: 'main',
      labels: ['small'],
      externalId: 'host1',
      hostname: 'host1',
      slot: 0,
    };
    const login = { username: 'zuul', connectionPort: 22 };
    const node = newNode({ state: 'ready', ...rackNode, ...login, ...fields }, Date.now());
    return lastPart(await this.zk.create(NODE_CREATE_PATH, encodeNode(node), { sequential: true }));
  }

  /** A request of Zuul. @returns its id */
  async createRequest(labels: string[], fields: Partial<RequestFields> = {}): Promise<string> {
    const body = encodeRequest(newRequest({ labels, requestor: 'zuul', ...fields }, Date.now()));
    return lastPart(await this.zk.create(requestCreatePath(200), body, { sequential: true }));
  }

  /** Registers the pool `main` of the provider `rack`, as a launcher on this host does. */
  async registerRack(labels: string[]): Promise<void> {
    const pool = newPoolComponent({
      ...{ hostname: hostname(), state: 'running', version: '1.0', launcherId: RACK_ID, name: 'main' },
      ...{ providerName: 'rack', supportedLabels: labels, priority: 100, paused: false },
    });
    const path = componentCreatePath('pool', hostname());
    await this.zk.create(path, encodeComponent(pool), { sequential: true, ephemeral: true });
  }

  async stop(): Promise<void> {
    await this.zk.close();
    await this.server.close();
    await rm(this.directory, { recursive: true });
  }
}

/**
 * Gives all tests of a file the same installation, and each test records of its own.
 * @returns the installation, once tests run
 */
export function useInstallation(): () => Installation {
  let installation: Installation | undefined;
  const get = (): Installation => {
    if (installation === undefined) throw new Error('the installation has not been started');
    return installation;
  };
  beforeAll(async () => {
    installation = await Installation.start();
  });
  beforeEach(() => get().createRoots());
  afterEach(() => get().deleteRecords());
  afterAll(() => installation?.stop());
  return get;
}
