import { resumeStep } from '../../text/resume-step.js';
import { describeControl, type ControlRecord } from '@nodepool/zk-protocol';
import { reason } from './candidates.js';
import { isAboutLabel } from './controls.js';
import type { PoolView, Reason } from './types.js';

/**
 * How many more launches a planning pass may begin: by `max-concurrency`, by the limit that launches in time raise, and by operators' orders that
 * limit labels and images. Quota is the budget's concern.
 */
export class LaunchLimits {
  readonly #view: PoolView;
  readonly #rampLimit: number;
  #left: number;
  /** Unlimited while no launch is in progress: a request that needs more than the limit would wait indefinitely otherwise. */
  #rampLeft: number;
  readonly #orders: readonly { readonly control: ControlRecord; left: number }[];

  constructor(view: PoolView) {
    const { maxConcurrency, activeLaunches, launchLimit = Infinity } = view;
    this.#view = view;
    this.#rampLimit = launchLimit;
    this.#left = maxConcurrency < 0 ? Infinity : maxConcurrency - activeLaunches;
    this.#rampLeft = activeLaunches === 0 ? Infinity : launchLimit - activeLaunches;
    this.#orders = (view.controls ?? [])
      .filter(({ kind, mode }) => mode === 'limit' && (kind === 'label' || kind === 'image'))
      .map((control) => ({ control, left: (control.limit ?? 0) - (view.countOrdered?.(control) ?? 0) }));
  }

  /**
   * Whether launches are allowed, and none is in progress. The number of launches is then only reached by those that requests ahead,
   * or this one, wait to begin: a shortage of quota says more.
   */
  get isIdle(): boolean {
    const { activeLaunches, maxConcurrency } = this.#view;
    return activeLaunches === 0 && maxConcurrency !== 0;
  }

  /** Counts launches that this pass begins. */
  take(launches: number): void {
    if (launches === 0) return;
    this.#left -= launches;
    this.#rampLeft = Math.min(this.#rampLeft, this.#rampLimit) - launches;
  }

  /** Counts a node of the label that is launched, or reserved for a request, against the orders. */
  takeOrdered(label: string): void {
    for (const order of this.#orders) if (isAboutLabel(order.control, label, this.#view)) order.left--;
  }

  /** Why no launch may begin after those given to the same request; `undefined`: one may. */
  findShortage(given: number): Reason | undefined {
    if (this.#left - given <= 0) return this.#tooMany();
    return this.#rampLeft - given <= 0 ? this.#tooManyAtOnce() : undefined;
  }

  /** The order that forbids launching a node of the label, given the labels already launched for the same request. */
  findOrder(label: string, launched: readonly string[]): Reason | undefined {
    const found = this.#orders.find(({ control, left }) => {
      if (!isAboutLabel(control, label, this.#view)) return false;
      return left <= launched.filter((other) => isAboutLabel(control, other, this.#view)).length;
    });
    if (!found) return undefined;
    const { kind, name, owner, limit } = found.control;
    return reason(
      'limited-by-operator',
      `${kind} "${name}" is ${describeControl(found.control)}; ${(limit ?? 0) - found.left} are there or about to be`,
      `nodes of the ${kind} are returned, or: ${resumeStep(found.control)}`,
      { kind, name, owner, limit: limit ?? 0 },
    );
  }

  get #inProgress(): string {
    const { activeLaunches, provider } = this.#view;
    return `provider "${provider}" has ${activeLaunches} ${activeLaunches === 1 ? 'launch' : 'launches'} in progress`;
  }

  #tooMany(): Reason {
    const { maxConcurrency, activeLaunches } = this.#view;
    const kept = Math.max(0, maxConcurrency - activeLaunches);
    const others = kept > 0 ? `, ${kept} more to begin for it and requests ahead` : '';
    return reason(
      'max-concurrency',
      `${this.#inProgress}${others}, max-concurrency is ${maxConcurrency}`,
      'a launch of the provider ends, or max-concurrency is raised',
      { active: activeLaunches, limit: maxConcurrency },
    );
  }

  #tooManyAtOnce(): Reason {
    const { activeLaunches, steering } = this.#view;
    const why = steering?.report().speed.error;
    return reason(
      'launch-ramp',
      `${this.#inProgress}, ${this.#rampLimit} at once are allowed${why === undefined ? '' : `: ${why}`}`,
      'a launch of the provider ends; the limit rises while launches take their usual time',
      { active: activeLaunches, limit: this.#rampLimit },
    );
  }
}
