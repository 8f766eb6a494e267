import { leaseOf, mapOf, textOf, type NodeRecord, type RequestRecord, type Resources } from '@nodepool/zk-protocol';
import { pastEvent, type NodeFacts, type PastEvent, type PastLine, type RequestFacts } from './event.js';
import type { Membership } from './group-log.js';

/** A recorded node. */
export interface KnownNode {
  readonly id: string;
  readonly facts: NodeFacts;
  readonly events: readonly PastEvent[];
}

/** A recorded request that is open or has just ended. */
export interface KnownRequest {
  readonly id: string;
  readonly facts: RequestFacts;
  readonly events: readonly PastEvent[];
  /** Nodes launched for it or allocated to it. */
  readonly nodes: readonly KnownNode[];
  /** All events so far, including what it waits for now. */
  eventsNow(): PastEvent[];
}

/** Limit of the events of one request or node in memory; beyond it, written events in the middle are removed. */
export const MAX_EVENTS = 400;

/** Events of one request or node, kept until it has ended and is written. */
class OpenRecord {
  /** Whether the recorder has listed it for the next write. */
  isListed = false;
  readonly events: PastEvent[] = [];
  /** Events before this index are in the file. */
  #written = 0;

  get isDirty(): boolean {
    return this.#written < this.events.length;
  }

  add(event: PastEvent): void {
    if (this.events.length >= MAX_EVENTS && this.#written > MAX_EVENTS / 2) {
      this.events.splice(MAX_EVENTS / 2, 1);
      this.#written--;
    }
    this.events.push(event);
  }

  /** Marks all events as written. @returns those that were not written before */
  protected takeEvents(): PastEvent[] {
    const taken = this.events.slice(this.#written);
    this.#written = this.events.length;
    return taken;
  }

  protected get hasLine(): boolean {
    return this.#written > 0;
  }

  /** Removes the last event if it is not written yet and the next event makes it redundant. */
  dropLast(isRedundant: (event: PastEvent) => boolean): void {
    const last = this.events.at(-1);
    if (last && this.isDirty && isRedundant(last)) this.events.pop();
  }
}

/** An open request that pools of this launcher have seen. */
export class OpenRequest extends OpenRecord implements KnownRequest {
  readonly id: string;
  readonly facts: RequestFacts;
  /** Queues in which it waits. A list takes less memory than a map, as a request has few pools. */
  readonly queued: { readonly pool: string; readonly membership: Membership }[] = [];
  /** Alternating: a pool that does not serve it, and the rule. */
  readonly #left: string[] = [];
  /** Pool that accepted it. */
  taken: string | undefined;
  readonly nodes: OpenNode[] = [];
  isOver = false;
  /** Whether the request is written: a pool of this launcher queued it, or it failed after a pool had seen it. */
  isRelevant = false;

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

  /** Notes by which rule a pool does not serve it; `undefined`: the pool queues it. @returns whether the rule changed */
  leftBy(pool: string, rule: string | undefined): boolean {
    const at = this.#left.findIndex((text, index) => index % 2 === 0 && text === pool);
    if (at >= 0 && this.#left[at + 1] === rule) return false;
    if (at >= 0) this.#left.splice(at, 2);
    if (rule !== undefined) this.#left.push(pool, rule);
    return true;
  }

  eventsNow(): PastEvent[] {
    return [...this.events, ...this.#waits()];
  }

  #waits(): PastEvent[] {
    return this.queued.flatMap(({ membership }) => membership.group.eventsOf(membership));
  }

  take(): PastLine {
    const isFirst = !this.hasLine;
    const taken = this.takeEvents();
    // written again when it leaves the queue; this copy remains if the process is killed before
    const waits = isFirst ? this.#waits() : [];
    const events = waits.length === 0 ? taken : [...taken, ...waits];
    return { kind: 'request', id: this.id, ...(isFirst && { facts: this.facts }), events };
  }
}

/** A node with unwritten events, or of an open request. */
export class OpenNode extends OpenRecord implements KnownNode {
  readonly id: string;
  readonly facts: NodeFacts;

  constructor(node: NodeRecord) {
    super();
    this.id = node.id;
    const { labels, provider, pool, allocatedTo, tenantName, resources } = node;
    this.facts = {
      request: allocatedTo ?? undefined,
      labels,
      pool: `${provider ?? ''}/${pool ?? ''}`,
      ...(tenantName !== null && { tenant: tenantName }),
      ...(resources && { resources: withoutInstances(resources) }),
    };
  }

  /** Notes the differences between two records. @returns whether there are any */
  changed(before: NodeRecord | undefined, after: NodeRecord | undefined, nowMs: number): boolean {
    const count = this.events.length;
    if (!after) this.add(pastEvent(nowMs, 'gone'));
    else {
      if (after.allocatedTo !== null && after.allocatedTo !== before?.allocatedTo && before !== undefined)
        this.add(pastEvent(nowMs, 'allocated', '', '', after.allocatedTo));
      if (after.state === 'ready' && after.allocatedTo === null && before?.allocatedTo)
        this.add(pastEvent(nowMs, 'allocated'));
      if (after.state !== before?.state) this.add(pastEvent(nowMs, 'state', '', after.state, detailOf(before, after)));
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

/** Each node is one instance, so the number is left out of the file. */
function withoutInstances({ instances: _, ...rest }: Resources): Resources | undefined {
  return Object.keys(rest).length === 0 ? undefined : rest;
}

/** Why a node is deleted, if the launcher that deletes it says so, or its purpose. */
function detailOf(before: NodeRecord | undefined, after: NodeRecord): string {
  if (after.state !== 'deleting') return purposeOf(after);
  return before && after.comment !== before.comment ? (after.comment ?? '') : '';
}

/** The project of a node in use, as Zuul writes it, or `lease`: only these nodes on hold are not held by a person. */
function purposeOf({ state, userData }: NodeRecord): string {
  if (state === 'hold') return leaseOf(userData) === undefined ? '' : 'lease';
  return state === 'in-use' ? (textOf(mapOf(userData)['project_name']) ?? '') : '';
}
