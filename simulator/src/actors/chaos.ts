import type { Fleet } from '../fleets/fleet.js';
import type { SimulatedLauncher } from './launcher.js';
import type { SimulatedProcess } from '../world/process.js';
import type { World } from '../world/world.js';
import type { ZuulClient } from './zuul.js';

/** Kinds of faults and their frequency. */
export class Chaos {
  readonly #world: World;
  readonly #launchers: readonly SimulatedLauncher[];
  readonly #clients: readonly ZuulClient[];
  readonly #fleets: readonly Fleet[];
  #isOver = false;

  constructor(
    world: World,
    launchers: readonly SimulatedLauncher[],
    clients: readonly ZuulClient[],
    fleets: readonly Fleet[],
  ) {
    this.#world = world;
    this.#fleets = fleets;
    this.#launchers = launchers;
    this.#clients = clients;
  }

  /** @param meanMs - between two faults */
  begin(meanMs: number): void {
    const { drawn } = this.#world;
    if (!drawn.has('processes') && !drawn.has('clouds')) return;
    this.#world.repeat(meanMs, () => {
      if (this.#isOver) return false;
      this.#strike();
      return true;
    });
  }

  /** Ends all faults and restarts dead processes. */
  end(): void {
    this.#isOver = true;
    for (const launcher of this.#launchers) launcher.start();
    for (const client of this.#clients) client.start();
    for (const process of this.#processes()) this.#calm(process);
  }

  #strike(): void {
    const { random, drawn } = this.#world;
    const fleet = random.pick(this.#fleets);
    if (drawn.has('clouds') && fleet.strike && random.chance(0.4)) return fleet.strike();
    if (!drawn.has('processes')) return;
    const process = random.pick([...this.#launchers, ...this.#clients]).process;
    const roll = random.int(0, 99);
    if (roll < 12) this.#crashLauncher();
    else if (roll < 15) this.#stopLauncher();
    else if (roll < 20) void random.pick(this.#launchers).handOver();
    else if (roll < 23) this.#crashClient();
    else if (process === undefined) return;
    else if (roll < 50) this.#breakConnection(process);
    else if (roll < 60) this.#outage(process);
    else if (roll < 75) this.#silence(process);
    else if (roll < 88) this.#slow(process);
    else this.#stall(process);
  }

  #crashLauncher(): void {
    const { random, clock } = this.#world;
    const launcher = random.pick(this.#launchers);
    launcher.crash();
    clock.setTimer(random.exponential(8_000), () => launcher.start());
  }

  #stopLauncher(): void {
    const { random, clock } = this.#world;
    const launcher = random.pick(this.#launchers);
    void launcher.stop().then(() => clock.setTimer(random.exponential(5_000), () => launcher.start()));
  }

  #crashClient(): void {
    const { random, clock } = this.#world;
    if (this.#clients.length === 0) return;
    const client = random.pick(this.#clients);
    client.crash();
    clock.setTimer(random.exponential(8_000), () => client.start());
  }

  #breakConnection(process: SimulatedProcess): void {
    this.#world.trace.add('chaos', `connection of ${process.name} breaks`);
    process.link.break();
  }

  /** Cuts a process off, perhaps for longer than its session lives. */
  #outage(process: SimulatedProcess): void {
    const { random, clock, trace } = this.#world;
    const ms = random.exponential(8_000);
    trace.add('chaos', `${process.name} is cut off for ${Math.round(ms)} ms`);
    process.weather.refusal = 1;
    process.link.break();
    clock.setTimer(ms, () => (process.weather.refusal = 0));
  }

  #silence(process: SimulatedProcess): void {
    const ms = this.#world.random.exponential(6_000);
    this.#world.trace.add('chaos', `nothing reaches ${process.name} for ${Math.round(ms)} ms`);
    process.silence(ms);
  }

  #slow(process: SimulatedProcess): void {
    const { random, trace } = this.#world;
    const latencyMs = random.pick([20, 200, 1_000]);
    trace.add('chaos', `the way of ${process.name} to ZooKeeper takes ${latencyMs} ms`);
    process.slow(latencyMs, random.exponential(10_000));
  }

  #stall(process: SimulatedProcess): void {
    const ms = this.#world.random.exponential(6_000);
    this.#world.trace.add('chaos', `${process.name} stalls for ${Math.round(ms)} ms`);
    process.stall(ms);
  }

  #calm(process: SimulatedProcess): void {
    process.weather.refusal = 0;
    process.weather.latencyMs = this.#world.latencyMs;
  }

  #processes(): SimulatedProcess[] {
    return [...this.#launchers, ...this.#clients]
      .map(({ process }) => process)
      .filter((process) => process !== undefined);
  }
}
