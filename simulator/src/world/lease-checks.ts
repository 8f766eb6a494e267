import { LEASE_SLOTS_ROOT, LEASES_ROOT, type JsonObject } from '@nodepool/zk-protocol';
import type { InvariantChecker, NodeEntry, RequestEntry, VirtualClock } from '@nodepool/core/testing';
import type { TransactionListener } from '@nodepool/zk-protocol/memory';

type Change = Parameters<TransactionListener>[0]['changes'][number];

/** A lease as it is stored, decoded without our codecs. */
interface LeaseEntry {
  readonly id: string;
  readonly state: string;
  readonly token: string;
  readonly labels: readonly string[];
  readonly nodes: readonly string[];
  /** When it expires, or stops waiting; in the time of the server. */
  readonly dueMs: number;
  readonly stateMs: number;
  /** When it was stored with its state; in true time, also where launchers count by a wrong one. */
  readonly sinceMs: number;
  readonly reason: string;
}

/** How long after its end a lease may be kept: its launcher may be gone, and another one steps in two seconds later. */
const SLACK_MS = 5_000;

/**
 * Checks every transaction for what may never happen to a lease: its nodes are its own until it is over, it keeps its place
 * in the queue, it ends neither early nor late, and its token never has more nodes than it may.
 */
export class LeaseChecks {
  readonly leases = new Map<string, LeaseEntry>();
  /** How many have become active. */
  served = 0;
  /** Most nodes of each token, over all launchers. */
  readonly mostNodes = new Map<string, number>();
  /** How early it may end: a launcher whose clock is wrong knows the time no better than its writes take. */
  earlyMs = 1;
  /** How long after its end it may be kept. */
  #lateMs = SLACK_MS;
  /** `0`: a lease may last for any time. */
  maxHoldAgeMs = 0;
  readonly #clock: VirtualClock;
  readonly #checker: InvariantChecker;
  readonly #report: (violation: string) => void;
  /** The request of each lease. */
  readonly #requests = new Map<string, RequestEntry>();
  /** The only lease that each node is ever held for. */
  readonly #holders = new Map<string, string>();
  readonly #slots = new Set<string>();
  #nodeChanges: [before: NodeEntry | undefined, after: NodeEntry | undefined][] = [];

