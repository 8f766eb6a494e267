import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startZooKeeper, type ZooKeeperHandle, type ZooKeeperOptions } from '@nodepool/test-servers';
import type { ZooKeeper } from '@nodepool/zk-protocol';
import { FrameProxy } from './frame-proxy.js';
import { describeRecords, otherProblems, requestProblems } from './inventory.js';
import { LauncherProcess } from './launcher-process.js';
import { ServiceProcess } from './service-process.js';
import { openSession } from './session.js';
import { SOON_MS } from './soon.js';
import { lastLines, timeline } from './timeline.js';
import { ZuulClient } from './zuul-client.js';

const RECORDS_MS = 5_000;
const BUILDER = fileURLToPath(new URL('../../packages/builder/bin/nodepool-builder.js', import.meta.url));

/** How to start a launcher. */
export interface LaunchOptions {
  name?: string;
  /** Port of a proxy in front of ZooKeeper to go through. Default: straight to the servers. */
  throughPort?: number;
  /** Further environment variables. */
  env?: Record<string, string>;
  /** Content of its secure file. Default: it has none. */
  secure?: Record<string, unknown>;
  /** Port of its web server. Default: a free one. */
  webPort?: number;
  /** Further arguments. */
  args?: readonly string[];
  /** The launcher that gets QUIT, and whose folder and web port it has. */
  replaces?: LauncherProcess;
}

/** What every kind of setup tells of its pools. */
interface AnySetup {
  providers: readonly { pools: readonly unknown[] }[];
}

interface StartedLauncher<Setup> {
  process: LauncherProcess;
  setup: Setup;
  throughPort: number | undefined;
}

/** ZooKeeper, a session with it, and a folder for all that a file of tests writes. */
export interface Ground {
  readonly dir: string;
  readonly zookeeper: ZooKeeperHandle;
  readonly zk: ZooKeeper;
}

/** Starts ZooKeeper. The folder has a short path: sockets are made in it. */
export async function startGround(options: ZooKeeperOptions = {}): Promise<Ground> {
  const dir = await mkdtemp(join(tmpdir(), 'np-e2e-'));
  const zookeeper = await startZooKeeper(options);
  return { dir, zookeeper, zk: await openSession(zookeeper) };
}

/**
 * Real ZooKeeper, real launchers and clients like Zuul, and a check that nothing is left behind. What the machines are
 * is up to the two kinds: {@link StaticHarness} and {@link ElasticHarness}.
 */
export abstract class Harness<Setup extends AnySetup> implements Ground {
  readonly dir: string;
  readonly zookeeper: ZooKeeperHandle;
  /** A session of this harness, for looking at and meddling with records. */
  readonly zk: ZooKeeper;
  readonly #launchers: StartedLauncher<Setup>[] = [];
  readonly #builders: ServiceProcess[] = [];
  readonly #clients: ZuulClient[] = [];
  readonly #proxies: FrameProxy[] = [];
  /** Launcher starts that may still be running when a test ends. */
  readonly #starting = new Set<Promise<LauncherProcess>>();
  #tests = 0;

  protected constructor({ dir, zookeeper, zk }: Ground) {
    this.dir = dir;
    this.zookeeper = zookeeper;
    this.zk = zk;
  }

  /** The `labels` and `providers` of nodepool.yaml. */
  protected abstract configOf(setup: Setup): Record<string, unknown>;

  /** What is wrong with the nodes, and with the machines behind them, while no request is open. */
  protected abstract nodeProblems(setups: readonly Setup[]): Promise<string[]>;

  /** The folder of the present test. */
  protected get testDir(): string {
    return join(this.dir, String(this.#tests));
  }

  /** Begins the next test. */
  startTest(): Promise<void> {
    this.#tests += 1;
    return Promise.resolve();
  }

  #config(setup: Setup, throughPort: number | undefined): Record<string, unknown> {
    const { servers, tlsFiles } = this.zookeeper;
    const places = throughPort === undefined ? servers : [{ host: '127.0.0.1', port: throughPort }];
    return {
      'zookeeper-servers': places.map(({ host, port }) => ({ host, port })),
      ...(tlsFiles ? { 'zookeeper-tls': { ca: tlsFiles.ca, cert: tlsFiles.cert, key: tlsFiles.key } } : {}),
      ...this.configOf(setup),
    };
  }

  /** Starts a launcher and waits until it is ready. */
  launch(setup: Setup, options: LaunchOptions = {}): Promise<LauncherProcess> {
    const start = this.#launch(setup, options);
    this.#starting.add(start);
    const ended = () => void this.#starting.delete(start);
    start.then(ended, ended);
    return start;
  }

  async #launch(setup: Setup, options: LaunchOptions): Promise<LauncherProcess> {
    const { name = `launcher-${this.#launchers.length + 1}`, throughPort, env, secure, replaces } = options;
    const webPort = replaces?.webPort ?? options.webPort;
    const config = this.#config(setup, throughPort);
    const dir = replaces ? dirname(replaces.configFile) : join(this.testDir, name);
    const secureFile = join(dir, 'secure.yaml');
    if (secure) {
      await mkdir(dir, { recursive: true });
      await writeFile(secureFile, JSON.stringify(secure));
    }
    const args = [...(options.args ?? []), ...(secure ? ['-s', secureFile] : [])];
    await replaces?.stop('SIGQUIT');
    const process = await LauncherProcess.start(dir, name, config, env, args, webPort);
    this.#launchers.push({ process, setup, throughPort });
    await process.whenReady();
    return process;
  }

