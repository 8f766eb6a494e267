import type { Instance } from '../../contract/instance.js';

interface Fact<I> {
  readonly tick: number;
  readonly instance: I | undefined;
  /** It has changed since, in an unknown way. */
  readonly outdated: boolean;
}

/** Facts about single instances kept besides the last list. The oldest give way; they are then looked up again. */
const MAX_FACTS = 2_000;

/**
 * What is known of the instances, and since when. Time is counted in ticks, so that two things that happen in the same
 * millisecond keep their order.
 */
export class InstanceKnowledge<I extends Instance = Instance> {
  readonly #facts = new Map<string, Fact<I>>();
  #listed = new Map<string, I>();
  #listedAt = 0;
  #tick = 0;

  /** The next moment. */
  tick(): number {
    return ++this.#tick;
  }

  /** When the last list was begun; `0` while there is none. */
  get listedAt(): number {
    return this.#listedAt;
  }

  /** When the present knowledge of this instance was gathered. */
  knownAt(externalId: string): number {
    const fact = this.#facts.get(externalId);
    if (!fact || fact.tick < this.#listedAt) return this.#listedAt;
    return fact.outdated ? 0 : fact.tick;
  }

  /** Whether something is known of this very instance that still stood when it was last heard of. */
  hasFact(externalId: string): boolean {
    return this.#facts.get(externalId)?.outdated === false;
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

  /** A list came in. What was learned of single instances since it was begun stands. */
  listed(began: number, instances: readonly I[]): void {
    this.#listed = new Map(instances.map((instance) => [instance.externalId, instance]));
    this.#listedAt = began;
    for (const [externalId, { tick }] of this.#facts) if (tick < began) this.#facts.delete(externalId);
  }

  /** An instance was read by itself; a report that came meanwhile stands. */
  read(externalId: string, began: number, instance: I | undefined): void {
    const fact = this.#facts.get(externalId);
    if (!fact || fact.tick < began) this.#learn(externalId, { tick: began, instance, outdated: false });
  }

  /** The cloud said how an instance is now. */
  report(externalId: string, instance: I | undefined): void {
    this.#learn(externalId, { tick: this.tick(), instance, outdated: false });
    // Should the fact give way, the list must not bring back an older one.
    if (instance) {
      if (this.#listed.has(externalId)) this.#listed.set(externalId, instance);
    } else this.#listed.delete(externalId);
  }

  /** The cloud said that an instance has changed, but not how. */
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
