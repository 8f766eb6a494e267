import { classifyPath, DATABASE_ID_PATH, type JsonObject, type ZooKeeper } from '@nodepool/zk-protocol';
import type { TransactionListener } from '@nodepool/zk-protocol/memory';
import {
  addressKey,
  nodeEntry,
  parseBody,
  requestEntry,
  slotKey,
  type NodeEntry,
  type RequestEntry,
} from './entries.js';

/** Called for every node that is created or changed. */
export type NodeWatcher = (before: NodeEntry | undefined, after: NodeEntry, who: string) => void;
/** Called for every component that registers, changes, or leaves (without a body). */
export type ComponentWatcher = (path: string, body: JsonObject | undefined, who: string) => void;
/** Called for every request that becomes `failed`. */
export type FailureWatcher = (request: RequestEntry, who: string) => void;

type Change = Parameters<TransactionListener>[0]['changes'][number];
type TreeChange = Extract<Change, { path: string }>;

const LEASE_REQUESTOR = 'NodePool:lease';

/** States of a node in which a launch or deletion of it is at work. */
const RUNNING: ReadonlySet<string> = new Set(['building', 'deleting']);
/** States of nodes whose machine runs and may be in use. */
const USABLE: ReadonlySet<string> = new Set(['ready', 'in-use', 'hold']);
/** Keys of a node that say how far that is. */
const PROGRESS = ['state', 'external_id', 'launch_state', 'launcher'];

/** Owner of persistent locks, which metastatic providers keep on their backing nodes. */
const LASTING = 0n;

const STRUCTURE = [
  /^\/nodepool$/,
  /^\/nodepool\/(nodes|requests|requests-lock|launchers|components|images)$/,
  /^\/nodepool\/components\/[a-z]+$/,
  /^\/nodepool\/images\/[^/]+(\/.*)?$/,
  /^\/nodepool\/controls(\/(provider|pool|label|image)(\/[^/]+)?)?$/,
  /^\/nodepool\/(leases|lease-tokens)(\/[^/]+)?$/,
  /^\/nodepool\/lease-slots(\/[^/]+){0,2}$/,
];

/**
 * Checks every transaction for violations of the data model, independent of the driver. The simulator and the driver
 * kit both use it. It reads stored bodies directly, so that a defect in our codecs cannot hide itself.
 */
export class InvariantChecker {
  readonly nodes = new Map<string, NodeEntry>();
  databaseId: string | undefined;
  readonly requests = new Map<string, RequestEntry>();
  /** Sessions of lock entries by lock directory, in queue order. */
  readonly locks = new Map<string, Map<string, bigint>>();
  readonly components = new Map<string, bigint>();
  fulfilled = 0;
  failed = 0;
  transactions = 0;
  readonly #names = new Map<bigint, string>();
  readonly #watchers: NodeWatcher[] = [];
  readonly #componentWatchers: ComponentWatcher[] = [];
  readonly #failureWatchers: FailureWatcher[] = [];
  readonly #violate: (violation: string) => void;

  /** @param report - called with each violation as it happens */
  constructor(report: (violation: string) => void) {
    this.#violate = report;
  }

  /** Transaction listener for the server. */
  readonly onTransaction: TransactionListener = (transaction, sessionId) => {
    if (transaction.changes.length === 0) return;
    this.transactions++;
    const who = this.nameOf(sessionId);
    for (const change of transaction.changes) this.#apply(change, sessionId, who);
  };

  /**
   * Names the sessions of a connection. Names that begin with `launcher` are also subject to rules for launchers. A
   * node that `operator` changes is not checked afterwards.
   */
  follow(zk: Pick<ZooKeeper, 'onState' | 'sessionId'>, name: string): void {
    zk.onState((state) => {
      if (state === 'CONNECTED') this.#names.set(zk.sessionId, name);
    });
  }

  nameOf(sessionId: bigint): string {
    return this.#names.get(sessionId) ?? `session 0x${sessionId.toString(16)}`;
  }

  /** Adds a check that only one kind of provider needs. */
  watch(watcher: NodeWatcher): void {
    this.#watchers.push(watcher);
  }

