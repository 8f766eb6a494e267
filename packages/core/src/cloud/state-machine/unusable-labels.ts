import type { Clock } from '@nodepool/zk-protocol';
import { newCondition, type FoundCondition } from '../../contract/condition.js';
import { CONDITIONS } from '../../contract/driver-conditions.js';

/** Labels of a provider that cannot be used, each in its pool. */
export class UnusableLabels {
  readonly #provider: string;
  readonly #clock: Pick<Clock, 'now'>;
  /** By the name of the condition. */
  readonly #found = new Map<string, FoundCondition>();

  constructor(provider: string, clock: Pick<Clock, 'now'>) {
    this.#provider = provider;
    this.#clock = clock;
  }

  get all(): FoundCondition[] {
    return [...this.#found.values()];
  }

  has(pool: string, label: string): boolean {
    return this.#found.size > 0 && this.#found.has(this.#nameOf(pool, label));
  }

  /**
   * Records the result of a look.
   * @param error - why the label cannot be used; `undefined`: it can
   * @returns whether that is news
   */
  set(pool: string, label: string, error: Error | undefined): boolean {
    const name = this.#nameOf(pool, label);
    if (error === undefined) return this.#found.delete(name);
    const nowMs = this.#clock.now();
    const isNews = this.#found.get(name)?.message !== error.message;
    const found = newCondition(CONDITIONS, 'LabelUnusable', {
      ...{ name, reason: detail(error, 'reason') ?? 'Misconfigured', message: error.message },
      nextStep: detail(error, 'nextStep') ?? NEXT_STEP,
      evidence: { provider: this.#provider, pool, label },
      sinceMs: this.#found.get(name)?.sinceMs ?? nowMs,
      lastSeenMs: nowMs,
    });
    this.#found.set(name, found);
    return isNews;
  }

  #nameOf(pool: string, label: string): string {
    return `${this.#provider}/${pool}/${label}`;
  }
}

const NEXT_STEP = 'correct the label in the configuration or the cloud; it is tried again without a restart';

/** Of a `ConfigError`, whichever copy of this package made it. */
function detail(error: Error, key: 'reason' | 'nextStep'): string | undefined {
  const value: unknown = Reflect.get(error, key);
  return typeof value === 'string' ? value : undefined;
}
