import { REQUEST_STATES, type RecordChange, type RequestRecord } from '@nodepool/zk-protocol';

interface LabelSet {
  readonly labels: readonly string[];
  requests: number;
}

/** Number of requests by state and by requested set of labels, updated incrementally. */
export class RequestCounts {
  /** Starts with all known states, so that metrics report 0 for them. */
  readonly #states = new Map<string, number>(REQUEST_STATES.map((state) => [state, 0]));
  readonly #labelSets = new Map<string, LabelSet>();

  /** @returns whether any number changed */
  change({ before, after }: Pick<RecordChange<RequestRecord>, 'before' | 'after'>): boolean {
    if (before?.state === after?.state && before?.labels === after?.labels) return false;
    if (before) this.#count(before, -1);
    if (after) this.#count(after, 1);
    return true;
  }

  byState(): Iterable<[state: string, requests: number]> {
    return this.#states;
  }

  /** Counts requests, in any state, whose labels are all offered. Linear in the number of distinct label sets. */
  addressable(offered: ReadonlySet<string>): number {
    let sum = 0;
    for (const { labels, requests } of this.#labelSets.values()) {
      if (labels.every((label) => offered.has(label))) sum += requests;
    }
    return sum;
  }

  #count(request: RequestRecord, step: 1 | -1): void {
    this.#states.set(request.state, (this.#states.get(request.state) ?? 0) + step);
    const labels = request.labels.length === 1 ? request.labels : [...new Set(request.labels)].sort();
    const key = labels.join('\0');
    const known = this.#labelSets.get(key);
    if (!known) {
      this.#labelSets.set(key, { labels, requests: step });
      return;
    }
    known.requests += step;
    if (known.requests === 0) this.#labelSets.delete(key);
  }
}
