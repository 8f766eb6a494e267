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
  /** A rule of the plan, `unseen`, `planning`, `not-planning`, `handling`, `launching`, `key-scan` or `launch-failed`. */
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
/** The first that there is says what the request waits for. */
const ORDER: readonly Standing['what'][] = ['waits', 'behind', 'queued', 'left', 'declined'];

/** What a request waited for, as one launcher knows it. */
export function causesOfRequest({ facts, events, nodes }: KnownRequest): Interval[] {
  return causesOf({ createdMs: facts.createdMs, events, nodes });
}

/** When a request was fulfilled, failed or withdrawn; `undefined`: not yet. */
export function endOf(events: readonly PastEvent[]): PastEvent | undefined {
  return events.find(({ what }) => ENDS.has(what));
}

/** What a request waited for, without a gap from its creation to its end. */
export function causesOf(past: RequestPast): Interval[] {
  const told = [
    ...past.events.map((event) => ({ event, node: undefined })),
    ...past.nodes.flatMap(({ id, events }) => events.map((event) => ({ event, node: id }))),
  ].sort((a, b) => a.event.timeMs - b.event.timeMs);
  const end = endOf(past.events);
  const endMs = end?.timeMs;
  const state = new Situation();
  const intervals: Interval[] = [];
  const first = past.createdMs ?? told[0]?.event.timeMs;
  if (first === undefined) return [];
  let open = { beginMs: first, ...UNSEEN };
  const change = (timeMs: number) => {
    const next = state.cause();
    const at = Math.max(open.beginMs, timeMs);
    if (next.cause === open.cause) {
      open = { ...open, text: next.text };
      return;
    }
    if (at > open.beginMs) intervals.push({ ...open, endMs: at });
    open = { beginMs: at, ...next };
  };
  for (const { event, node } of told) {
    if (endMs !== undefined && event.timeMs > endMs) break;
    if (event === end) continue;
    state.hear(event, node);
    change(event.timeMs);
  }
  if (endMs === undefined) intervals.push({ ...open, endMs });
  else if (endMs > open.beginMs) intervals.push({ ...open, endMs });
  return mergeEqual(intervals);
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

  hear(event: ToldEvent, node: string | undefined): void {
    if (node === undefined) this.#hearOfPool(event);
    else this.#hearOfNode(event, node);
  }

  #hearOfPool({ launcher = '', pool, what, rule, text }: ToldEvent): void {
    const key = `${launcher} ${pool}`;
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
    const set = (cause: string, sentence: string) => this.#nodes.set(node, { cause, text: sentence });
    if (what === 'error') set('launch-failed', `node ${node}: ${text}`);
    else if (what === 'stage' && rule === 'scanning') set('key-scan', `the host keys of node ${node} are read`);
    else if (what === 'stage') set('launching', `node ${node} is made (${rule})`);
    else if (what === 'state' && (rule === 'init' || rule === 'building')) {
      if (this.#nodes.get(node) === undefined) set('launching', `node ${node} is made`);
    } else if (what === 'state' || what === 'gone') this.#nodes.delete(node);
  }

  cause(): Cause {
    const standings = [...this.#standings.entries()];
    const working = standings.find(([, { what }]) => what === 'taken');
    if (working) return this.#causeOfWork(working[0], working[1].pool);
    for (const wanted of ORDER) {
      const found = standings.filter(([, { what }]) => what === wanted).map(([, standing]) => standing);
      const [first] = found;
      if (!first) continue;
      if (wanted === 'queued') return { cause: 'planning', text: `${first.pool}: it is looked at` };
      return { cause: first.rule, text: found.map(({ pool, text }) => `${pool}: ${text}`).join('; ') };
    }
    return this.#nobody;
  }

  #causeOfWork(key: string, pool: string): Cause {
    const paused = this.#paused.get(key);
    if (paused) return paused;
    const nodes = [...this.#nodes.values()];
    for (const cause of ['launch-failed', 'launching', 'key-scan']) {
      const found = nodes.find((node) => node.cause === cause);
      if (found) return { cause, text: `${pool}: ${found.text}` };
    }
    return { cause: 'handling', text: `${pool}: nodes are locked, looked at and handed over` };
  }
}
