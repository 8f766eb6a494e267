import type { NodeEntry, Random } from '@nodepool/core/testing';
import { Violation } from '../world/violation.js';
import type { World } from '../world/world.js';
import type { SimulatedLauncher } from './launcher.js';

const REQUESTOR = 'NodePool:min-ready';
/** The largest number of any launcher; some are above `at-most`, which must hold all the same. */
const HIGHEST = 6;
/** The largest `min-ready`, which applies without a number. */
const LARGEST_MIN_READY = 3;

/** Settings of a label with `standby`. */
export interface SimulatedStandby {
  readonly standby?: { readonly atMost: number };
}

/**
 * Numbers of standby nodes that change at random and differ between launchers, as those of launchers that counted different demand do. All launchers together may never make more standby nodes of a label than one of them may keep.
 */
export class Forecasts {
  readonly #world: World;
  readonly #launchers: readonly SimulatedLauncher[];
  readonly #random: Random;
  readonly #atMost = new Map<string, number>();

  constructor(world: World, launchers: readonly SimulatedLauncher[], labels: readonly string[]) {
    this.#world = world;
    this.#launchers = launchers;
    this.#random = world.random.fork();
    for (const label of labels) if (this.#random.chance(0.3)) this.#atMost.set(label, this.#random.int(1, 4));
    if (this.#atMost.size > 0) world.checker.watch((before, node, who) => void (before ?? this.#checkNew(node, who)));
  }

  settingsOf(label: string): SimulatedStandby {
    const atMost = this.#atMost.get(label);
    return atMost === undefined ? {} : { standby: { atMost } };
  }

  /** Gives one launcher other numbers. */
  change(): void {
    const random = this.#random;
    const { running, standby } = random.pick(this.#launchers);
    if (!running || this.#atMost.size === 0) return;
    const level = () => ({ nodes: random.int(0, HIGHEST), reason: 'as simulated', isFallback: random.chance(0.1) });
    standby.keep(new Map([...this.#atMost.keys()].map((label) => [label, level()])));
  }

  #checkNew(node: NodeEntry, who: string): void {
    const [label = ''] = node.labels;
    const atMost = this.#atMost.get(label);
    if (atMost === undefined || !this.#isIdle(node)) return;
    const coming = [...this.#world.checker.nodes.values()].filter(
      (each) => each.labels[0] === label && this.#isIdle(each),
    );
    // a node that was given up for another one of its request cannot be stored so while its record is spoiled
    const count = new Set(coming.map(({ allocatedTo }) => allocatedTo)).size;
    const most = Math.max(atMost, LARGEST_MIN_READY);
    if (count > most)
      this.#world.violate(
        new Violation(`${who}: ${count} standby nodes of ${label} are being made, of at most ${most}`),
      );
  }

  /** Whether the node is being made for a request of a launcher that keeps it as a standby node; probes name a provider. */
  #isIdle({ state, allocatedTo }: NodeEntry): boolean {
    if ((state !== 'init' && state !== 'building') || allocatedTo === null) return false;
    const request = this.#world.checker.requests.get(allocatedTo);
    return request?.body['requestor'] === REQUESTOR && typeof request.body['provider'] !== 'string';
  }
}
