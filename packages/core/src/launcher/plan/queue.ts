import { compareRequests, type RequestRecord } from '@nodepool/zk-protocol';

/** Waiting requests that want the same and differ only in their place; when the first cannot be served, none can. */
export interface RequestGroup {
  readonly key: string;
  /** In handling order. */
  readonly requests: readonly RequestRecord[];
}

/**
 * The requests waiting for one pool, in handling order and grouped by what they want, so that a planning pass looks at
 * one request of each group instead of at all of them.
 */
export class RequestQueue {
  readonly #groups = new Map<string, { key: string; requests: RequestRecord[] }>();
  readonly #groupOf = new Map<string, { group: { key: string; requests: RequestRecord[] }; request: RequestRecord }>();

  /** How many waiting requests ask for each label. */
  readonly #byLabel = new Map<string, number>();

  get size(): number {
    return this.#groupOf.size;
  }

  has(id: string): boolean {
    return this.#groupOf.has(id);
  }

  /** Key of the group a waiting request is in. */
  groupOf(id: string): string | undefined {
    return this.#groupOf.get(id)?.group.key;
  }

  groups(): Iterable<RequestGroup> {
    return this.#groups.values();
  }

  /** How many waiting requests ask for the label. */
  countOf(label: string): number {
    return this.#byLabel.get(label) ?? 0;
  }

  *requests(): Generator<RequestRecord> {
    for (const group of this.#groups.values()) yield* group.requests;
  }

  /** Adds a request or moves it to the place its changed record asks for. @returns true when it heads its group */
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

  /** @returns true when the request was waiting here and headed its group */
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

  /** How many waiting requests come before this one. Costs a search per group. */
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
