import type { FailureKind } from './options.js';

/** Requested and random failures. */
export class Failures {
  readonly #random: () => number;
  readonly #calls: FailureKind[] = [];
  readonly #inserts: FailureKind[] = [];
  readonly #rates = new Map<FailureKind, number>();

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Makes the next call (`unavailable`, `rate-limited`) or the next insert fail. */
  queue(kind: FailureKind): void {
    (isOfAnyCall(kind) ? this.#calls : this.#inserts).push(kind);
  }

  /** @param rate - from 0 to 1 */
  setRate(kind: FailureKind, rate: number): void {
    this.#rates.set(kind, rate);
  }

  ofCall(): FailureKind | undefined {
    return this.#calls.shift() ?? this.#byChance(['unavailable', 'rate-limited']);
  }

  ofInsert(): FailureKind | undefined {
    const kinds: FailureKind[] = ['quota', 'capacity', 'error-state', 'never-ready', 'lost-reply', 'operation-error'];
    return this.#inserts.shift() ?? this.#byChance(kinds);
  }

  #byChance(kinds: readonly FailureKind[]): FailureKind | undefined {
    return kinds.find((kind) => this.#random() < (this.#rates.get(kind) ?? 0));
  }
}

function isOfAnyCall(kind: FailureKind): boolean {
  return kind === 'unavailable' || kind === 'rate-limited';
}
