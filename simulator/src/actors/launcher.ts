import type { Config } from '@nodepool/core';
import { FEATURES, Launcher } from '@nodepool/core/launcher';
import { unfinishedAfter } from '@nodepool/core/service';
import { Reloader } from '@nodepool/daemon';
import type { ControlRecord } from '@nodepool/zk-protocol';
import { HistoryCheck } from '../world/history-check.js';
import { makeRegistry, type ConfigSpec } from '../fleets/config.js';
import { GivenStandby } from './given-standby.js';
import { LeaseApi } from './lease-api.js';
import { LauncherConfig } from './launcher-config.js';
import { withCheckedLaunches } from '../world/limit-checks.js';
import { ShuffledEvents } from './shuffled-events.js';
import { SimulatedProcess } from '../world/process.js';
import type { World } from '../world/world.js';

const WEEK_MS = 7 * 86_400_000;
/** For so long a service that stops waits for orders in clouds. */
const ORDERS_MS = 2_000;
/** After this time the clock of a computer that has started is right. */
const MOST_STRAY_MS = 20_000;

/** A launcher that can crash and restart. */
export class SimulatedLauncher {
  #process: SimulatedProcess | undefined;
  #launcher: Launcher | undefined;
  readonly #config: LauncherConfig;
  #reloader: Reloader | undefined;
  #api: LeaseApi | undefined;
  /** Its numbers of standby nodes. */
  readonly standby = new GivenStandby();
  /** Nodes that its drivers launch. */
  launching = new Set<string>();
  /** Whether an operator keeps it from starting. */
  isBarred = false;
  /** Whether it stops or hands over, so that a reload changes its pools no more. */
  #isLeaving = false;
  /** Whether it drains its pools. */
  isStopping = false;
  /** Time when it first saw each operator order. */
  #heard = new Map<ControlRecord, number>();
  /** Time of its last start, in ms since the beginning. */
  startedMs = 0;
  /** Time of the last configuration change while it was running. */
  reloadedMs: number | undefined;

  constructor(
    readonly world: World,
    readonly name: string,
    spec: ConfigSpec,
    readonly aheadMs = 0,
  ) {
    this.#config = new LauncherConfig(world, name, spec);
  }

  /** Its configuration in force, or the last one. */
  get spec(): ConfigSpec {
    return this.#config.spec;
  }

  /** How its configuration in force differs from its file, when all has come to rest. */
  get configProblems(): string[] {
    return this.#reloader ? this.#config.problems(this.#reloader) : ['it has no configuration'];
  }

  get process(): SimulatedProcess | undefined {
    return this.#process;
  }

  /** What its web server calls. */
  get api(): LeaseApi | undefined {
    return this.#api;
  }

  get running(): Launcher | undefined {
    return this.#launcher;
  }

  /** Operator orders that it has seen. */
  orders(): { control: ControlRecord; heardMs: number }[] {
    return [...this.#heard].map(([control, heardMs]) => ({ control, heardMs }));
  }

  start(): void {
    if (this.#process || this.isBarred) return;
    const { world, name } = this;
    world.trace.add(name, 'starts');
    this.isStopping = this.#isLeaving = false;
    this.startedMs = world.elapsedMs;
    this.reloadedMs = undefined;
    this.launching = new Set();
    const strayMs = this.#strayMs();
    const process = new SimulatedProcess(world, name, world.server, this.aheadMs);
    if (strayMs !== 0) {
      process.step(strayMs);
      world.clock.setTimer(world.random.between(1_000, MOST_STRAY_MS), () => process.stepBack());
    }
    this.#process = process;
    this.#heard = new Map();
    this.#serve(process).catch((error: unknown) => {
      if (process.isDead) return;
      // a service would exit, and its supervisor would restart it
      world.trace.add(name, () => `could not start: ${String(error)}`);
      this.crash();
      world.clock.setTimer(5_000, () => this.start());
    });
  }

  async #serve(process: SimulatedProcess): Promise<void> {
    const { world, name } = this;
    const config = await this.#config.loadFirst(process);
    if (process.isDead) return;
    const { zk, clock, logger } = process;
    const history = new HistoryCheck(process);
    const launcher = new Launcher({
      ...{ zk, clock, logger, version: '0', config, events: new ShuffledEvents(world.listeners) },
      registry: makeRegistry(withCheckedLaunches(world, world.drivers, this)),
      hostname: `${name}.example.com`,
      features: featuresBut(world.without, { ...FEATURES, 'standby-levels': this.standby.make }),
      random: world.random.fork().next,
    });
    this.#launcher = launcher;
    const reloader = this.#makeReloader(process, launcher, config);
    this.#reloader = reloader;
    this.#api = new LeaseApi(process, launcher, () => reloader.config);
    history.recorder.follow(launcher);
    launcher.events.on('ordersChanged', () => this.#hear(launcher.controls));
    await launcher.start();
  }

