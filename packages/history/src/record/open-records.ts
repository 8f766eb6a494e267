import type { NodeRecord, RequestRecord, Resources } from '@nodepool/zk-protocol';
import { pastEvent, type NodeFacts, type PastEvent, type PastLine, type RequestFacts } from './event.js';
import type { Membership } from './group-log.js';

/** What a launcher knows of a node that is made, or was, for an open request. */
export interface KnownNode {
  readonly id: string;
  readonly facts: NodeFacts;
  readonly events: readonly PastEvent[];
}

/** What a launcher knows of a request that is not over, or has just ended. */
export interface KnownRequest {
  readonly id: string;
  readonly facts: RequestFacts;
  readonly events: readonly PastEvent[];
  /** Nodes that are made for it. */
  readonly nodes: readonly KnownNode[];
  /** What happened so far, with what it waits for at this moment. */
  eventsNow(): PastEvent[];
}

/** Events kept of one request or node while it is open; the ones in the middle are left out. */
const MOST_EVENTS = 400;

/** Keeps what happened to one request or node until it has been written and is over. */
class OpenRecord {
  /** It is in the list of what is to be written. */
  isListed = false;
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
export class OpenRequest extends OpenRecord implements KnownRequest {
  readonly id: string;
  readonly facts: RequestFacts;
  /** Where it waits; of few pools, so that a list is smaller than a map. */
  readonly queued: { readonly pool: string; readonly membership: Membership }[] = [];
  /** The rule by which a pool has left it alone, after the name of the pool. */
  readonly left: string[] = [];
  /** Pool that works on it. */
  taken: string | undefined;
  /** What it waits for in that pool, by rule. */
  paused: string | undefined;
  /** Nodes that are made for it. */
  readonly nodes: OpenNode[] = [];
  isOver = false;
  /** A pool of this launcher has had it in its queue, or it failed after they had looked at it. */
  concernsUs = false;

  constructor(request: RequestRecord) {
    super();
    this.id = request.id;
    const { labels, requestor, tenantName: tenant, relativePriority, provider } = request;
    const createdMs = request.createdTimeMs ?? request.stat?.ctime;
    this.facts = { createdMs, labels, requestor, tenant, relativePriority, provider };
  }

  membershipOf(pool: string): Membership | undefined {
    return this.queued.find((each) => each.pool === pool)?.membership;
  }

  /** Notes by which rule a pool leaves it alone; `undefined`: it does not any more. @returns whether that is news */
  leftBy(pool: string, rule: string | undefined): boolean {
    const at = this.left.findIndex((text, index) => index % 2 === 0 && text === pool);
    if (at >= 0 && this.left[at + 1] === rule) return false;
    if (at >= 0) this.left.splice(at, 2);
    if (rule !== undefined) this.left.push(pool, rule);
    return true;
  }

  /** What happened so far, with what it waits for at this moment. */
  eventsNow(): PastEvent[] {
    return [...this.events, ...this.#waits()];
  }

  #waits(): PastEvent[] {
    return this.queued.flatMap(({ membership }) => membership.group.eventsOf(membership));
  }

  take(): PastLine {
    const isFirst = !this.hasLine;
    const taken = this.takeEvents();
    // what it waits for is told again when it leaves the queue, unless the process is killed before
    const waits = isFirst ? this.#waits() : [];
    const events = waits.length === 0 ? taken : [...taken, ...waits];
    return { kind: 'request', id: this.id, ...(isFirst && { facts: this.facts }), events };
  }
}

/** A node to which something has happened that is not written, or that is made for an open request. */
export class OpenNode extends OpenRecord implements KnownNode {
  readonly id: string;
  readonly facts: NodeFacts;

  constructor(node: NodeRecord) {
    super();
    this.id = node.id;
    const { labels, provider, pool, allocatedTo, resources } = node;
    this.facts = {
      ...{ request: allocatedTo ?? undefined, labels, pool: `${provider ?? ''}/${pool ?? ''}` },
      ...(resources && { resources: withoutInstances(resources) }),
    };
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
    const isFirst = !this.hasLine;
    return { kind: 'node', id: this.id, facts: this.facts, isFirst, events: this.takeEvents() };
  }
}

/** Every node is one instance; only the rest is worth its place in the file. */
function withoutInstances({ instances: _, ...rest }: Resources): Resources | undefined {
  return Object.keys(rest).length === 0 ? undefined : rest;
}
