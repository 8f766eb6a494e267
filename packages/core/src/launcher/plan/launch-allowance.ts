import { reason } from './candidates.js';
import type { PoolView, Reason } from './types.js';

/** How many launches a planning pass may still begin: by the configuration, and by how earlier launches went. */
export class LaunchAllowance {
  readonly #view: PoolView;
  readonly #limit: number;
  #left: number;
  /** With none under way, the first request has as many as it needs: it would wait indefinitely otherwise. */
  #rampLeft: number;

  constructor(view: PoolView) {
    const { maxConcurrency, activeLaunches, launchLimit = Infinity } = view;
    this.#view = view;
    this.#limit = launchLimit;
    this.#left = maxConcurrency < 0 ? Infinity : maxConcurrency - activeLaunches;
    this.#rampLeft = activeLaunches === 0 ? Infinity : launchLimit - activeLaunches;
  }

  take(launches: number): void {
    if (launches === 0) return;
    this.#left -= launches;
    this.#rampLeft = Math.min(this.#rampLeft, this.#limit) - launches;
  }

  /** Why no launch may begin beside those that the same request has already been given; `undefined`: one may. */
  shortage(given: number): Reason | undefined {
    if (this.#left - given <= 0) return this.#tooMany();
    return this.#rampLeft - given <= 0 ? this.#tooManyAtOnce() : undefined;
  }

  get #underWay(): string {
    const { activeLaunches, provider } = this.#view;
    return `provider "${provider}" has ${activeLaunches} ${activeLaunches === 1 ? 'launch' : 'launches'} under way`;
  }

  #tooMany(): Reason {
    const { maxConcurrency, activeLaunches } = this.#view;
    const kept = Math.max(0, maxConcurrency - activeLaunches);
    const others = kept > 0 ? `, ${kept} more to begin for it and requests ahead` : '';
    return reason(
      'max-concurrency',
      `${this.#underWay}${others}, max-concurrency is ${maxConcurrency}`,
      'a launch of the provider ends, or max-concurrency is raised',
      { active: activeLaunches, limit: maxConcurrency },
    );
  }

  #tooManyAtOnce(): Reason {
    const { activeLaunches, steering } = this.#view;
    const why = steering?.report().ramp.why;
    return reason(
      'launch-ramp',
      `${this.#underWay}, and ${this.#limit} at once are thought right${why === undefined ? '' : `: ${why}`}`,
      'a launch of the provider ends; while launches take their usual time more are begun at once',
      { active: activeLaunches, limit: this.#limit },
    );
  }
}