  #makeReloader(process: SimulatedProcess, launcher: Launcher, initial: Config): Reloader {
    return new Reloader({
      ...{ initial, webapp: 'webapp', logger: process.logger, now: () => process.clock.now() },
      load: (signal) => this.#config.load(process, signal),
      apply: async (config) => {
        this.#config.apply();
        await launcher.reconfigure(config);
      },
    });
  }

  /** How far the clock of a computer that starts is wrong until it has asked others for the time. */
  #strayMs(): number {
    const { random, drawn } = this.world;
    if (!drawn.has('clock-steps') || !random.chance(0.3)) return 0;
    return random.pick([-1, 1]) * random.int(1, 4) * WEEK_MS;
  }

  #hear(controls: readonly ControlRecord[]): void {
    const { elapsedMs } = this.world;
    this.#heard = new Map(controls.map((control) => [control, this.#heard.get(control) ?? elapsedMs]));
  }

  /** SIGKILL. */
  crash(): void {
    if (!this.#process) return;
    this.world.trace.add(this.name, 'crashes');
    this.#process.kill();
    this.#forget();
  }

  #forget(): void {
    this.#process = undefined;
    this.#launcher = undefined;
    this.#reloader = undefined;
    this.#api = undefined;
  }

  /** SIGTERM. As in a service, a second one ends it at once. */
  async stop(): Promise<void> {
    const process = this.#process;
    const launcher = this.#launcher;
    if (!process || !launcher || this.isStopping) return this.crash();
    this.world.trace.add(this.name, 'stops');
    this.isStopping = this.#isLeaving = true;
    try {
      await launcher.drain(20_000);
      const isDone = await haveEnded(process, launcher);
      await launcher.stop();
      if (isDone) await process.zk.close();
    } catch (error) {
      if (!process.isDead) this.world.trace.add(this.name, () => `stopping failed: ${String(error)}`);
    }
    process.kill();
    if (this.#process !== process) return;
    this.#forget();
  }

  /** SIGQUIT of a successor: as in a service, orders end, then the session is closed. Starts again at once. */
  async handOver(): Promise<void> {
    const process = this.#process;
    const launcher = this.#launcher;
    if (!process || !launcher) return;
    this.world.trace.add(this.name, 'hands over');
    this.#isLeaving = true;
    try {
      const isDone = await haveEnded(process, launcher);
      if (process.isDead) return;
      await (isDone ? process.zk.close() : process.zk.leave());
      await launcher.stop();
    } catch (error) {
      if (!process.isDead) this.world.trace.add(this.name, () => `handing over failed: ${String(error)}`);
    }
    process.kill();
    if (this.#process !== process) return;
    this.#forget();
    this.start();
  }

  /** Writes its file, which it reads now or at the next start. */
  reconfigure(spec: ConfigSpec): void {
    this.#config.write(spec);
    this.#reload();
  }

  /** Writes a file that is broken; the right one comes later. */
  breakFile(spec: ConfigSpec): void {
    this.#config.writeBroken(spec);
    this.#reload();
  }

  #reload(): void {
    const process = this.#process;
    const reloader = this.#reloader;
    if (!process || !reloader) return;
    this.world.trace.add(this.name, 'reloads its configuration');
    this.reloadedMs = this.world.elapsedMs;
    void reloader.reload().then(() => {
      if (!process.isDead) this.#config.checkReload(reloader, this.#isLeaving ? undefined : this.#launcher);
    });
  }
}

/** Whether the orders in clouds have ended in time; otherwise a service leaves its session to expire. */
async function haveEnded({ clock }: SimulatedProcess, launcher: Launcher): Promise<boolean> {
  const unfinished = await unfinishedAfter(ORDERS_MS, clock, new Map([['orders', launcher.endOrders()]]));
  return unfinished.length === 0;
}

function featuresBut(without: string | undefined, features: typeof FEATURES): typeof FEATURES {
  return Object.fromEntries(Object.entries(features).filter(([name]) => name !== without));
}
