import type { PastEvent } from './event.js';
import type { KnownRequest } from './open-records.js';

/** An event and who has told of it. */
export interface ToldEvent extends PastEvent {
  /** Missing: there is only one. */
  readonly launcher?: string;
}

/** What is known of a node that was made for a request. */
export interface MadeNode {
  readonly id: string;
  readonly events: readonly ToldEvent[];
}

/** A time during which a request waited for one thing. */
export interface Interval {
  readonly beginMs: number;
  /** `undefined`: it still does. */
  readonly endMs: number | undefined;
  /** A rule of the plan, `unseen`, `planning`, `not-planning`, `handling`, `launching`, `cloud-away`, `key-scan` or `launch-failed`. */
  readonly cause: string;
  readonly text: string;
}

/** Everything that is known of the way of a request. */
export interface RequestPast {
  readonly createdMs: number | undefined;
  readonly events: readonly ToldEvent[];
  readonly nodes: readonly MadeNode[];
}

interface Standing {
  readonly pool: string;
  readonly what: 'queued' | 'waits' | 'behind' | 'left' | 'declined' | 'taken';
  readonly rule: string;
  readonly text: string;
}
interface Cause {
  readonly cause: string;
  readonly text: string;
}

const UNSEEN: Cause = { cause: 'unseen', text: 'no launcher has looked at it' };
const LOST: Cause = { cause: 'unseen', text: 'the launcher that had it was gone, and no other had looked at it' };
const PUT_BACK: Cause = { cause: 'unseen', text: 'it was put back, and no pool had looked at it again' };
const ENDS: ReadonlySet<string> = new Set(['fulfilled', 'failed', 'gone']);
/** States of a node that is not ready yet. */
const IN_THE_MAKING: ReadonlySet<string> = new Set(['init', 'building']);
const planning = (pool: string): Cause => ({ cause: 'planning', text: `${pool}: it is looked at` });
const handling = (pool: string): Cause => ({
  cause: 'handling',
  text: `${pool}: nodes are locked, looked at and handed over`,
});
/** The first that there is says what the request waits for. */
const ORDER: readonly Standing['what'][] = ['waits', 'behind', 'queued', 'left', 'declined'];

/** The first that there is of these says what the work on a request waits for. */
const WORK_ON_NODES = ['launch-failed', 'cloud-away', 'launching', 'key-scan'];

/** What a request waited for, as one launcher knows it. */
export function causesOfRequest({ facts, events, nodes }: KnownRequest): Interval[] {
  const past = { createdMs: facts.createdMs, events, nodes };
  return causesWhenServedAtOnce(past) ?? causesOf(past);
}

/**
 * As {@link causesOf}, for a request that the only pool that looked at it took at once and gave ready nodes, as most are.
 * @returns `undefined`: it was another one
 */
function causesWhenServedAtOnce({ createdMs, events, nodes }: RequestPast): Interval[] | undefined {
  const [end, taken, queued] = [events.at(-1), events.at(-2), events.at(-3)];
  if (createdMs === undefined || events.length > 3 || !end || !ENDS.has(end.what) || taken?.what !== 'taken')
    return undefined;
  if (queued && (queued.what !== 'queued' || queued.pool !== taken.pool || queued.timeMs > taken.timeMs))
    return undefined;
  if (taken.timeMs > end.timeMs || nodes.some(wasMade)) return undefined;
  const takenMs = Math.max(createdMs, taken.timeMs);
  const queuedMs = queued ? Math.max(createdMs, queued.timeMs) : takenMs;
  const intervals = [
    { beginMs: createdMs, endMs: queuedMs, ...UNSEEN },
    { beginMs: queuedMs, endMs: takenMs, ...planning(taken.pool) },
    { beginMs: takenMs, endMs: Math.max(takenMs, end.timeMs), ...handling(taken.pool) },
  ];
  return intervals.filter(({ beginMs, endMs }) => endMs > beginMs);
}

function wasMade({ events }: MadeNode): boolean {
  return events.some(
    ({ what, rule }) => what === 'stage' || what === 'error' || (what === 'state' && IN_THE_MAKING.has(rule)),
  );
}

/** When a request was fulfilled, failed or withdrawn; `undefined`: not yet. */
export function endOf(events: readonly PastEvent[]): PastEvent | undefined {
  return events.find(({ what }) => ENDS.has(what));
}

/** What a request waited for, without a gap from its creation to its end. */
export function causesOf(past: RequestPast): Interval[] {
  const told = inOrder(past);
  const end = endOf(past.events);
  const endMs = end?.timeMs;
  const state = new Situation();
  const intervals: Interval[] = [];
  const first = past.createdMs ?? told[0]?.event.timeMs;
  if (first === undefined) return [];
  let beginMs = first;
  let { cause, text } = UNSEEN;
  for (const { event, node } of told) {
    if (endMs !== undefined && event.timeMs > endMs) break;
    if (event === end) continue;
    state.hear(event, node);
    const next = state.cause();
    if (next.cause !== cause) {
      const atMs = Math.max(beginMs, event.timeMs);
      if (atMs > beginMs) intervals.push({ beginMs, endMs: atMs, cause, text });
      beginMs = atMs;
      ({ cause } = next);
    }
    ({ text } = next);
  }
  if (endMs === undefined || endMs > beginMs) intervals.push({ beginMs, endMs, cause, text });
  return mergeEqual(intervals);
}

