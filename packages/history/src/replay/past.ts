import type { Resources } from '@nodepool/zk-protocol';
import type { PastEvent, PastLine, RequestFacts } from '../record/event.js';

/** What the record says of one request. */
export interface RecordedRequest extends RequestFacts {
  readonly id: string;
  readonly createdMs: number;
  /** How it ended; `gone`: it was withdrawn. Missing: it is not over, or the record does not say. */
  outcome?: 'fulfilled' | 'failed' | 'gone';
  endMs?: number;
  /** What kept it waiting names the quota of these providers. */
  readonly shortProviders: Set<string>;
}

/** One node while it was made for, or given to, one request. */
export interface RecordedUse {
  readonly node: string;
  readonly request: string | undefined;
  /** `provider/pool`. */
  pool: string;
  labels: readonly string[];
  resources: Resources | undefined;
  readonly beginMs: number;
  lastMs: number;
  /** Attempts of its launch. */
  attempts: number;
  launchBeganMs?: number;
  launchEndedMs?: number;
  /** How the launch ended. */
  launched?: 'ready' | 'failed' | 'aborted';
  /** Its user has given it back. */
  usedMs?: number;
  deletingMs?: number;
  goneMs?: number;
  /** When it was no longer there for the request; missing: it still was at the end of the record. */
  endMs?: number;
}

const ENDS: ReadonlySet<string> = new Set(['fulfilled', 'failed', 'gone']);
/** The clocks of a requestor and a launcher may be so far apart; ids that are older are of another ensemble. */
const SKEW_MS = 60_000;
const QUOTA_OF = /provider "([^"]+)": (?:label|the request) .*needs/;

/** What histories of launchers say, put together: line by line, and only what a replay needs. */
export class Past {
  readonly #requests = new Map<string, RecordedRequest>();
  readonly #uses = new Map<string, RecordedUse>();
  /** The first and the last thing on record. */
  fromMs = Infinity;
  toMs = -Infinity;

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
    // ids begin anew with a new ensemble: only the newest is kept
    const isNewer = facts !== undefined && request !== undefined && createdMs > request.createdMs + SKEW_MS;
    if (!request || isNewer) {
      if (!facts) return;
      this.#requests.set(id, (request = { ...facts, id, createdMs, shortProviders: new Set() }));
    }
    for (const event of events) hearOfRequest(request, event);
  }

  #addNode({ id, facts, isFirst, events }: Extract<PastLine, { kind: 'node' }>): void {
    const [first] = events;
    if (!first) return;
    const key = `${id} ${facts.request ?? ''}`;
    let use = this.#uses.get(key);
    if (!use || use.goneMs !== undefined) {
      const { request, pool, labels, resources } = facts;
      const { timeMs: beginMs } = first;
      use = { node: id, request, pool, labels, resources, beginMs, lastMs: beginMs, attempts: 0 };
      this.#uses.set(key, use);
    }
    if (isFirst === true) Object.assign(use, { pool: facts.pool, labels: facts.labels, resources: facts.resources });
    for (const event of events) hearOfNode(use, event);
  }
}

function hearOfRequest(request: RecordedRequest, { timeMs, what, rule, text }: PastEvent): void {
  if (ENDS.has(what) && request.outcome === undefined) {
    request.outcome = what as 'fulfilled' | 'failed' | 'gone';
    request.endMs = timeMs;
  } else if (rule === 'pool-full') {
    const provider = QUOTA_OF.exec(text)?.[1];
    if (provider !== undefined) request.shortProviders.add(provider);
  }
}

function hearOfNode(use: RecordedUse, { timeMs, what, rule }: PastEvent): void {
  use.lastMs = Math.max(use.lastMs, timeMs);
  if (what === 'gone') use.goneMs = timeMs;
  else if (what === 'stage' && rule === 'creating') use.attempts++;
  else if (what === 'state') hearOfState(use, timeMs, rule);
}

function hearOfState(use: RecordedUse, timeMs: number, state: string): void {
  if (state === 'init' || state === 'building') use.launchBeganMs ??= timeMs;
  else if (state === 'ready' || state === 'failed' || state === 'aborted') {
    if (use.launchBeganMs === undefined || use.launched !== undefined) return;
    use.launched = state;
    use.launchEndedMs = timeMs;
  } else if (state === 'used') use.usedMs ??= timeMs;
  else if (state === 'deleting') use.deletingMs ??= timeMs;
}

/** A node that stands by is made for nobody and then given to somebody: one use ends where the next begins. */
function endInTurn(uses: RecordedUse[]): void {
  uses.sort((a, b) => a.beginMs - b.beginMs);
  for (const [index, use] of uses.entries()) {
    const endMs = use.goneMs ?? uses[index + 1]?.beginMs ?? (use.usedMs === undefined ? undefined : use.lastMs);
    if (endMs !== undefined) use.endMs = endMs;
  }
}
