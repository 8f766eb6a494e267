import type { Instance } from '../../contract/instance.js';

interface Fact<I> {
  readonly tick: number;
  readonly instance: I | undefined;
  /** The instance has changed since; its state is unknown. */
  readonly outdated: boolean;
}

/** Maximum number of facts about single instances. The oldest are dropped and looked up again when needed. */
const MAX_FACTS = 2_000;

/**
 * Known states of instances, with their age. Time is counted in ticks, so that two events within the same millisecond keep their
 * order.
 */
export class InstanceKnowledge<I extends Instance = Instance> {
  readonly #facts = new Map<string, Fact<I>>();
  #listed = new Map<string, I>();
  #listedAt = 0;
  #tick = 0;

  /** Advances the tick counter. */
  tick(): number {
    return ++this.#tick;
  }

  /** Start of the last list; `0`: there is none yet. */
  get listedAt(): number {
    return this.#listedAt;
  }

  /** Age of the known state of this instance; `0`: outdated. */
  knownAt(externalId: string): number {
    const fact = this.#facts.get(externalId);
    if (!fact || fact.tick < this.#listedAt) return this.#listedAt;
    return fact.outdated ? 0 : fact.tick;
  }

  /** Whether the state of this single instance is known and not outdated. */
  hasFact(externalId: string): boolean {
    return this.#facts.get(externalId)?.outdated === false;
  }

  /** Whether the known state is that of this single instance, and not that of a list, which may have missed it. */
  isOwn(externalId: string): boolean {
    return this.hasFact(externalId) && this.#isOverruled(externalId);
  }

  get(externalId: string): I | undefined {
    const fact = this.#facts.get(externalId);
    return fact && fact.tick > this.#listedAt ? fact.instance : this.#listed.get(externalId);
  }

  all(): readonly I[] {
    const all: I[] = [];
    for (const [externalId, instance] of this.#listed) if (!this.#isOverruled(externalId)) all.push(instance);
    for (const { tick, instance } of this.#facts.values()) if (instance && tick > this.#listedAt) all.push(instance);
    return all;
  }

  /** Stores a list. Newer facts about single instances stay. */
  listed(began: number, instances: readonly I[]): void {
    this.#listed = new Map(instances.map((instance) => [instance.externalId, instance]));
    this.#listedAt = began;
    for (const [externalId, { tick }] of this.#facts) if (tick < began) this.#facts.delete(externalId);
  }

  /** Stores the result of reading one instance. A newer report stays. */
  read(externalId: string, began: number, instance: I | undefined): void {
    const fact = this.#facts.get(externalId);
    if (!fact || fact.tick < began) this.#learn(externalId, { tick: began, instance, outdated: false });
  }

  /** Stores a state that the cloud pushed. */
  report(externalId: string, instance: I | undefined): void {
    this.#learn(externalId, { tick: this.tick(), instance, outdated: false });
    // If the fact is dropped later, the list must not bring back an older state.
    if (instance) {
      if (this.#listed.has(externalId)) this.#listed.set(externalId, instance);
    } else this.#listed.delete(externalId);
  }

  /** Marks an instance as changed in an unknown way. */
  outdate(externalId: string): void {
    this.#learn(externalId, { tick: this.tick(), instance: this.get(externalId), outdated: true });
  }

  #learn(externalId: string, fact: Fact<I>): void {
    this.#facts.delete(externalId);
    this.#facts.set(externalId, fact);
    if (this.#facts.size <= MAX_FACTS) return;
    const [oldest] = this.#facts.keys();
    if (oldest !== undefined) this.#facts.delete(oldest);
  }

  #isOverruled(externalId: string): boolean {
    const fact = this.#facts.get(externalId);
    return fact !== undefined && fact.tick > this.#listedAt;
  }
}
