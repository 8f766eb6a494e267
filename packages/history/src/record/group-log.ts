import { pastEvent, type PastEvent } from './event.js';

/** Changes kept of one group; beyond it the newest replaces the one before. */
const MOST_CHANGES = 300;

/** Where a request stands in a group. */
export interface Membership {
  readonly group: GroupLog;
  readonly sinceMs: number;
  /** Index of the last change before it came. */
  readonly from: number;
  /** The first of the group when it came. */
  readonly ahead: string | undefined;
  /** Since when it is the first of the group. */
  firstMs: number | undefined;
}

/** Why the requests of one group wait for a pool: one log for all, however many they are. */
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
  #members = 0;
  #first: string | undefined;

  /**
   * @param key - what its requests have in common
   * @param emptied - the last request has left
   */
  constructor(pool: string, key: string, emptied: () => void) {
    this.pool = pool;
    this.#emptied = emptied;
    this.#key = key;
  }

  get key(): string {
    return this.#key;
  }

  /** The request that all others wait behind, once a planning pass has found it waiting. */
  get first(): string | undefined {
    return this.#first;
  }

  join(nowMs: number): Membership {
    this.#members++;
    const from = Math.max(0, this.#log.length - 1);
    return { group: this, sinceMs: nowMs, from, ahead: this.#first, firstMs: undefined };
  }

  /** @returns what the request waited for, from when it joined */
  leave(id: string, membership: Membership): PastEvent[] {
    if (--this.#members === 0) this.#emptied();
    if (this.#first === id) this.#first = undefined;
    return this.eventsOf(membership);
  }

  /** The rule and text that are in force from now on. @returns whether another request is the first */
  waits(nowMs: number, rule: string, text: string, first: string): boolean {
    const isOther = this.#first !== first;
    this.#first = first;
    this.changed(nowMs, rule, text);
    return isOther;
  }

  /** As {@link GroupLog.waits}, of all of the group. */
  changed(timeMs: number, rule: string, text: string): void {
    const last = this.#log.at(-1);
    if (last?.rule === rule) {
      last.text = text;
      return;
    }
    if (this.#log.length >= MOST_CHANGES) this.#log.pop();
    this.#log.push({ timeMs, rule, text, first: this.#first });
  }

  /** What a member has waited for until now. */
  eventsOf({ sinceMs, from, ahead, firstMs = Infinity }: Membership): PastEvent[] {
    const events: PastEvent[] = [];
    for (let i = from; i < this.#log.length; i++) {
      const entry = this.#log[i];
      if (!entry) continue;
      const beginMs = Math.max(sinceMs, entry.timeMs);
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
