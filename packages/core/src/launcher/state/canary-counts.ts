import { afterPrevious, afterUses, type Canary, type Uses } from '../../canary/canary.js';
import { added, NONE, type LaunchCounts } from '../../canary/rates.js';

/** As many are told to other launchers even when nothing depends on them. */
const TOLD_TOGETHER = 20;

/** What is not stored yet of the trial of one build. */
export interface UnstoredCounts {
  /** Of the previous build, by provider. */
  readonly launches: Map<string, LaunchCounts>;
  uses: Uses;
}

/**
 * How launches of previous builds and uses of nodes have ended while new builds are tried out, as far as it is not stored
 * yet. By the new build.
 */
export class CanaryCounts {
  readonly #unstored = new Map<string, UnstoredCounts>();

  has(build: string): boolean {
    return this.#unstored.has(build);
  }

  /** A launch of the build before it has ended. */
  addLaunch(build: string, provider: string, counts: LaunchCounts): void {
    const { launches } = this.#of(build);
    launches.set(provider, added(launches.get(provider) ?? NONE, counts));
  }

  /** Nodes were given back. */
  addUses(build: string, { now, before }: Uses): void {
    const unstored = this.#of(build);
    unstored.uses = { now: added(unstored.uses.now, now), before: added(unstored.uses.before, before) };
  }

  /** Whether a decision waits for what is known here, or much of it has come together. */
  isWorthTelling(build: string, { doubts, refused }: Canary): boolean {
    const unstored = this.#unstored.get(build);
    if (refused !== null || !unstored) return false;
    const { launches, uses } = unstored;
    if (uses.now.failed > 0 || [...launches.keys()].some((provider) => doubts[provider] !== undefined)) return true;
    const all = [uses.now, uses.before, ...launches.values()].reduce(added, NONE);
    return all.ready + all.failed >= TOLD_TOGETHER;
  }

  /** Counts that are about to be stored. */
  take(build: string): UnstoredCounts {
    const taken = this.#of(build);
    this.#unstored.delete(build);
    return taken;
  }

  /** They could not be stored. */
  putBack(build: string, { launches, uses }: UnstoredCounts): void {
    if (launches.size === 0 && isEmpty(uses)) return;
    launches.forEach((counts, provider) => this.addLaunch(build, provider, counts));
    this.addUses(build, uses);
  }

  #of(build: string): UnstoredCounts {
    const known = this.#unstored.get(build);
    if (known) return known;
    const unstored: UnstoredCounts = { launches: new Map(), uses: { now: NONE, before: NONE } };
    this.#unstored.set(build, unstored);
    return unstored;
  }
}

/** What is known of the build with these counts. */
export function applyCounts({ launches, uses }: UnstoredCounts, canary: Canary, nowMs: number): Canary {
  return [...launches].reduce(
    (result, [provider, counts]) => afterPrevious(result, provider, counts, nowMs),
    afterUses(canary, uses),
  );
}

function isEmpty({ now, before }: Uses): boolean {
  const { ready, failed } = added(now, before);
  return ready + failed === 0;
}
