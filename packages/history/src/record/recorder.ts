import type { CancelTimer, Clock, NodeRecord, RecordChange, RequestRecord } from '@nodepool/zk-protocol';
import type { DecidingPool, LauncherEventMap, LauncherEvents, PlannedWaits } from '@nodepool/core/launcher';
import { pastEvent, type PastEvent, type PastLine } from './event.js';
import { GroupLog, type Membership } from './group-log.js';
import { OwnPools, type KnownPool } from './own-pools.js';
import { OpenNode, OpenRequest, type KnownNode, type KnownRequest } from './open-records.js';

/** Cause while a pool makes no plans; not a rule of the plan. */
const RESTING = 'not-planning';
const RESTING_TEXT =
  'the pool makes no plans: it is not registered yet, its provider is not running, or ZooKeeper is unreachable';
const ENDS: Readonly<Record<string, 'fulfilled' | 'failed'>> = { fulfilled: 'fulfilled', failed: 'failed' };

type NotQueued = NonNullable<LauncherEventMap['requestJudged']['why']>;

/** A finished request with all its recorded events. */
export interface PastRequest {
  readonly request: KnownRequest;
  /** Whether a pool of this launcher fulfilled it. */
  readonly isOwn: boolean;
}

/** Options of {@link Recorder}. */
export interface RecorderOptions {
  readonly clock: Clock;
  /** Called when the first event after {@link Recorder.take} waits to be written. */
  readonly dirty: () => void;
  /** Called when a request is fulfilled. */
  readonly fulfilled: (past: PastRequest) => void;
}

/** The events and records of a launcher. */
export interface FollowedLauncher {
  readonly events: LauncherEvents;
  readonly nodes: { onChange(listener: (change: RecordChange<NodeRecord>) => void): CancelTimer };
  readonly requests: { onChange(listener: (change: RecordChange<RequestRecord>) => void): CancelTimer };
}

