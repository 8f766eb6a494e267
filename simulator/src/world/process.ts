import { InProcessZooKeeper, type InProcessServer } from '@nodepool/zk-protocol/in-process';
import type { Logger } from '@nodepool/core';
import { ProcessClock } from '@nodepool/core/testing';
import { Violation } from './violation.js';
import { Weather } from './weather.js';
import type { World } from './world.js';

/** One process of the simulation: a clock, a session, and a way to die. */
export class SimulatedProcess {
  readonly clock: ProcessClock;
  readonly weather: Weather;
  readonly zk: InProcessZooKeeper;
  readonly logger: Logger;
  isDead = false;
  readonly #stalls: { readonly beginMs: number; endMs: number }[] = [];

  constructor(
    readonly world: World,
    readonly name: string,
    server: InProcessServer,
  ) {
    this.clock = new ProcessClock(world.clock);
    this.weather = new Weather(world.random.fork());
    this.weather.latencyMs = world.latencyMs;
    this.zk = new InProcessZooKeeper(server, {
      clock: this.clock,
      serverClock: world.clock,
      conditions: this.weather,
      random: world.random.fork().next,
      onListenerError: (error) => world.violate(new Violation(`${name}: a listener threw ${String(error)}`)),
    });
    this.logger = world.trace.logger(name, (message, fields) => {
      if (!this.isDead) world.errorLogged(name, message, fields);
    });
    world.checker.follow(this.zk, name);
    this.zk.onState((state) => {
      world.trace.add(name, () => `is ${state}, session 0x${this.zk.sessionId.toString(16)}`);
    });
  }

  /** Does not run for so many milliseconds. */
  stall(ms: number): void {
    this.#noteStall(ms);
    this.clock.stall(ms);
  }

  /** Hears nothing of ZooKeeper for so many milliseconds. */
  silence(ms: number): void {
    this.#noteStall(ms);
    this.zk.hold(ms);
  }

  /** For how much of this time it did not run, or heard nothing of ZooKeeper: what it asked there was not answered. */
  stalledMs(fromMs: number, untilMs: number): number {
    const within = this.#stalls.map(({ beginMs, endMs }) => Math.min(endMs, untilMs) - Math.max(beginMs, fromMs));
    return within.reduce((sum, ms) => sum + Math.max(ms, 0), 0);
  }

  #noteStall(ms: number): void {
    const beginMs = this.world.clock.now();
    const last = this.#stalls.at(-1);
    if (last && last.endMs >= beginMs) last.endMs = Math.max(last.endMs, beginMs + ms);
    else this.#stalls.push({ beginMs, endMs: beginMs + ms });
  }

  /** Dies without a word. */
  kill(): void {
    if (this.isDead) return;
    this.isDead = true;
    this.clock.kill();
    this.zk.kill();
  }
}