  constructor(clock: VirtualClock, checker: InvariantChecker, report: (violation: string) => void) {
    this.#clock = clock;
    this.#checker = checker;
    this.#report = report;
    checker.watch((before, after) => this.#nodeChanges.push([before, after]));
  }

  /** Listener for the server; judges what is stored after a transaction as a whole. */
  readonly onTransaction: TransactionListener = ({ changes }, sessionId) => {
    const who = this.#checker.nameOf(sessionId);
    const before = new Map<string, LeaseEntry | undefined>();
    for (const change of changes) this.#storeLease(change, before);
    for (const [id, lease] of before) this.#judge(id, lease, this.leases.get(id), who);
    for (const change of changes) this.#followRequest(change, who);
    for (const [id, lease] of before) if (!lease) this.#checkPlace(id, who);
    for (const [node, after] of this.#nodeChanges) if (node && after) this.#checkNode(node, after, who);
    this.#nodeChanges = [];
  };

  /** From now on launchers count by a wrong time, and cannot know it. */
  timeIsLost(): void {
    this.earlyMs = Infinity;
    this.#lateMs = Infinity;
  }

  /** Numbers of nodes and requests begin at a former one. */
  databaseReplaced(): void {
    this.#holders.clear();
    this.#requests.clear();
    for (const request of this.#checker.requests.values()) {
      const lease = leaseOfData(request.body['requestor_data']);
      if (lease !== undefined) this.#requests.set(lease, request);
    }
  }

  /** Leases that have not ended although it is long past their time. Meaningful while a launcher runs undisturbed. */
  overdue(): string[] {
    const nowMs = this.#clock.now();
    return [...this.leases.values()]
      .filter((lease) => isOpen(lease) && this.#endMs(lease) + this.#lateMs < nowMs)
      .map(({ id, state, dueMs }) => `lease ${id} is still ${state}, ${Math.round(nowMs - dueMs)} ms after its end`);
  }

  /** Leftovers when all lessees have gone: only leases that are over may remain. */
  leftovers(): string[] {
    return [
      ...[...this.leases.values()].filter(isOpen).map(({ id, state }) => `lease ${id} is ${state}`),
      ...[...this.#slots].map((path) => `${path} is occupied`),
      ...[...this.#checker.nodes.values()]
        .filter((node) => node.state === 'hold' && !node.touched && leaseOfNode(node) !== undefined)
        .map(({ id }) => `node ${id} is held for a lease`),
    ];
  }

  #storeLease(change: Change, before: Map<string, LeaseEntry | undefined>): void {
    if (!('path' in change) || change.change === 'setAcl') return;
    const [root, id = ''] = splitPath(change.path);
    if (root === LEASES_ROOT) {
      if (!before.has(id)) before.set(id, this.leases.get(id));
      if (change.change === 'delete') this.leases.delete(id);
      else this.leases.set(id, leaseEntry(id, parse(change.data), this.leases.get(id), this.#clock.now()));
    } else if (root.startsWith(`${LEASE_SLOTS_ROOT}/`)) {
      if (change.change === 'delete') this.#slots.delete(change.path);
      else this.#slots.add(change.path);
    }
  }

  #judge(id: string, before: LeaseEntry | undefined, after: LeaseEntry | undefined, who: string): void {
    const violate = (what: string) => this.#violate(`${who} ${what}: lease ${id}`);
    if (!after) {
      if (before && isOpen(before)) violate('forgets a lease that is not over');
      return;
    }
    // its slots are freed later
    if (before && !isOpen(before) && after.state !== before.state) violate(`makes a lease that is over ${after.state}`);
    if (!before) this.#checkLimit(after, who);
    if (before?.state === 'waiting' && after.state === 'active') this.#checkActive(after, who);
    if (before?.state === 'active' && after.state === 'active' && after.dueMs > before.dueMs)
      this.#checkRenewal(after, who);
    if (before?.state === 'active' && after.state === 'waiting') violate('takes a lease back');
    if (before?.state === 'waiting' && after.reason.includes('cancelled')) violate('takes a request for cancelled');
    if (before?.state === 'active' && after.state === 'ended') this.#checkEnd(before, after, who);
  }

  #checkLimit({ token, id }: LeaseEntry, who: string): void {
    const most = this.mostNodes.get(token) ?? Infinity;
    let count = 0;
    for (const lease of this.leases.values()) if (lease.token === token && isOpen(lease)) count += lease.labels.length;
    if (count > most) this.#violate(`${who} makes lease ${id}: ${count} nodes for token ${token}, of at most ${most}`);
  }

  #checkActive(lease: LeaseEntry, who: string): void {
    const { id, labels, nodes } = lease;
    this.served++;
    const violate = (what: string) => this.#violate(`${who} makes lease ${id} active ${what}`);
    if (nodes.length !== labels.length) violate(`with ${nodes.length} nodes for ${labels.length} labels`);
    labels.forEach((label, index) => {
      const node = this.#checker.nodes.get(nodes[index] ?? '');
      if (node?.state !== 'hold' || leaseOfNode(node) !== id) return violate(`without node ${nodes[index]}`);
      if (!node.labels.includes(label)) violate(`with node ${node.id}, which has not label ${label}`);
      const holder = this.#holders.get(node.id);
      if (holder !== undefined && holder !== id) violate(`with node ${node.id} of lease ${holder}`);
      this.#holders.set(node.id, id);
    });
  }

  #checkRenewal({ id, nodes }: LeaseEntry, who: string): void {
    const isLost = (node: string) => !this.#checker.nodes.get(node)?.touched && !this.#isHeld(node, id);
    const lost = nodes.find(isLost);
    if (lost !== undefined) this.#violate(`${who} renews lease ${id}, which has lost node ${lost}`);
  }

  #checkEnd(before: LeaseEntry, { reason }: LeaseEntry, who: string): void {
    const { id } = before;
    const isTimed = reason.includes('expired') || reason.includes('max-hold-age');
    const leftMs = this.#endMs(before) - this.#clock.now();
    if (isTimed && leftMs > this.earlyMs) this.#violate(`${who} ends lease ${id} ${Math.round(leftMs)} ms early`);
    const held = before.nodes.find((node) => this.#isHeld(node, id));
    if (reason.includes('gone') && held !== undefined) this.#violate(`${who} ends lease ${id}, which has node ${held}`);
  }

  #isHeld(node: string, lease: string): boolean {
    const entry = this.#checker.nodes.get(node);
    return entry?.state === 'hold' && !entry.touched && leaseOfNode(entry) === lease;
  }

  /** Its request must stay the same one for as long as it waits: the number of a request is its place in the queue. */
  #followRequest(change: Change, who: string): void {
    if (!('path' in change) || !/^\/nodepool\/requests\/[^/]+$/.test(change.path)) return;
    const [, id = ''] = splitPath(change.path);
    const entry = this.#checker.requests.get(id);
    const lease = entry && leaseOfData(entry.body['requestor_data']);
    if (entry && lease !== undefined) {
      const known = this.#requests.get(lease);
      if (known && known.id !== id) this.#violate(`${who} requests nodes again for lease ${lease}: it loses its place`);
      this.#requests.set(lease, entry);
    }
    if (change.change !== 'delete') return;
    for (const [name, request] of this.#requests) {
      const isWaiting = request.id === id && this.leases.get(name)?.state === 'waiting';
      if (isWaiting) this.#violate(`${who} deletes the request of lease ${name}, which waits`);
    }
  }

