import type { SimulatedLauncher } from './launcher.js';
import type { World } from '../world/world.js';

/** Share of the transactions of launchers, and of their calls of clouds, at which one is struck. */
const STRUCK = 0.01;

/**
 * Kills and replaces launchers in the middle of what they do: before and after one of their transactions or calls takes effect, and
 * before and after they hear of it.
 */
export class LauncherFaults {
  readonly #world: World;
  readonly #launchers: readonly SimulatedLauncher[];
  readonly #random;
  #isOn = false;

  constructor(world: World, launchers: readonly SimulatedLauncher[]) {
    this.#world = world;
    this.#launchers = launchers;
    this.#random = world.random.fork();
  }

  begin(): void {
    this.#isOn = true;
    const find = (isMeant: (launcher: SimulatedLauncher) => boolean) => this.#launchers.find(isMeant);
    this.#world.onWrite = (who) => this.#step(find(({ name }) => name === who));
    this.#world.onCloudCall = (clock, orderedFor) => {
      const launcher = find(({ process }) => process?.clock === clock);
      if (orderedFor !== undefined) this.#world.launches?.ordered(orderedFor, launcher?.process?.zk.sessionId);
      this.#step(launcher);
    };
  }

  end(): void {
    this.#isOn = false;
  }

  #step(launcher: SimulatedLauncher | undefined): void {
    const random = this.#random;
    if (!launcher || !this.#isOn || !random.chance(STRUCK)) return;
    const { clock, latencyMs } = this.#world;
    clock.setTimer(random.pick([0, 0, random.exponential(2 * latencyMs)]), () => {
      if (this.#isOn) this.#strike(launcher);
    });
  }

  #strike(launcher: SimulatedLauncher): void {
    const { clock } = this.#world;
    const random = this.#random;
    const roll = random.int(0, 9);
    if (roll < 4) {
      launcher.crash();
      clock.setTimer(random.exponential(random.pick([50, 8_000])), () => launcher.start());
    } else if (roll < 7) {
      void launcher.handOver();
    } else if (roll < 8) {
      launcher.process?.stall(random.exponential(8_000)); // its session may end meanwhile
    } else {
      launcher.process?.link.break();
    }
  }
}