  watchComponents(watcher: ComponentWatcher): void {
    this.#componentWatchers.push(watcher);
  }

  watchFailures(watcher: FailureWatcher): void {
    this.#failureWatchers.push(watcher);
  }

  /** Session that holds the lock. */
  holderOf(root: string): bigint | undefined {
    const entries = this.locks.get(root);
    if (entries === undefined) return undefined;
    let first: [string, bigint] | undefined;
    for (const entry of entries) if (first === undefined || entry[0].slice(-10) < first[0].slice(-10)) first = entry;
    return first?.[1];
  }

  #apply(change: Change, sessionId: bigint, who: string): void {
    if (!('path' in change) || change.change === 'setAcl') return;
    const shape = classifyPath(change.path);
    switch (shape.shape) {
      case 'node':
        this.#node(change, shape.id, sessionId, who);
        return;
      case 'request':
        this.#request(change, shape.id, sessionId, who);
        return;
      case 'node-lock':
      case 'request-lock':
        if (change.change === 'create') this.locks.set(change.path, new Map());
        if (change.change === 'delete') this.locks.delete(change.path);
        return;
      case 'node-lock-entry':
      case 'request-lock-entry':
        this.#lockEntry(change, sessionId, who);
        return;
      case 'component':
        this.#component(change, who);
        return;
      default:
        if (change.path === DATABASE_ID_PATH && change.change === 'create' && this.databaseId === undefined) {
          this.databaseId = change.data?.toString(); // written once: identifies all resources in the clouds
        } else if (!STRUCTURE.some((pattern) => pattern.test(change.path))) {
          this.#violate(`${who} ${change.change}s a znode that does not belong there: ${change.path}`);
        }
    }
  }

  #component(change: TreeChange, who: string): void {
    if (change.change === 'create') this.components.set(change.path, change.owner);
    if (change.change === 'delete') this.components.delete(change.path);
    if (change.change === 'setAcl') return;
    const body = change.change === 'delete' ? undefined : parseBody(change.data);
    for (const watcher of this.#componentWatchers) watcher(change.path, body, who);
  }

  #lockEntry(change: TreeChange, sessionId: bigint, who: string): void {
    const root = change.path.slice(0, change.path.lastIndexOf('/'));
    const name = change.path.slice(root.length + 1);
    if (change.change === 'create') this.locks.get(root)?.set(name, change.owner);
    if (change.change !== 'delete') return;
    const owner = this.locks.get(root)?.get(name);
    this.locks.get(root)?.delete(name);
    const id = root.split('/')[3] ?? '';
    const isGoing = this.nodes.get(id)?.state === 'deleted';
    if (owner !== sessionId && owner !== LASTING && !isGoing && this.#name(owner) !== who)
      this.#violate(`${who} takes the lock entry ${change.path} of ${this.#name(owner)} away`);
  }

  #node(change: TreeChange, id: string, sessionId: bigint, who: string): void {
    const before = this.nodes.get(id);
    this.#checkHolder(`/nodepool/nodes/${id}/lock`, change, sessionId, who, isLongerHold(before, change));
    if (change.change === 'delete') {
      this.nodes.delete(id);
      if (before !== undefined) this.#checkRemoval(before, 'deletes', who);
      return;
    }
    if (change.change !== 'create' && change.change !== 'setData') return;
    const body = parseBody(change.data);
    if (body === undefined) return;
    const after = nodeEntry(id, body, before?.touched === true || who === 'operator');
    this.nodes.set(id, after);
    if (before !== undefined) this.#checkNodeChange(before, after, sessionId, who);
    for (const watcher of this.#watchers) watcher(before, after, who);
    this.#checkSlotNumber(before, after, who);
    for (const wrong of wrongAddresses(before, after, this.nodes)) this.#violate(`${who} ${wrong}`);
    if (after.allocatedTo !== null && before?.allocatedTo !== after.allocatedTo) this.#checkSlot(after, who);
  }

  #checkNodeChange(before: NodeEntry, after: NodeEntry, sessionId: bigint, who: string): void {
    const isRunner = this.holderOf(`/nodepool/nodes/${after.id}/lock`) === sessionId;
    const written = isRunner || !who.startsWith('launcher') ? '' : progressWritten(before, after).join(', ');
    if (written !== '')
      this.#violate(`${who} writes ${written} of ${before.state} node ${after.id} and does not hold its lock`);
    for (const wrong of wrongStops(before, after)) this.#violate(`${who} ${wrong}`);
    if (before.state === 'ready' && after.state === 'deleting') this.#checkRemoval(before, 'marks for deletion', who);
    const from = before.allocatedTo;
    const to = after.allocatedTo;
    if (from === null || from === to) return;
    if (to !== null) this.#violate(`${who} gives node ${after.id} of request ${from} to request ${to}`);
    const request = this.requests.get(from);
    if (request === undefined || before.touched || request.body['requestor'] === 'NodePool:min-ready') return;
    if (request.state === 'fulfilled') this.#violate(`${who} takes node ${after.id} from fulfilled request ${from}`);
    const holder = this.holderOf(`/nodepool/requests-lock/${from}`);
    if (request.state === 'pending' && holder !== undefined && holder !== sessionId) {
      this.#violate(`${who} takes node ${after.id} from request ${from}, which ${this.#name(holder)} works on`);
    }
  }

  #checkRemoval(node: NodeEntry, verb: string, who: string): void {
    if (node.allocatedTo === null || node.state !== 'ready' || node.touched || who === 'operator') return;
    const request = this.requests.get(node.allocatedTo);
    if (request?.state === 'fulfilled' && request.nodes.includes(node.id)) {
      this.#violate(`${who} ${verb} node ${node.id} of fulfilled request ${request.id}`);
    }
  }

  /** Checks that each slot number of a host has one record: two slots mean one record with number 0 and one with 1. */
  #checkSlotNumber(before: NodeEntry | undefined, after: NodeEntry, who: string): void {
    const key = slotKey(after);
    if (key === undefined || after.touched || after.state === 'deleting') return;
    if (before !== undefined && slotKey(before) === key) return;
    for (const other of this.nodes.values()) {
      if (other.id === after.id || slotKey(other) !== key || other.touched || other.state === 'deleting') continue;
      this.#violate(`${who} makes node ${after.id} for slot ${key}, which node ${other.id} (${other.state}) has`);
    }
  }

  /** Checks that no two nodes share a slot of a host. */
  #checkSlot(node: NodeEntry, who: string): void {
    const key = slotKey(node);
    if (key === undefined) return;
    for (const other of this.nodes.values()) {
      if (other.id === node.id || slotKey(other) !== key || other.touched || node.touched) continue;
      const isUsed = other.allocatedTo !== null && !['used', 'deleting', 'deleted'].includes(other.state);
      if (isUsed && this.#isInUse(other)) {
        const user = `node ${other.id} (${other.state})`;
        this.#violate(`${who} hands out node ${node.id} while ${user} uses the same slot ${key}`);
      }
    }
  }

  #isInUse(node: NodeEntry): boolean {
    if (this.holderOf(`/nodepool/nodes/${node.id}/lock`) !== undefined) return true;
    return node.allocatedTo !== null && this.requests.get(node.allocatedTo)?.state === 'fulfilled';
  }

  #request(change: TreeChange, id: string, sessionId: bigint, who: string): void {
    const before = this.requests.get(id);
    if (change.change === 'delete') this.requests.delete(id);
    if (change.change !== 'create' && change.change !== 'setData') return;
    // ZooKeeper chose its number: in a new database a client may still lock a former request of that number
    this.#checkHolder(`/nodepool/requests-lock/${id}`, change, sessionId, who, change.change === 'create');
    const body = parseBody(change.data);
    if (body === undefined) return;
    const after = requestEntry(id, body);
    this.requests.set(id, after);
    if (before === undefined || before.state === after.state) return;
    if (before.state === 'failed' || (before.state === 'fulfilled' && !isBackForLease(before, after, this.nodes))) {
      this.#violate(`${who} makes ${before.state} request ${id} ${after.state}`);
    }
    if (after.state === 'failed') {
      this.failed++;
      for (const watcher of this.#failureWatchers) watcher(after, who);
    }
    if (after.state !== 'fulfilled') return;
    this.fulfilled++;
    this.#checkFulfilled(after, who);
  }

  #checkFulfilled(request: RequestEntry, who: string): void {
    const complain = (why: string) => this.#violate(`${who} fulfils request ${request.id} wrongly: ${why}`);
    if (request.nodes.length !== request.labels.length) {
      complain(`${request.labels.length} labels, ${request.nodes.length} nodes`);
    }
    if (new Set(request.nodes).size !== request.nodes.length) complain(`a node twice: ${request.nodes.join(', ')}`);
    request.labels.forEach((label, index) => {
      const id = request.nodes[index] ?? '';
      const node = this.nodes.get(id);
      if (node === undefined) complain(`node ${id} does not exist`);
      else if (node.state !== 'ready') complain(`node ${id} is ${node.state}`);
      else if (node.allocatedTo !== request.id) complain(`node ${id} is allocated to ${String(node.allocatedTo)}`);
      else if (!node.labels.includes(label)) complain(`node ${id} has not label ${label}`);
      else if (this.#name(this.holderOf(`/nodepool/nodes/${id}/lock`)).startsWith('launcher')) {
        complain(`node ${id} is locked`);
      }
    });
  }

  #checkHolder(root: string, change: TreeChange, sessionId: bigint, who: string, mayBeOthers = false): void {
    const holder = this.holderOf(root);
    if (holder === undefined || holder === sessionId || holder === LASTING) return;
    if (mayBeOthers && !this.#name(holder).startsWith('launcher')) return;
    this.#violate(`${who} ${change.change}s ${change.path} while ${this.#name(holder)} holds its lock`);
  }

  #name(sessionId: bigint | undefined): string {
    return sessionId === undefined ? 'no session' : this.nameOf(sessionId);
  }
}

