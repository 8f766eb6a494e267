import { pastEvent, type PastEvent } from './event.js';

/** Limit of the log of one group; further changes drop its first entry. */
const MAX_CHANGES = 300;

/** The place of a request in a group. */
export interface Membership {
  readonly group: GroupLog;
  readonly sinceMs: number;
  /** Number of the last change before the request joined. */
  readonly from: number;
  /** The first request of the group at that time. */
  readonly ahead: string | undefined;
  /** When the request became the first of its group. */
  firstMs: number | undefined;
}

/** Logs once for all requests of a group why they wait for a pool. */
export class GroupLog {
  /** `provider/pool`. */
  readonly pool: string;
  readonly #key: string;
  readonly #emptied: () => void;
  readonly #log: {
    readonly timeMs: number;
    readonly rule: string;
    readonly first: string | undefined;
    text: string;
  }[] = [];
  /** Number of changes that the log no longer has. */
  #dropped = 0;
  #members = 0;
  #first: string | undefined;

  /**
   * @param key - identifies requests for the same labels
   * @param emptied - called when the last request leaves
   */
  constructor(pool: string, key: string, emptied: () => void) {
    this.pool = pool;
    this.#emptied = emptied;
    this.#key = key;
  }

  get key(): string {
    return this.#key;
  }

  /** The request that holds back the others of the group; set by the first planning pass that leaves it waiting. */
  get first(): string | undefined {
    return this.#first;
  }

  join(nowMs: number): Membership {
    this.#members++;
    const from = this.#dropped + Math.max(0, this.#log.length - 1);
    return { group: this, sinceMs: nowMs, from, ahead: this.#first, firstMs: undefined };
  }

  /** Removes a request. @returns what it waited for since it joined */
  leave(id: string, membership: Membership): PastEvent[] {
    if (--this.#members === 0) this.#emptied();
    if (this.#first === id) this.#first = undefined;
    return this.eventsOf(membership);
  }

  /** Notes by which rule the first request waits from now on. @returns whether it was another request before */
  waits(nowMs: number, rule: string, text: string, first: string): boolean {
    const isOther = this.#first !== first;
    this.#first = first;
    this.changed(nowMs, rule, text);
    return isOther;
  }

  /** Notes by which rule the whole group waits from now on. */
  changed(timeMs: number, rule: string, text: string): void {
    const last = this.#log.at(-1);
    if (last?.rule === rule) {
      last.text = text;
      return;
    }
    this.#log.push({ timeMs, rule, text, first: this.#first });
    if (this.#log.length <= MAX_CHANGES) return;
    this.#log.shift();
    this.#dropped++;
  }

  /** What a request of the group waited for until now; what the log has dropped counts as its first entry. */
  eventsOf({ sinceMs, from, ahead, firstMs = Infinity }: Membership): PastEvent[] {
    const events: PastEvent[] = [];
    const begin = from - this.#dropped;
    for (let i = Math.max(begin, 0); i < this.#log.length; i++) {
      const entry = this.#log[i];
      if (!entry) continue;
      const beginMs = begin < 0 && i === 0 ? sinceMs : Math.max(sinceMs, entry.timeMs);
      const endMs = this.#log[i + 1]?.timeMs ?? Infinity;
      if (endMs <= sinceMs) continue;
      const first = entry.timeMs < sinceMs ? (ahead ?? entry.first) : entry.first;
      const behind = first === undefined ? entry.text : `behind ${first}: ${entry.text}`;
      if (beginMs < firstMs) events.push(pastEvent(beginMs, 'behind', this.pool, entry.rule, behind));
      if (firstMs < endMs)
        events.push(pastEvent(Math.max(beginMs, firstMs), 'waits', this.pool, entry.rule, entry.text));
    }
    return events;
  }
}
