import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type SshdHandle,
  type SshdOptions,
  startSshd,
  startZooKeeper,
  type ZooKeeperHandle,
  type ZooKeeperOptions,
} from '@nodepool/test-servers';
import type { ZooKeeper } from '@nodepool/zk-protocol';
import { FrameProxy } from './frame-proxy.js';
import { problemsAtRest } from './inventory.js';
import { LauncherProcess } from './launcher-process.js';
import { openSession } from './session.js';
import { type ExpectedSlot, expectedSlots, staticConfig, type StaticSetup } from './static-config.js';
import { timeline } from './timeline.js';
import { ZuulClient } from './zuul-client.js';

/** How to start a launcher. */
export interface LaunchOptions {
  name?: string;
  /** Port of a proxy in front of ZooKeeper to go through. Default: straight to the servers. */
  throughPort?: number;
}

interface StartedLauncher {
  process: LauncherProcess;
  setup: StaticSetup;
  throughPort: number | undefined;
}

const uniqueSlots = (slots: ExpectedSlot[]): ExpectedSlot[] => [
  ...new Map(slots.map((slot) => [JSON.stringify(slot), slot])).values(),
];

/** Real servers, real launchers and clients like Zuul, and a check that nothing is left behind. */
export class Harness {
  readonly #launchers: StartedLauncher[] = [];
  readonly #clients: ZuulClient[] = [];
  readonly #proxies: FrameProxy[] = [];

  private constructor(
    readonly dir: string,
    readonly zookeeper: ZooKeeperHandle,
    readonly sshd: SshdHandle,
    private readonly observer: ZooKeeper,
  ) {}

  /** Starts ZooKeeper and SSH servers. */
  static async start(options: { zookeeper?: ZooKeeperOptions; sshd?: SshdOptions } = {}): Promise<Harness> {
    const dir = await mkdtemp(join(tmpdir(), 'nodepool-e2e-'));
    const [zookeeper, sshd] = await Promise.all([
      startZooKeeper(options.zookeeper),
      startSshd({ keyTypes: ['ed25519', 'ecdsa'], ...options.sshd }),
    ]);
    return new Harness(dir, zookeeper, sshd, await openSession(zookeeper));
  }

  /** A session of this harness, for looking at and meddling with records. */
  get zk(): ZooKeeper {
    return this.observer;
  }

  #config(setup: StaticSetup, throughPort: number | undefined): Record<string, unknown> {
    const { servers, tlsFiles } = this.zookeeper;
    const places = throughPort === undefined ? servers : [{ host: '127.0.0.1', port: throughPort }];
    return {
      'zookeeper-servers': places.map(({ host, port }) => ({ host, port })),
      ...(tlsFiles ? { 'zookeeper-tls': { ca: tlsFiles.ca, cert: tlsFiles.cert, key: tlsFiles.key } } : {}),
      ...staticConfig(setup),
    };
  }

  /** Starts a launcher and waits until it is ready. */
  async launch(setup: StaticSetup, options: LaunchOptions = {}): Promise<LauncherProcess> {
    const name = options.name ?? `launcher-${this.#launchers.length + 1}`;
    const config = this.#config(setup, options.throughPort);
    const process = await LauncherProcess.start(join(this.dir, name), name, config);
    this.#launchers.push({ process, setup, throughPort: options.throughPort });
    await process.whenReady();
    return process;
  }

  /** Puts another configuration in force in a running launcher, and waits until the launcher says it is. */
  async reconfigure(launcher: LauncherProcess, setup: StaticSetup): Promise<void> {
    const started = this.#launchers.find(({ process }) => process === launcher);
    if (started === undefined) throw new Error(`launcher ${launcher.name} is not one of this harness`);
    started.setup = setup;
    const logged = launcher.log.length;
    await launcher.rewriteConfig(this.#config(setup, started.throughPort));
    await launcher.whenLogged(/Configuration reloaded/, logged);
  }

  /** A client with a session of its own. */
  async newClient(systemId?: string): Promise<ZuulClient> {
    const client = new ZuulClient(await openSession(this.zookeeper), systemId);
    this.#clients.push(client);
    return client;
  }

  /** A proxy in front of the only ZooKeeper server, for launchers started with its port. */
  async newProxy(): Promise<FrameProxy> {
    const proxy = await FrameProxy.start(this.zookeeper.plainPort);
    this.#proxies.push(proxy);
    return proxy;
  }

  /**
   * Waits until everything is back at rest: no request, no lock entry, no allocation, each configured slot registered
   * once and ready, the components of the running launchers, and nothing else.
   * @throws {Error} it is not so in time; with all that is wrong
   */
  async assertClean(timeoutMs = 10_000): Promise<void> {
    const live = this.#launchers.filter(({ process }) => process.isRunning);
    const rest = {
      slots: uniqueSlots(live.flatMap(({ setup }) => expectedSlots(setup))),
      launchers: live.length,
      pools: live.flatMap(({ setup }) => setup.providers.flatMap(({ pools }) => pools)).length,
    };
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const problems = await problemsAtRest(this.observer, rest);
      if (problems.length === 0) return;
      if (Date.now() > deadline) throw new Error(`not clean after ${timeoutMs} ms:\n${problems.join('\n')}`);
      await delay(25);
    }
  }

  /** What clients did and launchers logged about their requests, in the order of time. */
  timeline(): string {
    return timeline(
      this.#clients,
      this.#launchers.map(({ process }) => process),
    );
  }

  /** Ends all launchers started so far at once and forgets them and the clients; ZooKeeper and sshd go on. */
  async endLaunchers(): Promise<void> {
    await Promise.all(this.#clients.splice(0).map(({ zk }) => zk.close()));
    await Promise.all(this.#launchers.map(({ process }) => process.kill()));
    this.#launchers.length = 0;
    await Promise.all(this.#proxies.splice(0).map((proxy) => proxy.stop()));
    await this.observer.deleteRecursive('/nodepool');
  }

  /** Ends everything. */
  async stop(): Promise<void> {
    await Promise.all(this.#launchers.map(({ process }) => process.kill()));
    await Promise.all([this.observer, ...this.#clients.map(({ zk }) => zk)].map((zk) => zk.close()));
    await Promise.all([this.zookeeper, this.sshd, ...this.#proxies].map((server) => server.stop()));
    await rm(this.dir, { recursive: true, force: true });
  }
}
