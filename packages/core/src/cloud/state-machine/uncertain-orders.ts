import { steadyNow, type Clock } from '@nodepool/zk-protocol';
import { newCondition, type FoundCondition } from '../../contract/condition.js';
import { CONDITIONS } from '../task-manager/open-calls.js';

/** A cloud that is well shows by then what an order has made. */
const LATE_MS = 20_000;
/** An order ends in less; the next failure begins a new series. */
const SERIES_GAP_MS = 60_000;

/** Orders of one provider that were answered with an error and may have taken effect, until one is answered with an instance. */
export class UncertainOrders {
  readonly #clock: Clock;
  #sinceMs: number | undefined;
  #lastMs = -Infinity;
  #text = '';

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param text - what the launch does about it, with the error */
  add(text: string): void {
    const nowMs = steadyNow(this.#clock);
    if (nowMs - this.#lastMs > SERIES_GAP_MS) this.#sinceMs = undefined;
    this.#sinceMs ??= nowMs;
    this.#lastMs = nowMs;
    this.#text = text;
  }

  /** An order has made an instance. */
  end(): void {
    this.#sinceMs = undefined;
  }

  conditions(provider: string): FoundCondition[] {
    const nowMs = steadyNow(this.#clock);
    if (this.#sinceMs === undefined || nowMs - this.#sinceMs < LATE_MS || nowMs - this.#lastMs > SERIES_GAP_MS)
      return [];
    return [
      newCondition(CONDITIONS, 'CallsUnanswered', {
        ...{ name: provider, reason: 'Unavailable' },
        message: `orders of instances are answered with errors: ${this.#text}`,
        nextStep: `look at the API of the cloud of provider "${provider}"`,
      }),
    ];
  }
}
