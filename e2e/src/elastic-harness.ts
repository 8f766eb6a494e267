import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startZooKeeper, type ZooKeeperHandle, type ZooKeeperOptions } from '@nodepool/test-servers';
import type { ZooKeeper } from '@nodepool/zk-protocol';
import { elasticConfig, type ElasticSetup } from './elastic-config.js';
import { FakeCloudProcess } from './fake-cloud.js';
import { FrameProxy } from './frame-proxy.js';
import { children, otherProblems, readNode, requestProblems } from './inventory.js';
import { LauncherProcess } from './launcher-process.js';
import { openSession } from './session.js';
import { timeline } from './timeline.js';
import { ZuulClient } from './zuul-client.js';
import { contenders } from './zuul-lock.js';
import type { NodeBody } from './zuul-records.js';

/** How to start a launcher. */
export interface ElasticLaunchOptions {
  name?: string;
  /** Port of a proxy in front of ZooKeeper to go through. */
  throughPort?: number;
  env?: Record<string, string>;
}

interface StartedLauncher {
  process: LauncherProcess;
  setup: ElasticSetup;
  throughPort: number | undefined;
}

/** Real ZooKeeper, a fake cloud of its own for each test, real launchers, clients like Zuul. */
export class ElasticHarness {
  readonly #launchers: StartedLauncher[] = [];
  readonly #clients: ZuulClient[] = [];
  readonly #proxies: FrameProxy[] = [];
  /** Ready nodes that nobody has asked for: as many belong to a system at rest. */
  standby = 0;
  #cloud: FakeCloudProcess | undefined;
  #clouds = 0;

  private constructor(
    readonly dir: string,
    readonly zookeeper: ZooKeeperHandle,
    readonly zk: ZooKeeper,
  ) {}

  /** Starts ZooKeeper. */
  static async start(options: ZooKeeperOptions = {}): Promise<ElasticHarness> {
    const dir = await mkdtemp(join(tmpdir(), 'np-e2e-'));
    const zookeeper = await startZooKeeper(options);
    return new ElasticHarness(dir, zookeeper, await openSession(zookeeper));
  }

  /** The cloud of the present test. */
  get cloud(): FakeCloudProcess {
    if (!this.#cloud) throw new Error('the cloud has not been started');
    return this.#cloud;
  }

  /** Starts an empty cloud. */
  async startCloud(): Promise<void> {
    this.standby = 0;
    this.#cloud = await FakeCloudProcess.start(join(this.dir, `cloud-${++this.#clouds}`));
  }

  #config(setup: ElasticSetup, throughPort: number | undefined): Record<string, unknown> {
    const port = throughPort ?? this.zookeeper.plainPort;
    return { 'zookeeper-servers': [{ host: '127.0.0.1', port }], ...elasticConfig(setup, this.cloud.dir) };
  }

  /** Starts a launcher and waits until it is ready. */
  async launch(setup: ElasticSetup, options: ElasticLaunchOptions = {}): Promise<LauncherProcess> {
    const { name = `launcher-${this.#launchers.length + 1}`, throughPort, env } = options;
    const dir = join(this.dir, `${name}-${this.#clouds}`);
    const process = await LauncherProcess.start(dir, name, this.#config(setup, throughPort), env);
    this.#launchers.push({ process, setup, throughPort });
    await process.whenReady();
    return process;
  }

  /** Puts another configuration in force in a running launcher, and waits until the launcher says it is. */
  async reconfigure(launcher: LauncherProcess, setup: ElasticSetup): Promise<void> {
    const started = this.#launchers.find(({ process }) => process === launcher);
    if (started === undefined) throw new Error(`launcher ${launcher.name} is not one of this harness`);
    started.setup = setup;
    const logged = launcher.log.length;
    await launcher.rewriteConfig(this.#config(setup, started.throughPort));
    await launcher.whenLogged(/Configuration reloaded/, logged);
  }

  /** A client with a session of its own. */
  async newClient(): Promise<ZuulClient> {
    const client = new ZuulClient(await openSession(this.zookeeper));
    this.#clients.push(client);
    return client;
  }

  /** A proxy in front of the ZooKeeper server, for launchers started with its port. */
  async newProxy(): Promise<FrameProxy> {
    const proxy = await FrameProxy.start(this.zookeeper.plainPort);
    this.#proxies.push(proxy);
    return proxy;
  }

  /** All node records there are. */
  async nodes(): Promise<(NodeBody & { nodeId: string })[]> {
    const found: (NodeBody & { nodeId: string })[] = [];
    for (const nodeId of await children(this.zk, '/nodepool/nodes')) {
      const body = await readNode(this.zk, nodeId);
      if (body === 'unreadable') throw new Error(`node ${nodeId} cannot be read`);
      if (body !== undefined) found.push({ ...body, nodeId });
    }
    return found;
  }

  /**
   * Waits until nothing is left but {@link standby} nodes: no request, no lock entry, no allocation; one instance in
   * the cloud for each record, and no other.
   * @throws {Error} it is not so in time; with all that is wrong
   */
  async assertClean(timeoutMs = 10_000): Promise<void> {
    const live = this.#launchers.filter(({ process }) => process.isRunning);
    const pools = live.flatMap(({ setup }) => setup.providers.flatMap((provider) => provider.pools)).length;
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const found = [this.#nodeProblems(), requestProblems(this.zk), otherProblems(this.zk, live.length, pools)];
      const problems = (await Promise.all(found)).flat();
      if (problems.length === 0) return;
      if (Date.now() > deadline) throw new Error(`not clean after ${timeoutMs} ms:\n${problems.join('\n')}`);
      await delay(25);
    }
  }

  async #nodeProblems(): Promise<string[]> {
    const problems: string[] = [];
    const nodes = await this.nodes();
    if (nodes.length !== this.standby) problems.push(`${nodes.length} nodes instead of ${this.standby}`);
    const known = new Set<unknown>();
    for (const { nodeId, state, allocated_to: request, external_id: externalId } of nodes) {
      known.add(externalId);
      const locks = await contenders(this.zk, `/nodepool/nodes/${nodeId}/lock`);
      if (locks.length > 0) problems.push(`node ${nodeId} has lock entries: ${locks.join(', ')}`);
      if (request !== null) problems.push(`node ${nodeId} is allocated to ${request}`);
      if (state !== 'ready') problems.push(`node ${nodeId} is ${state}`);
      const isThere = typeof externalId === 'string' && this.cloud.instances.has(externalId);
      if (!isThere) problems.push(`node ${nodeId} has no instance`);
    }
    for (const { id, status, metadata } of this.cloud.instances.values()) {
      if (!known.has(id)) problems.push(`instance ${id} (${status}) of node ${metadata['nodepool_node_id']} is left`);
    }
    return problems;
  }

  /** What clients did and launchers logged about their requests, in the order of time. */
  timeline(): string {
    return timeline(
      this.#clients,
      this.#launchers.map(({ process }) => process),
    );
  }

  /** Ends everything but ZooKeeper, and empties that. */
  async endTest(): Promise<void> {
    await Promise.all(this.#clients.splice(0).map(({ zk }) => zk.close()));
    await Promise.all(this.#launchers.splice(0).map(({ process }) => process.kill()));
    await Promise.all(this.#proxies.splice(0).map((proxy) => proxy.stop()));
    await this.#cloud?.stop();
    this.#cloud = undefined;
    await this.zk.deleteRecursive('/nodepool');
  }

  /** Ends everything. */
  async stop(): Promise<void> {
    await this.endTest();
    await this.zk.close();
    await this.zookeeper.stop();
    await rm(this.dir, { recursive: true, force: true });
  }
}