interface Told {
  readonly event: ToldEvent;
  /** Missing: it is about the request itself. */
  readonly node: string | undefined;
}

/** Everything that is told, by time; of the same moment in the order in which it was told. */
function inOrder({ events, nodes }: RequestPast): Told[] {
  const told: Told[] = [];
  for (const event of events) told.push({ event, node: undefined });
  for (const { id, events: own } of nodes) for (const event of own) told.push({ event, node: id });
  return told.sort((a, b) => a.event.timeMs - b.event.timeMs);
}

/** Changes within one millisecond leave neighbours with the same cause. */
function mergeEqual(intervals: readonly Interval[]): Interval[] {
  const merged: Interval[] = [];
  for (const interval of intervals) {
    const last = merged.at(-1);
    if (last?.cause === interval.cause) merged[merged.length - 1] = { ...interval, beginMs: last.beginMs };
    else merged.push(interval);
  }
  return merged;
}

/** Where a request stands with each pool, and its nodes with their launches. */
class Situation {
  readonly #standings = new Map<string, Standing>();
  #nobody = UNSEEN;
  readonly #paused = new Map<string, Cause>();
  readonly #nodes = new Map<string, Cause>();
  /** How many nodes have each cause: there may be thousands of them, and most causes none has. */
  readonly #nodesByCause = new Map<string, number>();

  hear(event: ToldEvent, node: string | undefined): void {
    if (node === undefined) this.#hearOfPool(event);
    else this.#hearOfNode(event, node);
  }

  #hearOfPool({ launcher, pool, what, rule, text }: ToldEvent): void {
    const key = launcher === undefined ? pool : `${launcher} ${pool}`;
    if (what === 'ended') {
      this.#nobody = pool === '' ? LOST : PUT_BACK;
      // without a pool: the launcher itself has ended
      for (const known of [...this.#standings.keys()]) {
        if (known !== key && !(pool === '' && known.startsWith(key))) continue;
        this.#standings.delete(known);
        this.#paused.delete(known);
      }
    } else if (what === 'paused') this.#paused.set(key, { cause: rule, text: `${pool}: ${text}` });
    else if (what === 'resumed') this.#paused.delete(key);
    else if (rule === 'not-requested') this.#standings.delete(key);
    else if (what === 'taken' || ORDER.includes(what as Standing['what']))
      this.#standings.set(key, { pool, what: what as Standing['what'], rule, text });
  }

  #hearOfNode({ what, rule, text }: ToldEvent, node: string): void {
    const set = (cause: string, sentence: string) => this.#setNode(node, { cause, text: sentence });
    if (what === 'error') set('launch-failed', `node ${node}: ${text}`);
    else if (what === 'stage' && rule === 'scanning') set('key-scan', `the host keys of node ${node} are read`);
    else if (what === 'stage' && rule === 'cloud-away')
      set('cloud-away', `the cloud does not answer while node ${node} is made`);
    else if (what === 'stage') set('launching', `node ${node} is made (${rule})`);
    else if (what === 'state' && IN_THE_MAKING.has(rule)) {
      if (this.#nodes.get(node) === undefined) set('launching', `node ${node} is made`);
    } else if (what === 'state' || what === 'gone') this.#setNode(node, undefined);
  }

  #setNode(node: string, next: Cause | undefined): void {
    const before = this.#nodes.get(node)?.cause;
    if (next) this.#nodes.set(node, next);
    else this.#nodes.delete(node);
    const count = (cause: string | undefined, by: number) => {
      if (cause !== undefined) this.#nodesByCause.set(cause, (this.#nodesByCause.get(cause) ?? 0) + by);
    };
    count(before, -1);
    count(next?.cause, 1);
  }

  cause(): Cause {
    for (const [key, { what, pool }] of this.#standings) if (what === 'taken') return this.#causeOfWork(key, pool);
    if (this.#standings.size === 0) return this.#nobody;
    for (const wanted of ORDER) {
      const found = this.#causeOf(wanted);
      if (found) return found;
    }
    return this.#nobody;
  }

  /** What pools say in which the request stands like this. */
  #causeOf(wanted: Standing['what']): Cause | undefined {
    let cause: string | undefined;
    let sentences = '';
    for (const { what, pool, rule, text } of this.#standings.values()) {
      if (what !== wanted) continue;
      if (wanted === 'queued') return planning(pool);
      sentences += cause === undefined ? `${pool}: ${text}` : `; ${pool}: ${text}`;
      cause ??= rule;
    }
    return cause === undefined ? undefined : { cause, text: sentences };
  }

  #causeOfWork(key: string, pool: string): Cause {
    const paused = this.#paused.get(key);
    if (paused) return paused;
    for (const cause of this.#nodes.size > 0 ? WORK_ON_NODES : []) {
      if (!this.#nodesByCause.get(cause)) continue;
      for (const node of this.#nodes.values()) {
        if (node.cause === cause) return { cause, text: `${pool}: ${node.text}` };
      }
    }
    return handling(pool);
  }
}
