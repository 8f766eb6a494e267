import type { Resources } from '@nodepool/zk-protocol';
import type { PastEvent, PastLine, RequestFacts } from '../record/event.js';

/** A request in the history. */
export interface RecordedRequest extends RequestFacts {
  readonly id: string;
  readonly createdMs: number;
  /** `gone`: it was withdrawn. Missing: it is open, or its end is not recorded. */
  outcome?: 'fulfilled' | 'failed' | 'gone';
  endMs?: number;
  /** Providers whose quota kept it waiting. */
  shortProviders: ReadonlySet<string>;
}

/** The time during which a node belonged to one request. */
export interface RecordedUse {
  readonly node: string;
  readonly request: string | undefined;
  /** `provider/pool`. */
  pool: string;
  labels: readonly string[];
  resources: Resources | undefined;
  beginMs: number;
  lastMs: number;
  /** Number of launch attempts. */
  attempts: number;
  launchBeganMs?: number;
  launchEndedMs?: number;
  /** Outcome of the launch. */
  launched?: 'ready' | 'failed' | 'aborted';
  /** When its user returned it. */
  usedMs?: number;
  deletingMs?: number;
  goneMs?: number;
  /** When it stopped belonging to the request; missing: it still did at the end of the history. */
  endMs?: number;
}

const ENDS: ReadonlySet<string> = new Set(['fulfilled', 'failed', 'gone']);
/** Maximum difference between the clocks of a requestor and a launcher; a larger one means a reused id. */
const SKEW_MS = 60_000;
const QUOTA_OF = /provider "([^"]+)": (?:label|the request) .*needs/;

/** Merges the histories of launchers, line by line. Keeps only the data that a replay needs. */
export class Past {
  readonly #requests = new Map<string, RecordedRequest>();
  readonly #uses = new Map<string, RecordedUse>();
  /** Times of the first and the last event. */
  fromMs = Infinity;
  toMs = -Infinity;
  /** Number of lines. */
  lines = 0;

  get requests(): readonly RecordedRequest[] {
    return [...this.#requests.values()];
  }

  get uses(): readonly RecordedUse[] {
    const byNode = new Map<string, RecordedUse[]>();
    for (const use of this.#uses.values()) byNode.set(use.node, [...(byNode.get(use.node) ?? []), use]);
    for (const uses of byNode.values()) endInTurn(uses);
    return [...this.#uses.values()];
  }

  add(line: PastLine): void {
    this.lines++;
    if (line.kind === 'alive') return this.#reach(line.timeMs);
    for (const { timeMs } of line.events) this.#reach(timeMs);
    if (line.kind === 'request') this.#addRequest(line);
    else this.#addNode(line);
  }

  #reach(timeMs: number): void {
    this.fromMs = Math.min(this.fromMs, timeMs);
    this.toMs = Math.max(this.toMs, timeMs);
  }

  #addRequest({ id, facts, events }: Extract<PastLine, { kind: 'request' }>): void {
    let request = this.#requests.get(id);
    const createdMs = facts?.createdMs ?? events[0]?.timeMs;
    if (createdMs === undefined) return;
    // a new ensemble reuses ids: only the newest request is kept
    const isNewer = facts !== undefined && request !== undefined && createdMs > request.createdMs + SKEW_MS;
    if (!request || isNewer) {
      if (!facts) return;
      this.#requests.set(id, (request = { ...facts, id, createdMs, shortProviders: NONE }));
    }
    for (const event of events) applyToRequest(request, event);
  }

  #addNode({ id, facts, isFirst, events }: Extract<PastLine, { kind: 'node' }>): void {
    const [first] = events;
    if (!first) return;
    const key = `${id} ${facts.request ?? ''}`;
    let use = this.#uses.get(key);
    // several launchers record a node; a new ensemble reuses ids
    if (!use || first.timeMs > (use.goneMs ?? Infinity) + SKEW_MS) {
      const { request, pool, labels, resources } = facts;
      const { timeMs: beginMs } = first;
      use = { node: id, request, pool, labels, resources, beginMs, lastMs: beginMs, attempts: 0 };
      this.#uses.set(key, use);
    }
    if (isFirst === true) Object.assign(use, { pool: facts.pool, labels: facts.labels, resources: facts.resources });
    for (const event of events) applyToUse(use, event);
  }
}

/** Most requests have no such provider, and a set for each of a year takes much memory. */
const NONE: ReadonlySet<string> = new Set();

function applyToRequest(request: RecordedRequest, { timeMs, what, rule, text }: PastEvent): void {
  if (ENDS.has(what) && request.outcome === undefined) {
    request.outcome = what as 'fulfilled' | 'failed' | 'gone';
    request.endMs = timeMs;
  } else if (rule === 'pool-full') {
    const provider = QUOTA_OF.exec(text)?.[1];
    if (provider !== undefined) request.shortProviders = new Set([...request.shortProviders, provider]);
  }
}

function applyToUse(use: RecordedUse, { timeMs, what, rule }: PastEvent): void {
  use.beginMs = Math.min(use.beginMs, timeMs);
  use.lastMs = Math.max(use.lastMs, timeMs);
  if (what === 'gone') use.goneMs = earlier(use.goneMs, timeMs);
  else if (what === 'stage' && rule === 'creating') use.attempts++;
  else if (what === 'state') applyState(use, timeMs, rule);
}

function applyState(use: RecordedUse, timeMs: number, state: string): void {
  if (state === 'init' || state === 'building') use.launchBeganMs = earlier(use.launchBeganMs, timeMs);
  else if (state === 'ready' || state === 'failed' || state === 'aborted') {
    if (use.launchBeganMs === undefined || use.launched !== undefined) return;
    use.launched = state;
    use.launchEndedMs = timeMs;
  } else if (state === 'used') use.usedMs = earlier(use.usedMs, timeMs);
  else if (state === 'deleting') use.deletingMs = earlier(use.deletingMs, timeMs);
}

/** Lines of several launchers are not in the order of their times. */
function earlier(known: number | undefined, timeMs: number): number {
  return Math.min(known ?? timeMs, timeMs);
}

/** Ends each use of a node where the next begins: a standby node is launched for no request and allocated to one later. */
function endInTurn(uses: RecordedUse[]): void {
  uses.sort((a, b) => a.beginMs - b.beginMs);
  for (const [index, use] of uses.entries()) {
    const endMs = use.goneMs ?? uses[index + 1]?.beginMs ?? (use.usedMs === undefined ? undefined : use.lastMs);
    if (endMs !== undefined) use.endMs = endMs;
  }
}
