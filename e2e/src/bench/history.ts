import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { silentLogger } from '@nodepool/core';
import { LauncherEvents } from '@nodepool/core/launcher';
import { History } from '@nodepool/history';
import {
  newNode,
  newRequest,
  type Clock,
  type NodeId,
  type NodeRecord,
  type RecordChange,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import type { Finding } from './finding.js';

const REQUESTS = 100_000;
/** Between two requests. */
const STEP_MS = 10;
/** Offsets of the steps of a request, counted in requests. */
const AFTER = { taken: 100, ready: 3_000, used: 60_000, gone: 62_000 };
const POOL = { launcherId: 'nl01-PoolWorker.cloud-main', provider: 'cloud', pool: { name: 'main' } };
const FULL = { rule: 'pool-full', text: 'provider "cloud": label "small" needs 1 instance, 0 free' };

/** A clock that the benchmark advances. */
class StepClock implements Clock {
  #nowMs = 1_600_000_000_000;
  #timers: { readonly atMs: number; readonly fn: () => void }[] = [];

  now(): number {
    return this.#nowMs;
  }

  setTimer(ms: number, fn: () => void): () => void {
    const timer = { atMs: this.#nowMs + ms, fn };
    this.#timers.push(timer);
    return () => (this.#timers = this.#timers.filter((other) => other !== timer));
  }

  /** @returns whether a timer was due */
  step(ms: number): boolean {
    this.#nowMs += ms;
    const due = this.#timers.filter(({ atMs }) => atMs <= this.#nowMs);
    if (due.length === 0) return false;
    this.#timers = this.#timers.filter((timer) => !due.includes(timer));
    for (const { fn } of due) fn();
    return true;
  }
}

/** Receives the events of requests. */
interface Ears {
  readonly events: LauncherEvents;
  node: (change: RecordChange<NodeRecord>) => void;
  request: (change: RecordChange<RequestRecord>) => void;
}

/** CPU and bytes of the history for requests that wait for capacity, get a new node, and return it after ten minutes. */
export async function measureHistory(): Promise<Finding[]> {
  const directory = await mkdtemp(join(tmpdir(), 'nodepool-bench-history-'));
  try {
    const without = await live(new StepClock(), undefined);
    const clock = new StepClock();
    const settings = { enabled: true, directory, maxBytes: 2 ** 40, maxAgeMs: 10 * 86_400_000 };
    const metrics = { requestWaited: () => {} };
    const own = { hostname: 'nl01', defaultDirectory: directory };
    const history = new History({ clock, logger: silentLogger, settings, metrics, ...own });
    const cpu = await live(clock, history);
    const sizes = await Promise.all(
      (await readdir(directory)).map(async (name) => (await stat(join(directory, name))).size),
    );
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    return [
      { what: 'history', value: (cpu - without) / REQUESTS, unit: 'µs CPU a request', wanted: 'below 18' },
      { what: 'history', value: bytes / 1_000_000, unit: 'MB for 100,000 requests', wanted: 'below 50' },
      { what: 'history, lines lost', value: history.dropped, unit: 'lines', wanted: '0' },
    ];
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** @returns µs of CPU */
async function live(clock: StepClock, history: History | undefined): Promise<number> {
  const events = new LauncherEvents();
  const ears: { -readonly [Key in keyof Ears]: Ears[Key] } = { events, node: () => {}, request: () => {} };
  history?.follow({
    events,
    nodes: { onChange: (listener) => ((ears.node = listener), () => {}) },
    requests: { onChange: (listener) => ((ears.request = listener), () => {}) },
  });
  events.emit('poolServes', { pool: POOL, serves: true });
  const before = process.cpuUsage();
  for (let i = 0; i < REQUESTS + AFTER.gone; i++) {
    if (i < REQUESTS) ask(ears, request(i, clock.now()));
    if (isOne(i - AFTER.taken)) take(ears, i - AFTER.taken, clock.now());
    if (isOne(i - AFTER.ready)) fulfil(ears, i - AFTER.ready, clock.now());
    if (isOne(i - AFTER.used)) giveBack(ears, i - AFTER.used, clock.now());
    if (isOne(i - AFTER.gone)) lose(ears, i - AFTER.gone, clock.now());
    if (clock.step(STEP_MS)) await (history?.written() ?? nextTurn());
  }
  await history?.close();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function isOne(index: number): boolean {
  return index >= 0 && index < REQUESTS;
}

function request(index: number, nowMs: number): RequestRecord {
  const asked = newRequest({ labels: ['small'], requestor: 'zuul-scheduler', tenantName: 'example' }, nowMs);
  return { ...asked, id: `200-${String(index).padStart(10, '0')}` as RequestId, createdTimeMs: nowMs };
}

function node(index: number, state: NodeRecord['state'], nowMs: number): NodeRecord {
  const of = { provider: 'cloud', pool: 'main', labels: ['small'], launcher: POOL.launcherId };
  const made = newNode({ state, ...of, allocatedTo: request(index, 0).id }, nowMs);
  return { ...made, id: String(index).padStart(10, '0') as NodeId };
}

function ask({ events }: Ears, asked: RequestRecord): void {
  events.emit('requestJudged', { pool: POOL, request: asked, group: 'small' });
  const waiting = [{ request: asked, group: 'small', reason: FULL }];
  events.emit('poolPlanned', { pool: POOL, waits: { waiting, paused: [] } });
}

function take({ events, node: notify }: Ears, index: number, nowMs: number): void {
  events.emit('requestTaken', { pool: POOL, request: request(index, nowMs) });
  const init = node(index, 'init', nowMs);
  notify({ id: init.id, before: undefined, after: init });
  notify({ id: init.id, before: init, after: { ...init, state: 'building' } });
  for (const stage of ['delete-leftovers', 'creating']) enter(events, stage, init);
}

function enter(events: LauncherEvents, stage: string, of: NodeRecord): void {
  const launch = {
    ...{ provider: 'cloud', pool: 'main', label: 'small' },
    ...{ request: of.allocatedTo as RequestId, need: { instances: 1 } },
  };
  events.emit('launchProgressed', { launch, step: { what: 'stage', stage, node: of } });
}

function fulfil({ events, node: notify, request: tellRequest }: Ears, index: number, nowMs: number): void {
  const [building, asked] = [node(index, 'building', nowMs), request(index, nowMs)];
  for (const stage of ['scanning', 'storing']) enter(events, stage, building);
  notify({ id: building.id, before: building, after: { ...building, state: 'ready' } });
  tellRequest({ id: asked.id, before: asked, after: { ...asked, state: 'fulfilled', nodeIds: [building.id] } });
  notify({ id: building.id, before: { ...building, state: 'ready' }, after: { ...building, state: 'in-use' } });
}

function giveBack({ node: notify }: Ears, index: number, nowMs: number): void {
  const used = node(index, 'used', nowMs);
  notify({ id: used.id, before: { ...used, state: 'in-use' }, after: used });
  notify({ id: used.id, before: used, after: { ...used, state: 'deleting' } });
}

function lose({ node: notify }: Ears, index: number, nowMs: number): void {
  const deleting = node(index, 'deleting', nowMs);
  notify({ id: deleting.id, before: deleting, after: undefined });
}
