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

  /** Dies without a word. */
  kill(): void {
    if (this.isDead) return;
    this.isDead = true;
    this.clock.kill();
    this.zk.kill();
  }
}
