import type { LeaseRecord, RecordChange } from '@nodepool/zk-protocol';
import type { Context } from '../../launcher/state/context.js';

/** A lease that needs numbers, one for each of its labels. */
type Wanted = Pick<LeaseRecord, 'id' | 'token' | 'labels'>;

/**
 * The numbers that leases occupy among the nodes that their token may have at a time, as far as this launcher knows. A number
 * is taken when it is chosen, so that leases requested at the same time do not try for the same one.
 */
export class TokenSlots {
  /** Lease that has each number, by token. */
  readonly #leases = new Map<string, Map<number, string>>();
  readonly #context: Pick<Context, 'random'>;

  constructor(context: Pick<Context, 'random'>) {
    this.#context = context;
  }

  /**
   * Takes numbers for a new lease.
   * @param occupied - numbers that ZooKeeper has shown to be occupied
   * @returns `undefined` if the token has too many nodes
   */
  take({ id, token, labels }: Wanted, maxNodes: number, occupied: ReadonlySet<number>): number[] | undefined {
    const taken = this.#ofToken(token);
    if (taken.size + labels.length > maxNodes) return undefined;
    const free: number[] = [];
    const first = Math.floor(this.#context.random() * maxNodes); // other launchers look for a number, too
    for (let i = 0; i < maxNodes && free.length < labels.length; i++) {
      const slot = (first + i) % maxNodes;
      if (!taken.has(slot) && !occupied.has(slot)) free.push(slot);
    }
    if (free.length < labels.length) return undefined;
    for (const slot of free) taken.set(slot, id);
    return free;
  }

  /** The leases that have numbers. */
  leasesOf(token: string): string[] {
    return [...new Set(this.#leases.get(token)?.values())];
  }

  /**
   * Whether a new lease finds numbers as soon as those of leases that are over are free.
   * @param occupied - numbers that ZooKeeper has shown to be occupied; by whom may be unknown
   */
  hasRoomSoon(
    { token, labels }: Pick<Wanted, 'token' | 'labels'>,
    maxNodes: number,
    occupied: ReadonlySet<number>,
    isOver: (lease: string) => boolean,
  ): boolean {
    const taken = this.#ofToken(token);
    const open = [...taken.values()].filter((lease) => !isOver(lease)).length;
    const unknown = [...occupied].filter((slot) => !taken.has(slot)).length;
    return open + unknown + labels.length <= maxNodes;
  }

  /** Gives numbers back that a lease has not got. */
  release(token: string, lease: string, slots: readonly number[]): void {
    const taken = this.#leases.get(token);
    for (const slot of slots) if (taken?.get(slot) === lease) taken.delete(slot);
    if (taken?.size === 0) this.#leases.delete(token);
  }

  /** A lease was requested, changed, or removed. */
  changed({ id, before, after }: RecordChange<LeaseRecord>): void {
    if (before) this.release(before.token, id, before.slots);
    if (!after || after.slots.length === 0) return;
    const taken = this.#ofToken(after.token);
    for (const slot of after.slots) taken.set(slot, id);
  }

  #ofToken(token: string): Map<number, string> {
    let taken = this.#leases.get(token);
    if (!taken) this.#leases.set(token, (taken = new Map<number, string>()));
    return taken;
  }
}