/**
 * Records the decisions of a launcher about requests, and the changes of requests and of its nodes. Keeps open and unwritten
 * records in memory; the files hold all others.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #pools = new OwnPools();
  readonly #requests = new Map<string, OpenRequest>();
  readonly #nodes = new Map<string, OpenNode>();
  #dirty: (OpenRequest | OpenNode)[] = [];

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Number of requests in memory. */
  get openCount(): number {
    return this.#requests.size;
  }

  /** Whether the pool with this registry id belongs to this launcher. */
  isOwn(launcherId: string): boolean {
    return this.#pools.has(launcherId);
  }

  request(id: string): KnownRequest | undefined {
    return this.#requests.get(id);
  }

  node(id: string): KnownNode | undefined {
    return this.#nodes.get(id);
  }

  /** Removes finished records from memory. @returns all unwritten lines */
  take(): PastLine[] {
    const dirty = this.#dirty;
    this.#dirty = [];
    const lines: PastLine[] = [];
    for (const record of dirty) {
      record.isListed = false;
      if (record instanceof OpenNode) {
        if (record.isDirty) lines.push(record.take());
        if (!this.#requests.has(record.facts.request ?? '')) this.#dropNode(record);
        continue;
      }
      if (record.isDirty && (record.isRelevant || !record.isOver)) lines.push(record.take());
      if (record.isOver) this.#forget(record);
    }
    return lines;
  }

  #forget(request: OpenRequest): void {
    this.#requests.delete(request.id);
    for (const node of request.nodes) if (!node.isListed) this.#dropNode(node);
  }

  #dropNode(node: OpenNode): void {
    if (this.#nodes.get(node.id) === node) this.#nodes.delete(node.id);
  }

  /** Records the events of a launcher. Call it before the launcher starts. @returns stops recording */
  follow({ events, nodes, requests }: FollowedLauncher): () => void {
    const unsubscribe = [
      events.on('poolServes', ({ pool, serves }) => (serves ? this.#pools.of(pool) : this.#closed(pool))),
      events.on('poolPlanned', ({ pool, waits }) => (waits ? this.#planned(pool, waits) : this.#rested(pool))),
      events.on('requestJudged', ({ pool, request, group, why }) =>
        why ? this.#notQueued(pool, request, why) : this.#queued(pool, request, group ?? ''),
      ),
      events.on('requestTaken', (event) => this.#taken(event)),
      events.on('requestEnded', (event) => this.#ended(event)),
      events.on('launchProgressed', ({ step }) => step.what === 'stage' && this.#stageBegan(step.node, step.stage)),
      nodes.onChange((change) => this.#nodeChanged(change)),
      requests.onChange((change) => this.#requestChanged(change)),
    ];
    return () => unsubscribe.forEach((end) => end());
  }

  // --- decisions --------------------------------------------------------------------------------------------------

  #queued(view: DecidingPool, record: RequestRecord, groupKey: string): void {
    const pool = this.#pools.of(view);
    const request = this.#open(record);
    const before = request.membershipOf(pool.key);
    if (before?.group.key === groupKey) return;
    if (before) this.#leave(request, pool.key, before);
    let group = pool.groups.get(groupKey);
    if (!group) {
      group = new GroupLog(pool.key, groupKey, () => pool.groups.delete(groupKey));
      pool.groups.set(groupKey, group);
    }
    request.isRelevant = true;
    request.leftBy(pool.key, undefined);
    this.#add(request, this.#event('queued', pool.key, '', group.first ?? ''));
    request.queued.push({ pool: pool.key, membership: group.join(this.#options.clock.now()) });
  }

  #notQueued(view: DecidingPool, record: RequestRecord, { action, reason }: NotQueued): void {
    const { rule, text } = reason;
    const known = this.#requests.get(record.id);
    if (rule === 'not-requested' && !known) return;
    const pool = this.#pools.of(view);
    const request = known ?? this.#open(record);
    const membership = request.membershipOf(pool.key);
    if (membership) this.#leave(request, pool.key, membership);
    if (request.isOver || !request.leftBy(pool.key, rule)) return;
    this.#add(request, this.#event(action === 'decline' ? 'declined' : 'left', pool.key, rule, text));
  }

  #taken({ pool: view, request: record }: LauncherEventMap['requestTaken']): void {
    const request = this.#open(record); // one that is taken over was never in a queue of this launcher
    request.isRelevant = true;
    const pool = this.#pools.of(view);
    const membership = request.membershipOf(pool.key);
    const nowMs = this.#options.clock.now();
    request.dropLast(({ what, timeMs }) => what === 'queued' && timeMs === nowMs);
    if (membership) this.#leave(request, pool.key, membership);
    request.taken = pool.key;
    this.#add(request, this.#event('taken', pool.key));
  }

  #planned(view: DecidingPool, { waiting, paused }: PlannedWaits): void {
    const pool = this.#pools.of(view);
    const nowMs = this.#options.clock.now();
    for (const { request, group: key, reason } of waiting) {
      const isOther = pool.groups.get(key)?.waits(nowMs, reason.rule, reason.text, request.id) ?? false;
      const membership = isOther ? this.#requests.get(request.id)?.membershipOf(pool.key) : undefined;
      if (membership) membership.firstMs ??= nowMs;
    }
    if (paused.length > 0 || pool.paused.size > 0) this.#notePaused(pool, paused);
  }

  #rested(view: DecidingPool): void {
    const nowMs = this.#options.clock.now();
    for (const group of this.#pools.of(view).groups.values()) group.changed(nowMs, RESTING, RESTING_TEXT);
  }

  #closed(view: DecidingPool): void {
    const pool = this.#pools.of(view);
    for (const request of this.#requests.values()) {
      const membership = request.membershipOf(pool.key);
      if (!membership) continue;
      this.#leave(request, pool.key, membership);
      this.#add(request, this.#event('left', pool.key, 'stopping', 'the pool was stopped'));
    }
    this.#pools.close(view);
  }

  #notePaused(pool: KnownPool, paused: PlannedWaits['paused']): void {
    const now = new Map<string, string>();
    for (const {
      request: { id },
      reason,
    } of paused) {
      now.set(id, reason.rule);
      const request = this.#requests.get(id);
      if (request && pool.paused.get(id) !== reason.rule)
        this.#add(request, this.#event('paused', pool.key, reason.rule, reason.text));
    }
    for (const id of pool.paused.keys()) {
      const request = now.has(id) ? undefined : this.#requests.get(id);
      if (request && !request.isOver) this.#add(request, this.#event('resumed', pool.key));
    }
    pool.paused = now;
  }

  // --- changes ----------------------------------------------------------------------------------------------------

  #ended({ outcome, request: { id }, provider, pool }: LauncherEventMap['requestEnded']): void {
    const request = this.#requests.get(id);
    if (!request || outcome === 'fulfilled' || outcome === 'gone') return;
    request.taken = undefined;
    this.#add(request, this.#event('ended', `${provider}/${pool}`, outcome));
  }

  #requestChanged({ id, before, after }: RecordChange<RequestRecord>): void {
    const request = this.#requests.get(id);
    if (!request || request.isOver) return;
    const end = after ? (after.state === before?.state ? undefined : ENDS[after.state]) : 'gone';
    if (!end) return;
    for (const { pool, membership } of [...request.queued]) this.#leave(request, pool, membership);
    const isOwn = request.taken !== undefined && end === 'fulfilled';
    this.#add(request, this.#event(end, '', '', after ? outcomeText(request, after) : ''));
    request.isOver = true;
    if (end === 'failed') request.isRelevant = true;
    if (end === 'fulfilled') this.#options.fulfilled({ request, isOwn });
  }

  #nodeChanged({ id, before, after }: RecordChange<NodeRecord>): void {
    const record = after ?? before;
    if (!record || !this.#pools.holds(record)) return;
    let node = this.#nodes.get(id);
    const isForAnother = typeof after?.allocatedTo === 'string' && node?.facts.request !== after.allocatedTo;
    const isNew = !node || isForAnother;
    if (!node || isForAnother) node = new OpenNode(record);
    if (!node.changed(before, after, this.#options.clock.now())) return;
    if (isNew) this.#keep(node);
    this.#markDirty(node);
  }

  /** A node whose launch another launcher began, perhaps one that was killed before it had written anything. */
  #takenOver(record: NodeRecord): OpenNode {
    const node = new OpenNode(record);
    node.changed(undefined, record, this.#options.clock.now());
    this.#keep(node);
    return node;
  }

  #stageBegan(record: NodeRecord, stage: string): void {
    const node = this.#nodes.get(record.id) ?? this.#takenOver(record);
    if (stage === 'storing') return; // too short to be worth a line
    const nowMs = this.#options.clock.now();
    // attempts are counted by `creating`
    node.dropLast(({ what, rule, timeMs }) => what === 'stage' && rule !== 'creating' && timeMs === nowMs);
    node.add(this.#event('stage', '', stage));
    this.#markDirty(node);
  }

  // --- helpers ----------------------------------------------------------------------------------------------------

  #open(record: RequestRecord): OpenRequest {
    let request = this.#requests.get(record.id);
    if (!request || request.isOver) this.#requests.set(record.id, (request = new OpenRequest(record)));
    return request;
  }

  #keep(node: OpenNode): void {
    this.#nodes.set(node.id, node);
    this.#requests.get(node.facts.request ?? '')?.nodes.push(node);
  }

  #leave(request: OpenRequest, pool: string, membership: Membership): void {
    const at = request.queued.findIndex((each) => each.pool === pool);
    if (at >= 0) request.queued.splice(at, 1);
    for (const event of membership.group.leave(request.id, membership)) this.#add(request, event);
  }

  #event(what: PastEvent['what'], pool = '', rule = '', text = ''): PastEvent {
    return pastEvent(this.#options.clock.now(), what, pool, rule, text);
  }

  #add(request: OpenRequest, event: PastEvent): void {
    request.add(event);
    this.#markDirty(request);
  }

  #markDirty(record: OpenRequest | OpenNode): void {
    if (record.isListed) return;
    record.isListed = true;
    if (this.#dirty.length === 0) this.#options.dirty();
    this.#dirty.push(record);
  }
}

/** The error of a failed request, or the nodes of a fulfilled one if they are not all recorded with it. */
function outcomeText({ nodes }: OpenRequest, { state, launchError, nodeIds }: RequestRecord): string {
  if (state === 'failed') return launchError ?? '';
  return nodes.length === nodeIds.length ? '' : nodeIds.join(' ');
}
