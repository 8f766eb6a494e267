import type { ZooKeeper } from '@nodepool/zk-protocol';
import { connectInMemory, type MemoryLink, type MemoryServer } from '@nodepool/zk-protocol/memory';
import type { Logger } from '@nodepool/core';
import { ProcessClock } from '@nodepool/core/testing';
import { Weather } from './weather.js';
import type { World } from './world.js';

/** Mean latencies after which the last packets of a slow connection have arrived. */
const LATEST_PACKETS = 5;

/** One simulated process with a clock and a session. Can stall, lose its connection and crash. */
export class SimulatedProcess {
  readonly clock: ProcessClock;
  readonly weather: Weather;
  readonly zk: ZooKeeper;
  readonly link: MemoryLink;
  readonly logger: Logger;
  isDead = false;
  /** Whether its clock was set while it ran. */
  isStepped = false;
  #steppedMs = 0;
  readonly #stalls: { readonly beginMs: number; endMs: number }[] = [];

  constructor(
    readonly world: World,
    readonly name: string,
    server: MemoryServer,
    aheadMs = 0,
  ) {
    this.clock = new ProcessClock(world.clock, aheadMs);
    this.weather = new Weather(world.random.fork());
    this.weather.latencyMs = world.latencyMs;
    this.logger = world.trace.logger(name, (message, fields) => {
      if (!this.isDead) world.errorLogged(name, message, fields);
    });
    const { zk, link } = connectInMemory(server, {
      clock: this.clock,
      socketClock: this.clock.sockets,
      serverClock: world.clock,
      conditions: this.weather,
      random: world.random.fork().next,
      logger: this.logger,
    });
    this.zk = zk;
    this.link = link;
    world.checker.follow(this.zk, name);
    world.processes.push(this);
    this.zk.onState((state) => {
      world.trace.add(name, () => `is ${state}, session 0x${this.zk.sessionId.toString(16)}`);
    });
  }

  /** Stalls the process. */
  stall(ms: number): void {
    this.#noteStall(ms);
    this.clock.stall(ms, { order: this.world.wakeOrder(), holdImmediates: this.world.holdImmediates });
  }

  /** Sets its clock. */
  step(ms: number): void {
    if (this.isDead) return;
    this.world.trace.add(this.name, () => `its clock is set by ${Math.round(ms / 1000)} s`);
    this.isStepped = true;
    this.#steppedMs += ms;
    this.clock.step(ms);
  }

  /** Sets its clock to what it would show if it had not been set. */
  stepBack(): void {
    if (this.#steppedMs !== 0) this.step(-this.#steppedMs);
  }

  /** Blocks packets from ZooKeeper. */
  silence(ms: number): void {
    this.#noteStall(ms);
    this.link.hold(ms);
  }

  /** Makes the way to ZooKeeper slow. */
  slow(latencyMs: number, ms: number): void {
    this.#noteStall(ms + LATEST_PACKETS * latencyMs);
    this.weather.latencyMs = latencyMs;
    this.world.clock.setTimer(ms, () => (this.weather.latencyMs = this.world.latencyMs));
  }

  /**
   * Part of a period in which the process was stalled, or its packets from ZooKeeper were late.
   * @param fromMs - by the clock of the process, which was never set, as is `untilMs`
   */
  stalledMs(fromMs: number, untilMs: number): number {
    const within = this.#stalls.map(({ beginMs, endMs }) => Math.min(endMs, untilMs) - Math.max(beginMs, fromMs));
    return within.reduce((sum, ms) => sum + Math.max(ms, 0), 0);
  }

  #noteStall(ms: number): void {
    const beginMs = this.clock.now();
    const last = this.#stalls.at(-1);
    if (last && last.endMs >= beginMs) last.endMs = Math.max(last.endMs, beginMs + ms);
    else this.#stalls.push({ beginMs, endMs: beginMs + ms });
  }

  /** Crashes. */
  kill(): void {
    if (this.isDead) return;
    this.isDead = true;
    this.clock.kill();
    this.link.sever();
  }
}
