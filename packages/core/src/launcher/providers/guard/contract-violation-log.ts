import type { Clock } from '@nodepool/zk-protocol';
import type { Logger } from '../../../contract/logger.js';
import { inDriverScope, type DriverScope } from './driver-scope.js';

/** A driver is asked many times a second: the same complaint is written once in this time. */
const SILENCE_MS = 60_000;

/** Writes down what a driver does wrong, and gives the answer that is safe. */
export class ContractViolationLog {
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** Of the driver that is asked. */
  readonly scope: DriverScope;
  readonly #saidMs = new Map<string, number>();

  constructor(clock: Clock, logger: Logger, scope: DriverScope) {
    this.scope = scope;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Asks the driver; an error or an answer that is none gives the safe answer instead. */
  ask<T>(method: string, safe: T, ask: () => T, isAnswer: (answer: unknown) => boolean = () => true): T {
    try {
      const answer: unknown = inDriverScope(this.scope, ask);
      if (isAnswer(answer)) return answer as T;
      this.tell(method, new TypeError(`${method} returned ${describe(answer)}`));
    } catch (error) {
      this.tell(method, error);
    }
    return safe;
  }

  tell(method: string, error: unknown): void {
    const now = this.#clock.now();
    const said = this.#saidMs.get(method);
    if (said !== undefined && now - said < SILENCE_MS) return;
    this.#saidMs.set(method, now);
    this.#logger.error('The driver broke its contract; continuing without its answer', { method, error });
  }
}

function describe(value: unknown): string {
  if (value instanceof Promise) return 'a promise, expected the answer itself';
  if (value === null || typeof value !== 'object') return String(value);
  return `an object of class ${value.constructor?.name ?? 'unknown'}`;
}
