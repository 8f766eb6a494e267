import type { PastEvent } from './event.js';
import type { KnownRequest } from './open-records.js';

/** An event and the launcher that recorded it. */
export interface ToldEvent extends PastEvent {
  /** Missing if all events are from the same launcher. */
  readonly launcher?: string;
}

/** A node launched for, or allocated to, a request. */
export interface MadeNode {
  readonly id: string;
  readonly events: readonly ToldEvent[];
}

/** A period during which a request waited for one cause. */
export interface Interval {
  readonly beginMs: number;
  /** `undefined`: it still waits. */
  readonly endMs: number | undefined;
  /** A rule of the plan, `unseen`, `planning`, `not-planning`, `handling`, `launching`, `cloud-away`, `key-scan` or `launch-failed`. */
  readonly cause: string;
  readonly text: string;
}

/** All recorded events of a request and its nodes. */
export interface RequestPast {
  readonly createdMs: number | undefined;
  readonly events: readonly ToldEvent[];
  readonly nodes: readonly MadeNode[];
}

/** The latest decision of one pool about the request. */
interface PoolDecision {
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
const LOST: Cause = { cause: 'unseen', text: 'its launcher was gone, and no other launcher had looked at it' };
const ABANDONED: Cause = {
  cause: 'unseen',
  text: 'its launcher had lost its ZooKeeper session or was being replaced, and none had gone on with it',
};
const PUT_BACK: Cause = { cause: 'unseen', text: 'it was put back, and no pool had looked at it again' };
const ENDS: ReadonlySet<string> = new Set(['fulfilled', 'failed', 'gone']);
/** States of a node whose launch is in progress. */
const LAUNCHING: ReadonlySet<string> = new Set(['init', 'building']);
const planning = (pool: string): Cause => ({ cause: 'planning', text: `${pool}: the pool is planning` });
const handling = (pool: string): Cause => ({
  cause: 'handling',
  text: `${pool}: nodes are locked, checked and handed over`,
});
/** Decisions by precedence: the first one found among the pools is the cause. */
const DECISIONS: readonly PoolDecision['what'][] = ['waits', 'behind', 'queued', 'left', 'declined'];

/** Causes of an accepted request by precedence: the first one found among its nodes applies. */
const NODE_CAUSES = ['launch-failed', 'cloud-away', 'launching', 'key-scan'];

/** Computes the causes of a request from the events of one launcher. */
export function causesOfRequest({ facts, events, nodes }: KnownRequest): Interval[] {
  const past = { createdMs: facts.createdMs, events, nodes };
  return causesWhenServedAtOnce(past) ?? causesOf(past);
}

/**
 * Fast path of {@link causesOf} for most requests: only one pool saw it, accepted it at once and had ready nodes.
 * @returns `undefined` for any other request
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
    ({ what, rule }) => what === 'stage' || what === 'error' || (what === 'state' && LAUNCHING.has(rule)),
  );
}

/** The event by which a request was fulfilled, failed or withdrawn; `undefined`: it is open. */
export function endOf(events: readonly PastEvent[]): PastEvent | undefined {
  return events.find(({ what }) => ENDS.has(what));
}

/** Divides the time from the creation of a request to its end into causes, without gaps. */
export function causesOf(past: RequestPast): Interval[] {
  const entries = inOrder(past);
  const end = endOf(past.events);
  const endMs = end?.timeMs;
  const progress = new RequestProgress();
  const intervals: Interval[] = [];
  const first = past.createdMs ?? entries[0]?.event.timeMs;
  if (first === undefined) return [];
  let beginMs = first;
  let { cause, text } = UNSEEN;
  for (const { event, node } of entries) {
    if (endMs !== undefined && event.timeMs > endMs) break;
    if (event === end) continue;
    progress.apply(event, node);
    const next = progress.cause();
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

interface Entry {
  readonly event: ToldEvent;
  /** `undefined`: an event of the request itself. */
  readonly node: string | undefined;
}

/** All events by time; events of the same millisecond keep their order. */
function inOrder({ events, nodes }: RequestPast): Entry[] {
  const entries: Entry[] = [];
  for (const event of events) entries.push({ event, node: undefined });
  for (const { id, events: own } of nodes) for (const event of own) entries.push({ event, node: id });
  return entries.sort((a, b) => a.event.timeMs - b.event.timeMs);
}

/** Several changes within one millisecond may leave adjacent intervals with the same cause. */
function mergeEqual(intervals: readonly Interval[]): Interval[] {
  const merged: Interval[] = [];
  for (const interval of intervals) {
    const last = merged.at(-1);
    if (last?.cause === interval.cause) merged[merged.length - 1] = { ...interval, beginMs: last.beginMs };
    else merged.push(interval);
  }
  return merged;
}

/** The decisions of all pools about a request, and the progress of its launches. */
class RequestProgress {
  readonly #decisions = new Map<string, PoolDecision>();
  /** Applies while no pool has decided. */
  #undecided = UNSEEN;
  readonly #paused = new Map<string, Cause>();
  readonly #nodes = new Map<string, Cause>();
  /** Number of nodes by cause. Avoids a search through thousands of nodes. */
  readonly #nodesByCause = new Map<string, number>();

  apply(event: ToldEvent, node: string | undefined): void {
    if (node === undefined) this.#applyDecision(event);
    else this.#applyNodeEvent(event, node);
  }

  #applyDecision({ launcher, pool, what, rule, text }: ToldEvent): void {
    const key = launcher === undefined ? pool : `${launcher} ${pool}`;
    if (what === 'ended') {
      this.#undecided = pool === '' ? LOST : rule === 'abandoned' ? ABANDONED : PUT_BACK;
      // an event without a pool means that the launcher itself ended
      for (const known of [...this.#decisions.keys()]) {
        if (known !== key && !(pool === '' && known.startsWith(key))) continue;
        this.#decisions.delete(known);
        this.#paused.delete(known);
      }
    } else if (what === 'paused') this.#paused.set(key, { cause: rule, text: `${pool}: ${text}` });
    else if (what === 'resumed') this.#paused.delete(key);
    else if (rule === 'not-requested') this.#decisions.delete(key);
    else if (what === 'taken' || DECISIONS.includes(what as PoolDecision['what']))
      this.#decisions.set(key, { pool, what: what as PoolDecision['what'], rule, text });
  }

  #applyNodeEvent({ what, rule, text }: ToldEvent, node: string): void {
    const set = (cause: string, sentence: string) => this.#setNode(node, { cause, text: sentence });
    if (what === 'error') set('launch-failed', `node ${node}: ${text}`);
    else if (what === 'stage' && rule === 'scanning') set('key-scan', `reading the host keys of node ${node}`);
    else if (what === 'stage' && rule === 'cloud-away')
      set('cloud-away', `the cloud does not answer during the launch of node ${node}`);
    else if (what === 'stage') set('launching', `launching node ${node} (${rule})`);
    else if (what === 'state' && LAUNCHING.has(rule)) {
      if (this.#nodes.get(node) === undefined) set('launching', `launching node ${node}`);
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
    for (const [key, { what, pool }] of this.#decisions) if (what === 'taken') return this.#causeOfWork(key, pool);
    if (this.#decisions.size === 0) return this.#undecided;
    for (const wanted of DECISIONS) {
      const found = this.#causeOf(wanted);
      if (found) return found;
    }
    return this.#undecided;
  }

  /** The cause given by all pools that made this decision. */
  #causeOf(wanted: PoolDecision['what']): Cause | undefined {
    let cause: string | undefined;
    let sentences = '';
    for (const { what, pool, rule, text } of this.#decisions.values()) {
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
    for (const cause of this.#nodes.size > 0 ? NODE_CAUSES : []) {
      if (!this.#nodesByCause.get(cause)) continue;
      for (const node of this.#nodes.values()) {
        if (node.cause === cause) return { cause, text: `${pool}: ${node.text}` };
      }
    }
    return handling(pool);
  }
}