  /** Puts another configuration in force in a running launcher, and waits until the launcher says it is. */
  async reconfigure(launcher: LauncherProcess, setup: Setup): Promise<void> {
    const started = this.#launchers.find(({ process }) => process === launcher);
    if (started === undefined) throw new Error(`launcher ${launcher.name} is not one of this harness`);
    started.setup = setup;
    const logged = launcher.log.length;
    await launcher.rewriteConfig(this.#config(setup, started.throughPort));
    await launcher.whenLogged(/Configuration reloaded/, logged);
  }

  /** Starts a builder and waits until it is ready. @param name - of its folder, which may hold files of an earlier builder */
  async startBuilder(setup: Setup, name: string, env: Record<string, string> = {}): Promise<ServiceProcess> {
    const dir = join(this.testDir, name);
    await mkdir(this.imagesDir(name), { recursive: true });
    const config = this.builderConfig(setup, name);
    const builder = await ServiceProcess.start(BUILDER, { dir, name, config, env: { TMPDIR: dir, ...env } });
    this.#builders.push(builder);
    await builder.whenReady();
    return builder;
  }

  /** The whole file of a builder. */
  builderConfig(setup: Setup, name: string): Record<string, unknown> {
    const dirs = { 'images-dir': this.imagesDir(name), 'build-log-dir': join(this.testDir, name, 'logs') };
    return { 'zookeeper-timeout': 4, ...dirs, ...this.#config(setup, undefined) };
  }

  /** Image directory of a builder. */
  imagesDir(name: string): string {
    return join(this.testDir, name, 'images');
  }

  /** A client with a session of its own. */
  async newClient(): Promise<ZuulClient> {
    const client = new ZuulClient(await openSession(this.zookeeper));
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
   * Waits until everything is back at rest: no request, no lock entry, no allocation, nodes as this kind of harness
   * wants them, the components of the launchers that run at that moment, and nothing else.
   * @throws {Error} it is not so in time; with all that is wrong
   */
  async assertClean(timeoutMs = SOON_MS): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      // read again each time: a launcher may be killed or started meanwhile
      const setups = this.#launchers.filter(({ process }) => process.isRunning).map(({ setup }) => setup);
      const pools = setups.flatMap(({ providers }) => providers.flatMap((provider) => provider.pools));
      const found = await Promise.all([
        requestProblems(this.zk),
        this.nodeProblems(setups),
        otherProblems(this.zk, setups.length, pools.length),
      ]);
      const problems = found.flat();
      if (problems.length === 0) return;
      if (Date.now() > deadline) throw new Error(`not clean after ${timeoutMs} ms:\n${problems.join('\n')}`);
      await delay(25);
    }
  }

  /** What happened, for a failed test: what clients did and launchers logged about it, what each did last, and the records. */
  async story(): Promise<string> {
    const launchers = this.#launchers.map(({ process }) => process);
    // ZooKeeper may be what does not answer
    const records = Promise.race([describeRecords(this.zk), delay(RECORDS_MS, '(ZooKeeper did not answer)')]);
    return [
      `--- timeline\n${timeline(this.#clients, launchers)}`,
      ...launchers.map(lastLines),
      `--- records\n${await records.catch(String)}\n---`,
    ].join('\n');
  }

  /** Ends all clients, launchers, builders and proxies at once and deletes all records; the servers continue. */
  async endTest(): Promise<void> {
    await Promise.allSettled(this.#starting);
    await Promise.all(this.#builders.splice(0).map((builder) => builder.kill()));
    await Promise.all(this.#clients.splice(0).map(({ zk }) => zk.close()));
    await Promise.all(this.#launchers.splice(0).map(({ process }) => process.kill()));
    await Promise.all(this.#proxies.splice(0).map((proxy) => proxy.stop()));
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
