import type { NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import { pastEvent, type NodeFacts, type PastEvent, type PastLine, type RequestFacts } from './event.js';
import type { Membership } from './group-log.js';

/** Events kept of one request or node while it is open; the ones in the middle are left out. */
const MOST_EVENTS = 400;

/** Keeps what happened to one request or node until it has been written and is over. */
class OpenRecord {
  readonly events: PastEvent[] = [];
  /** Those before this index are in the file. */
  #written = 0;

  get isDirty(): boolean {
    return this.#written < this.events.length;
  }

  add(event: PastEvent): void {
    if (this.events.length >= MOST_EVENTS && this.#written > MOST_EVENTS / 2) {
      this.events.splice(MOST_EVENTS / 2, 1);
      this.#written--;
    }
    this.events.push(event);
  }

  /** @returns what is not written yet, and counts it as written */
  protected takeEvents(): PastEvent[] {
    const taken = this.events.slice(this.#written);
    this.#written = this.events.length;
    return taken;
  }

  protected get hasLine(): boolean {
    return this.#written > 0;
  }

  /** Forgets the last event, if it is one that says nothing by now and is not in the file. */
  dropLast(isIdle: (event: PastEvent) => boolean): void {
    const last = this.events.at(-1);
    if (last && this.isDirty && isIdle(last)) this.events.pop();
  }
}

/** A request that pools of this launcher have looked at and that is not over. */
export class OpenRequest extends OpenRecord {
  readonly id: string;
  readonly facts: RequestFacts;
  /** Where it waits, by pool. */
  readonly queued = new Map<string, Membership>();
  /** The rule by which pools have left it alone. */
  readonly left = new Map<string, string>();
  /** Pool that works on it. */
  taken: string | undefined;
  /** What it waits for in that pool, by rule. */
  paused: string | undefined;
  /** Nodes that are made for it. */
  readonly nodes = new Set<OpenNode>();
  isOver = false;
  /** A pool of this launcher has had it in its queue. */
  concernsUs = false;

  constructor(request: RequestRecord) {
    super();
    this.id = request.id;
    const { labels, requestor, tenantName: tenant } = request;
    this.facts = { createdMs: request.createdTimeMs ?? request.stat?.ctime, labels, requestor, tenant };
  }

  /** What happened so far, with what it waits for at this moment. */
  eventsNow(): PastEvent[] {
    const waits = [...this.queued.values()].flatMap((membership) => membership.group.eventsOf(membership));
    return waits.length === 0 ? [...this.events] : [...this.events, ...waits];
  }

  take(): PastLine {
    const isFirst = !this.hasLine;
    const events = this.takeEvents();
    return { kind: 'request', id: this.id, ...(isFirst && { facts: this.facts }), events };
  }
}

/** A node to which something has happened that is not written, or that is made for an open request. */
export class OpenNode extends OpenRecord {
  readonly id: string;
  readonly facts: NodeFacts;

  constructor(node: NodeRecord) {
    super();
    this.id = node.id;
    const { labels, provider, pool, allocatedTo } = node;
    this.facts = { request: allocatedTo ?? undefined, labels, pool: `${provider ?? ''}/${pool ?? ''}` };
  }

  get lastStage(): string | undefined {
    return this.events.findLast(({ what }) => what === 'stage')?.rule;
  }

  /** Notes what is different. @returns whether anything is */
  changed(before: NodeRecord | undefined, after: NodeRecord | undefined, nowMs: number): boolean {
    const count = this.events.length;
    if (!after) this.add(pastEvent(nowMs, 'gone'));
    else {
      if (after.allocatedTo !== null && after.allocatedTo !== before?.allocatedTo && before !== undefined)
        this.add(pastEvent(nowMs, 'allocated', '', '', after.allocatedTo));
      if (after.state !== before?.state) this.add(pastEvent(nowMs, 'state', '', after.state));
      if (after.launchError !== null && after.launchError !== before?.launchError)
        this.add(pastEvent(nowMs, 'error', '', '', after.launchError));
    }
    return this.events.length > count;
  }

  take(): PastLine {
    return { kind: 'node', id: this.id, facts: this.facts, isFirst: !this.hasLine, events: this.takeEvents() };
  }
}
