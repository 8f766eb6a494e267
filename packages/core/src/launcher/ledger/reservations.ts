import type { Reservation } from '../plan/types.js';

/** What the pools of one provider keep for requests. */
interface ProviderReservations {
  /** What the accepted requests of each pool wait for. */
  readonly accepted: Map<string, readonly Reservation[]>;
  /** The first request of each pool that waits for capacity of the provider. */
  readonly heads: Map<string, Reservation>;
}

/** What requests of the pools of a provider wait for, as all of these pools keep it for them. */
export class Reservations {
  readonly #providers = new Map<string, ProviderReservations>();

  /** What the accepted requests of a pool wait for; replaced each time it changes. */
  set(provider: string, pool: string, reservations: readonly Reservation[]): void {
    const { accepted } = this.#of(provider);
    if (reservations.length > 0) accepted.set(pool, reservations);
    else accepted.delete(pool);
  }

  /** @returns whether the pool has kept something that it keeps no longer */
  setHead(provider: string, pool: string, head: Reservation | undefined): boolean {
    const { heads } = this.#of(provider);
    const before = heads.get(pool);
    if (head) heads.set(pool, head);
    else heads.delete(pool);
    return before !== undefined && !isSame(before, head);
  }

  of(provider: string, pool: string): readonly Reservation[] {
    return this.#of(provider).accepted.get(pool) ?? [];
  }

  /** Of all pools but one. */
  besides(provider: string, pool: string): Reservation[] {
    return [...this.#of(provider).accepted].flatMap(([name, list]) => (name === pool ? [] : list));
  }

  /** First waiting requests of all pools but one. */
  headsBesides(provider: string, pool: string): Reservation[] {
    return [...this.#of(provider).heads].flatMap(([name, head]) => (name === pool ? [] : [head]));
  }

  #of(provider: string): ProviderReservations {
    let known = this.#providers.get(provider);
    if (!known) this.#providers.set(provider, (known = { accepted: new Map(), heads: new Map() }));
    return known;
  }
}

function isSame(a: Reservation, b: Reservation | undefined): boolean {
  if (a.request.id !== b?.request.id) return false;
  return [...new Set([...Object.keys(a.need), ...Object.keys(b.need)])].every((name) => a.need[name] === b.need[name]);
}