  #checkPlace(id: string, who: string): void {
    if (!this.#requests.has(id)) this.#violate(`${who} makes lease ${id} without a request`);
  }

  #checkNode(before: NodeEntry, after: NodeEntry, who: string): void {
    const lease = this.leases.get(leaseOfNode(before) ?? '');
    if (before.state !== 'hold' || !lease || before.touched || after.touched) return;
    const isKept = after.state === 'hold' && leaseOfNode(after) === lease.id;
    if (!isKept && after.state !== 'deleting') {
      this.#violate(`${who} makes node ${after.id} of lease ${lease.id} ${after.state}`);
    } else if (!isKept && lease.state === 'active' && this.#endMs(lease) - this.#clock.now() > this.earlyMs) {
      this.#violate(`${who} takes node ${after.id} from lease ${lease.id}, which is active`);
    }
  }

  #endMs({ state, dueMs, stateMs }: LeaseEntry): number {
    return state === 'active' && this.maxHoldAgeMs > 0 ? Math.min(dueMs, stateMs + this.maxHoldAgeMs) : dueMs;
  }

  #violate(what: string): void {
    this.#report(what);
  }
}

/** The lease that a node is held for. */
export const leaseOfNode = ({ body }: NodeEntry): string | undefined => leaseOfData(body['user_data']);

function leaseOfData(data: unknown): string | undefined {
  const id = typeof data === 'object' && data !== null ? (data as JsonObject)['lease'] : undefined;
  return typeof id === 'string' ? id : undefined;
}

const isOpen = ({ state }: LeaseEntry): boolean => state === 'waiting' || state === 'active';

function leaseEntry(id: string, body: JsonObject, before: LeaseEntry | undefined, nowMs: number): LeaseEntry {
  const due = body['due_time'];
  const text = (key: string) => (typeof body[key] === 'string' ? body[key] : '');
  const state = text('state');
  return {
    id,
    state,
    token: text('token'),
    labels: (body['labels'] ?? []) as string[],
    nodes: (body['nodes'] ?? []) as string[],
    dueMs: typeof due === 'number' ? due * 1000 : Infinity,
    stateMs: Number(body['state_time']) * 1000,
    sinceMs: before?.state === state ? before.sinceMs : nowMs,
    reason: text('end_reason'),
  };
}

const parse = (data: Buffer | null) => JSON.parse(data?.toString() ?? '{}') as JsonObject;

function splitPath(path: string): [root: string, name: string] {
  const slash = path.lastIndexOf('/');
  return [path.slice(0, slash), path.slice(slash + 1)];
}