/** A renewed lease takes nothing from an operator who holds the lock: that one writes later, or made this be refused. */
function isLongerHold(before: NodeEntry | undefined, change: TreeChange): boolean {
  if (before?.state !== 'hold' || change.change !== 'setData') return false;
  const same = { hold_expiration: 0 };
  const after = parseBody(change.data);
  return JSON.stringify({ ...before.body, ...same }) === JSON.stringify({ ...after, ...same });
}

/** What a change says about how far a launch or deletion is: only the holder of the node's lock writes it, the one runner. */
function progressWritten(before: NodeEntry, after: NodeEntry): string[] {
  if (!RUNNING.has(before.state) || after.touched) return [];
  return PROGRESS.filter((key) => JSON.stringify(before.body[key]) !== JSON.stringify(after.body[key]));
}

/** What is wrong with the address of a node that becomes ready: no two machines of a provider answer on one. */
function wrongAddresses(
  before: NodeEntry | undefined,
  after: NodeEntry,
  nodes: ReadonlyMap<string, NodeEntry>,
): string[] {
  const address = addressKey(after);
  if (address === undefined || after.touched || after.state !== 'ready' || before?.state === 'ready') return [];
  return [...nodes.values()]
    .filter(
      (other) => other.id !== after.id && USABLE.has(other.state) && addressKey(other) === address && !other.touched,
    )
    .map(({ id, state }) => `makes node ${after.id} ready at ${address}, where node ${id} (${state}) is`);
}

/** What is wrong with a change of a node that is stopped, or is being stopped. */
function wrongStops(before: NodeEntry, after: NodeEntry): string[] {
  const { id, state } = after;
  if (before.state === 'testing' && (state === 'ready' || state === 'in-use')) {
    return [`makes node ${id} ${state}, whose instance is stopped`];
  }
  const isWrong = before.state === 'ready' && state === 'testing' && before.allocatedTo !== null;
  return isWrong ? [`stops node ${id} of request ${before.allocatedTo}`] : [];
}

/** Whether the request of a lease goes back to its place in the queue: it has lost a node before the lease became active. */
function isBackForLease(before: RequestEntry, after: RequestEntry, nodes: ReadonlyMap<string, NodeEntry>): boolean {
  const isThere = (id: string) => nodes.get(id)?.state === 'ready' && nodes.get(id)?.allocatedTo === before.id;
  return before.body['requestor'] === LEASE_REQUESTOR && after.state === 'requested' && !before.nodes.every(isThere);
}
