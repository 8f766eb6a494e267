import type { Clock, ZooKeeper } from '@nodepool/zk-protocol';
import { connectInMemory, type MemoryLink, type MemoryServer } from '@nodepool/zk-protocol/memory';
import type { Config } from '../../contract/config.js';
import type { Driver, Provider } from '../../contract/driver.js';
import type { Logger } from '../../contract/logger.js';
import { Launcher } from '../../launcher/launcher.js';
import { registryOf } from './registry-of.js';
import { ProcessClock } from './process-clock.js';
import { watchDriver, type DriverWatch, type WatchedLaunch } from './watched-driver.js';

/** Options of one launcher of a test. */
export interface TestLauncherOptions {
  readonly server: MemoryServer;
  readonly worldClock: Clock;
  readonly config: Config;
  /** The driver under test, followed by the others. */
  readonly drivers: readonly Driver[];
  readonly random: () => number;
  readonly logger: Logger;
}

/** A complete launcher with the driver under test. Tests can kill it. */
export class TestLauncher implements DriverWatch {
  /** Clock of the driver, which keeps its timers separate from those of the launcher. */
  readonly clock: ProcessClock;
  readonly zk: ZooKeeper;
  readonly link: MemoryLink;
  readonly launcher: Launcher;
  readonly providers: Provider[] = [];
  readonly launches: WatchedLaunch[] = [];
  readonly attemptErrors: Error[] = [];
  zkCalls = 0;
  /** Called at every point where the process could die. */
  onMoment: (what: string) => void = () => {};
  /** Blocks the start of providers until resolved. */
  startGate: Promise<void> | undefined;
  readonly #clock: ProcessClock;
  #isDead = false;

  constructor({ server, worldClock, config, drivers, random, logger }: TestLauncherOptions) {
    this.#clock = new ProcessClock(worldClock);
    this.clock = new ProcessClock(this.#clock);
    const { zk, link } = connectInMemory(server, { clock: this.#clock, serverClock: worldClock, random });
    this.zk = zk;
    this.link = link;
    const [driver, ...others] = drivers;
    if (!driver) throw new Error('there is no driver to test');
    this.launcher = new Launcher({
      zk: this.zk,
      clock: this.#clock,
      logger,
      config,
      registry: registryOf(watchDriver(driver, this), ...others),
      hostname: 'launcher.example.com',
      version: '0',
      random,
    });
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** The provider under test. */
  get provider(): Provider {
    const provider = this.providers.at(-1);
    if (!provider) throw new Error('the driver has made no provider');
    return provider;
  }

  async beforeStart(): Promise<void> {
    await this.startGate;
  }

  moment(what: string): void {
    if (!this.#isDead) this.onMoment(what);
  }

  /** Simulates SIGKILL: timers and pending answers are dropped, but calls already sent still reach the cloud. */
  kill(): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.#clock.kill();
    this.clock.kill();
    this.link.sever();
  }
}
