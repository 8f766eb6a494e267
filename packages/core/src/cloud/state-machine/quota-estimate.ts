import type { Resources } from '@nodepool/zk-protocol';
import { accumulate, subtractFromLimit } from '../../contract/resources.js';

/** What a cloud allowed when it was last asked, and which instances that are not ours take their part of it. */
export class QuotaEstimate {
  readonly #limits: Resources;
  readonly #unmanaged: Map<string, Resources>;
  #left: Resources | undefined;

  /** @param unmanaged - what each instance that is not ours uses, by external id */
  constructor(limits: Resources, unmanaged: Map<string, Resources>) {
    this.#limits = limits;
    this.#unmanaged = unmanaged;
  }

  /** Remaining quota for our nodes. */
  get left(): Resources {
    return (this.#left ??= subtractFromLimit(this.#limits, this.#used()));
  }

  /** External ids of the instances that are not ours. */
  get unmanaged(): Iterable<string> {
    return this.#unmanaged.keys();
  }

  /** An instance is gone. @returns whether that leaves more for our nodes */
  release(externalId: string): boolean {
    if (!this.#unmanaged.delete(externalId)) return false;
    this.#left = undefined;
    return true;
  }

  #used(): Resources {
    const used: Resources = {};
    for (const resources of this.#unmanaged.values()) accumulate(used, resources);
    return used;
  }
}
