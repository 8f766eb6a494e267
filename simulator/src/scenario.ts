import { Chaos } from './chaos.js';
import type { ConfigSpec } from './config.js';
import type { Fleet } from './fleet.js';
import { SimulatedLauncher } from './launcher.js';
import { Operator } from './operator.js';
import type { Random } from './random.js';
import { StaticFleet } from './static-fleet.js';
import type { World } from './world.js';
import { ZuulClient, type JobPlan } from './zuul.js';

const LABELS = ['small', 'medium', 'large'];

/** Who takes part in one run, and what they do; all of it from the seed. */
export class Scenario {
  readonly fleets: Fleet[] = [];
  readonly launchers: SimulatedLauncher[] = [];
  readonly clients: ZuulClient[] = [];
  readonly operator: Operator;
  readonly chaos: Chaos;
  readonly #world: World;
  readonly #random: Random;
  #isOver = false;

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random.fork();
    const random = this.#random;
    for (let i = random.int(1, 2); i > 0; i--) this.#addFleet(new StaticFleet(`rack${i}`, LABELS, random.fork()));
    for (let i = random.int(1, 3); i > 0; i--) {
      this.launchers.push(new SimulatedLauncher(world, `launcher${i}`, this.spec()));
    }
    for (let i = random.int(1, 2); i > 0; i--) this.clients.push(new ZuulClient(world, `zuul${i}`));
    this.operator = new Operator(world);
    this.chaos = new Chaos(world, this.launchers, this.clients);
  }

  /** The configuration as it should be everywhere. */
  spec(): ConfigSpec {
    return { labels: LABELS.map((name) => ({ name })), providers: this.fleets.map((fleet) => fleet.entry()) };
  }

  begin(): void {
    const random = this.#random;
    for (const { start } of [...this.launchers, ...this.clients].map((actor) => ({ start: () => actor.start() })))
      start();
    this.#world.repeat(random.pick([200, 1_000, 4_000]), () => this.#whileOn(() => this.#submit()));
    if (random.chance(0.5)) this.#world.repeat(20_000, () => this.#whileOn(() => this.#changeConfig()));
    if (random.chance(0.5)) this.#world.repeat(15_000, () => this.#whileOn(() => this.#meddle()));
    if (random.chance(0.85)) this.chaos.begin(random.pick([300, 2_000, 10_000]));
  }

  /** No new work, no more faults; all launchers get the same configuration. */
  end(): void {
    this.#isOver = true;
    this.chaos.end();
    for (const fleet of this.fleets) fleet.calm?.();
    for (const launcher of this.launchers) launcher.reconfigure(this.spec());
  }

  /** One ordinary request for each label on offer. @returns how many */
  probe(): number {
    const labels = new Set(this.fleets.flatMap((fleet) => fleet.offers().map(({ name }) => name)));
    const [client] = this.clients;
    for (const label of labels) {
      const never = { cancelAfterMs: undefined, reviseAfterMs: undefined, holdMs: undefined };
      client?.submit({ labels: [label], priority: 200, relativePriority: 0, provider: null, useMs: 1_000, ...never });
    }
    return labels.size;
  }

  #addFleet(fleet: Fleet): void {
    this.#world.drivers.set(fleet.driver.name, fleet.driver);
    this.fleets.push(fleet);
  }

  #whileOn(act: () => void): boolean {
    if (!this.#isOver) act();
    return !this.#isOver;
  }

  #submit(): void {
    const random = this.#random;
    const maybe = (share: number, meanMs: number) => (random.chance(share) ? random.exponential(meanMs) : undefined);
    const plan: JobPlan = {
      labels: Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () => random.pick(LABELS)),
      priority: random.pick([100, 200, 200, 300]),
      relativePriority: random.int(0, 3),
      provider: random.chance(0.1) ? random.pick(this.fleets).name : null,
      useMs: random.exponential(random.pick([10, 1_000, 5_000])),
      cancelAfterMs: maybe(0.15, 1_000),
      reviseAfterMs: maybe(0.2, 500),
      holdMs: maybe(0.05, 10_000),
    };
    random.pick(this.clients).submit(plan);
  }

  #changeConfig(): void {
    this.#world.trace.add('operator', `changes the configuration: ${this.#random.pick(this.fleets).change()}`);
    const spec = this.spec();
    for (const launcher of this.launchers) {
      this.#world.clock.setTimer(this.#random.exponential(3_000), () => {
        if (!this.#isOver) launcher.reconfigure(spec);
      });
    }
  }

  #meddle(): void {
    const ids = [...this.#world.books.nodes.keys()];
    if (ids.length === 0) return;
    void this.operator.deleteNode(this.#random.pick(ids));
  }
}
