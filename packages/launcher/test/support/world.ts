import {
  newNode,
  newRequest,
  systemClock,
  type ComponentRecord,
  type ControlRecord,
  type ImageEntry,
  type LauncherId,
  type LockAware,
  type NodeId,
  type NodeRecord,
  type PoolComponentRecord,
  type RecordCache,
  type RecordChange,
  type RequestId,
  type RequestRecord,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import type { Config } from '@nodepool/core';
import { LauncherEvents, type PoolStatus, type RequestExplanation } from '@nodepool/core/launcher';
import type { LauncherMetrics, SharedCondition } from '@nodepool/core/service';
import { VirtualClock } from '@nodepool/core/testing';
import type { ApiCall, ApiOperation } from '@nodepool/daemon';
import type { StandbyCurve } from '@nodepool/history';
import { ActivityLog } from '../../src/web/api/activity-log.js';
import type { LauncherApiSources } from '../../src/web/api/sources.js';
import { standbyApi } from '../../src/web/api/standby-operation.js';

/** A record cache whose content the test sets. */
export type TableCache<T> = RecordCache<T> &
  LockAware & {
    /** Stores or, with `undefined`, removes a record. */
    set(id: string, record: T | undefined): void;
  };

/** Makes a {@link TableCache}; `locked` names records with a contender. */
export function tableCache<T>(records: Record<string, T> = {}, locked: readonly string[] = []): TableCache<T> {
  const map = new Map(Object.entries(records));
  const listeners = new Set<(change: RecordChange<T>) => void>();
  return {
    start: () => Promise.resolve(),
    stop() {},
    ready: true,
    whenReady: () => Promise.resolve(),
    get size() {
      return map.size;
    },
    get: (id) => map.get(id),
    values: () => map.values(),
    unreadable: [],
    eventQueue: 0,
    playbackQueue: 0,
    settle: () => Promise.resolve(),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onReady: () => () => {},
    contenders: (id) => (locked.includes(id) ? 1 : 0),
    hasLockDirectory: (id) => locked.includes(id),
    onLockChange: () => () => {},
    set(id, after) {
      const before = map.get(id);
      if (after === undefined) map.delete(id);
      else map.set(id, after);
      for (const listener of listeners) listener({ id, before, after });
    },
  };
}

/** Makes a {@link TableCache} of nodes; `locked` names those with a contender. */
export function nodeTable(records: readonly NodeRecord[] = [], locked: readonly string[] = []): TableCache<NodeRecord> {
  return tableCache(Object.fromEntries(records.map((node) => [node.id as string, node])), locked);
}

/** A free ready node. */
export function node(id: string, changes: Partial<NodeRecord> = {}): NodeRecord {
  const fields = { provider: 'rack', pool: 'main', labels: ['small'], username: 'zuul', createdTimeMs: null } as const;
  return { ...newNode({ state: 'ready', ...fields }, 0), id: id as NodeId, ...changes };
}

/** A waiting request of Zuul. */
export function request(id: string, changes: Partial<RequestRecord> = {}): RequestRecord {
  const zuul = { requestor: 'zuul-system', eventId: 'event', tenantName: 'tenant', relativePriority: 3 };
  const asked = newRequest({ labels: ['small', 'big'], ...zuul }, 1_600_000_000_500);
  return { ...asked, id: id as RequestId, ...changes };
}

/** A registered pool. */
export function pool(changes: Partial<PoolComponentRecord> = {}): PoolComponentRecord {
  return {
    ...{ id: 'pool0000000001', raw: {}, stat: undefined, kind: 'pool', hostname: 'nl01', state: 'running' },
    ...{ version: null, modelApi: 0, launcherId: OWN_POOL as LauncherId, name: 'main', providerName: 'rack' },
    ...{ supportedLabels: ['small', 'big'], priority: 100, paused: false, legacy: false, ...changes },
  };
}

/** Launcher id of the pool in {@link World}. */
export const OWN_POOL = 'nl01-PoolWorker.rack-main-0';

/** Metrics that count nothing. */
export const NO_METRICS: LauncherMetrics = {
  attach: () => ({ start() {}, configChanged() {}, stop() {} }),
  requestEnded() {},
  sweepFound() {},
};

/** The sources of a launcher's API, whose records the test sets, with a ZooKeeper in memory. */
export class World {
  readonly clock = new VirtualClock(1_600_000_000_000);
  readonly zk: ZooKeeper = connectInMemory(new MemoryServer(systemClock)).zk;
  readonly events = new LauncherEvents();
  readonly nodes = nodeTable();
  readonly requests = tableCache<RequestRecord>();
  readonly images = new Map<string, ImageEntry>();
  readonly conditions: SharedCondition[] = [];
  readonly explanations = new Map<string, RequestExplanation>();
  readonly activity = new ActivityLog(NO_METRICS, this.clock);
  components: ComponentRecord[] = [pool()];
  poolStatus: PoolStatus[] = [];
  controls: ControlRecord[] = [];
  providerErrors: { provider: string; error: string }[] = [];
  drainingProviders: { provider: string; nodes: number; sinceMs: number }[] = [];
  failingDeletions: LauncherApiSources['runtime']['failingDeletions'] = [];
  readonly config = { providers: new Map(), labels: new Map() } as Pick<Config, 'providers' | 'labels'> as Config;
  readonly history: LauncherApiSources['history'] = {
    read: () => Promise.resolve([]),
    page: () => Promise.resolve({ baseMs: 0, lines: [], next: undefined }),
    addTo: () => Promise.resolve(),
  };
  curves: StandbyCurve[] = [];
  readonly #imageListeners = new Set<(image: string) => void>();

  /** Stores an image and reports the change. */
  setImage(entry: ImageEntry): void {
    this.images.set(entry.name, entry);
    for (const listener of this.#imageListeners) listener(entry.name);
  }

  /** Replaces the operator commands and reports the change. */
  setControls(controls: ControlRecord[]): void {
    this.controls = controls;
    this.events.emit('ordersChanged', {});
  }

  /** Sources that read the current values of this world. */
  readonly sources: LauncherApiSources = this.#makeSources();

  #makeSources(): LauncherApiSources {
    const read = <Key extends keyof World>(key: Key): World[Key] => this[key];
    const { nodes, requests, events, images } = this;
    return {
      ...{ zk: this.zk, clock: this.clock, hostname: 'nl01', activity: this.activity, history: this.history },
      more: [standbyApi(() => read('curves'))],
      ...{ webUrl: () => 'http://nl01/', config: () => this.config, conditions: { merged: this.conditions } },
      runtime: {
        ...{ nodes, requests, events, images, hosts: [], notReady: [] },
        get components() {
          return read('components').filter((each): each is PoolComponentRecord => each.kind === 'pool');
        },
        get allComponents() {
          return read('components');
        },
        get poolStatus() {
          return read('poolStatus');
        },
        get controls() {
          return read('controls');
        },
        get providerErrors() {
          return read('providerErrors');
        },
        get drainingProviders() {
          return read('drainingProviders');
        },
        get failingDeletions() {
          return read('failingDeletions');
        },
        explain: (subject) => ('requestId' in subject ? this.explanations.get(subject.requestId) : undefined),
        isUnknownLabel: () => false,
        onImageChange: (listener) => subscribe(this.#imageListeners, listener),
      },
    };
  }
}

function subscribe<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Calls an operation by its id, as the API does after checking the call against the schemas. */
export async function call(
  operations: readonly ApiOperation[],
  id: string,
  changes: Partial<ApiCall> = {},
): Promise<unknown> {
  const operation = operations.find((each) => each.id === id);
  if (!operation) throw new Error(`no operation ${id}`);
  const answer = await operation.handle({ path: {}, query: {}, body: {}, actor: undefined, ...changes });
  const isGenerated = typeof answer === 'object' && answer !== null && Symbol.iterator in answer;
  return isGenerated ? [...answer] : answer;
}
