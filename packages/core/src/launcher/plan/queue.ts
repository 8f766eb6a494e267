import { compareRequests, type RequestRecord } from '@nodepool/zk-protocol';

/** Waiting requests that ask for the same and differ only in order: if the first cannot be served, none can. */
export interface RequestGroup {
  readonly key: string;
  /** In handling order. */
  readonly requests: readonly RequestRecord[];
}

/**
 * The waiting requests of one pool, in handling order and grouped by what they ask for, so that a planning pass examines one
 * request of each group instead of all.
 */
export class RequestQueue {
  readonly #groups = new Map<string, { key: string; requests: RequestRecord[] }>();
  readonly #groupOf = new Map<string, { group: { key: string; requests: RequestRecord[] }; request: RequestRecord }>();

  /** Number of waiting requests by label. */
  readonly #byLabel = new Map<string, number>();

  get size(): number {
    return this.#groupOf.size;
  }

  has(id: string): boolean {
    return this.#groupOf.has(id);
  }

  /** Key of a waiting request's group. */
  groupOf(id: string): string | undefined {
    return this.#groupOf.get(id)?.group.key;
  }

  groups(): Iterable<RequestGroup> {
    return this.#groups.values();
  }

  /** Number of waiting requests with the label. */
  countOf(label: string): number {
    return this.#byLabel.get(label) ?? 0;
  }

  *requests(): Generator<RequestRecord> {
    for (const group of this.#groups.values()) yield* group.requests;
  }

  /** Adds a request, or moves it after its record has changed. @returns whether it is the first of its group */
  put(request: RequestRecord): boolean {
    this.remove(request.id);
    const key = groupKey(request);
    let group = this.#groups.get(key);
    if (!group) this.#groups.set(key, (group = { key, requests: [] }));
    const index = this.#placeOf(group.requests, request);
    group.requests.splice(index, 0, request);
    this.#groupOf.set(request.id, { group, request });
    this.#count(request, 1);
    return index === 0;
  }

  /** @returns whether the request was the first of its group */
  remove(id: string): boolean {
    const entry = this.#groupOf.get(id);
    if (!entry) return false;
    this.#groupOf.delete(id);
    this.#count(entry.request, -1);
    const { requests, key } = entry.group;
    const index = this.#placeOf(requests, entry.request);
    requests.splice(index, 1);
    if (requests.length === 0) this.#groups.delete(key);
    return index === 0;
  }

  clear(): void {
    this.#groups.clear();
    this.#groupOf.clear();
    this.#byLabel.clear();
  }

  /** Number of waiting requests ahead of this one. Costs a search per group. */
  countAhead(request: RequestRecord): number {
    let count = 0;
    for (const group of this.#groups.values()) count += this.#placeOf(group.requests, request);
    return count;
  }

  #count({ labels }: RequestRecord, step: 1 | -1): void {
    for (const label of new Set(labels)) {
      const count = (this.#byLabel.get(label) ?? 0) + step;
      if (count > 0) this.#byLabel.set(label, count);
      else this.#byLabel.delete(label);
    }
  }

  /** Index of the first request that is not before the given one. */
  #placeOf(requests: readonly RequestRecord[], request: RequestRecord): number {
    let low = 0;
    let high = requests.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = requests[middle];
      if (other !== undefined && compareRequests(other, request) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function groupKey(request: RequestRecord): string {
  const labels = request.labels.length > 1 ? [...request.labels].sort() : request.labels;
  return JSON.stringify([labels, request.reuse, request.tenantName, request.requestor === 'NodePool:min-ready']);
}
