import type { Resources } from '@nodepool/zk-protocol';
import { findShortage, subtractFromLimit, sumResources } from '../../contract/resources.js';

/** What a cloud allowed when it was last asked, and which instances that are not ours take their part of it. */
export class QuotaEstimate {
  readonly #limits: Resources;
  readonly #unmanaged: Map<string, Resources>;
  #left: Resources | undefined;
  #used: Resources | undefined;

  /** @param unmanaged - what each instance that is not ours uses, by external id */
  constructor(limits: Resources, unmanaged: Map<string, Resources>) {
    this.#limits = limits;
    this.#unmanaged = unmanaged;
  }

  /** Remaining quota for our nodes. */
  get left(): Resources {
    return (this.#left ??= subtractFromLimit(this.#limits, this.unmanagedUsed));
  }

  /** Whether so much is left when our nodes use nothing. */
  allows(need: Resources): boolean {
    return !findShortage(need, this.left);
  }

  /** External ids of the instances that are not ours. */
  get unmanaged(): Iterable<string> {
    return this.#unmanaged.keys();
  }

  /** An instance is gone. @returns whether that leaves more for our nodes */
  release(externalId: string): boolean {
    if (!this.#unmanaged.delete(externalId)) return false;
    this.#left = this.#used = undefined;
    return true;
  }

  /** What the instances that are not ours use. */
  get unmanagedUsed(): Resources {
    return (this.#used ??= sumResources(this.#unmanaged.values()));
  }
}
