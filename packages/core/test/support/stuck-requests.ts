import {
  newControl,
  newNode,
  newPoolComponent,
  newRequest,
  type ControlRecord,
  type LauncherId,
  type NodeId,
  type NodeRecord,
  type PoolComponentRecord,
  type RequestId,
  type RequestRecord,
  type Resources,
} from '@nodepool/zk-protocol';
import type { PoolConfig } from '../../src/contract/provider-config.js';
import { explainInPool, type PoolState } from '../../src/launcher/view/explain-pool.js';
import { RequestQueue } from '../../src/launcher/plan/queue.js';
import type { PoolView, RuleName } from '../../src/launcher/plan/types.js';
import { explainRequest, type RequestExplanation } from '../../src/launcher/plan/explanation.js';
import { TimeoutError } from '../../src/contract/errors.js';
import type { ProviderSteering } from '../../src/features/steering/provider-steering.js';
import { poolConfig } from './pool-config.js';
import { poolView } from './pool-view.js';
import { fail, steeringAt } from './steering-at.js';

/** Time of all explanations. The requests are older. */
const NOW_MS = Date.parse('2026-03-01T10:00:00Z');
const WORKER = '-PoolWorker.';

/** A pool of the explaining launcher. */
interface Pool {
  readonly view: PoolView;
  readonly paused?: PoolState['paused'];
}

interface Example {
  readonly request: RequestRecord;
  readonly pools: readonly Pool[];
  /** Other waiting requests, in any order. */
  readonly others?: readonly RequestRecord[];
}

function launcherId(provider: string, pool: string, host = 'nl01'): LauncherId {
  return `${host}.example.com${WORKER}${provider}-${pool}-5f0c2b7e9d3a41c88a6b1e4f7d209c35` as LauncherId;
}

function request(number: number, labels: readonly string[], fields: Partial<RequestRecord> = {}): RequestRecord {
  const id = `200-${String(number).padStart(10, '0')}` as RequestId;
  const base = newRequest({ labels, requestor: 'zuul-scheduler', tenantName: 'example' }, NOW_MS - 95_000);
  return { ...base, id, createdTimeMs: NOW_MS - 95_000, ...fields };
}

function readyNode(number: number, label: string): NodeRecord {
  const id = String(number).padStart(10, '0') as NodeId;
  return { ...newNode({ state: 'ready', labels: [label], provider: 'rack', pool: 'main' }, NOW_MS), id };
}

function registration(
  provider: string,
  pool: string,
  labels: readonly string[],
  fields: Partial<PoolComponentRecord> = {},
) {
  return newPoolComponent({
    hostname: 'nl01',
    state: 'running',
    version: '1.0.0',
    launcherId: launcherId(provider, pool),
    name: pool,
    providerName: provider,
    supportedLabels: labels,
    priority: 100,
    paused: false,
    firstPoolPauseMs: 250,
    ...fields,
  });
}

/** A pool registered with its current configuration. */
function view(provider: string, pool: PoolConfig, fields: Partial<PoolView>): PoolView {
  const registered = [registration(provider, pool.name, [...pool.labels.keys()])];
  return poolView({ launcherId: launcherId(provider, pool.name), provider, pool, registered, ...fields });
}

/** Four machines with label `small`, of which the given ones are free. */
function rack(free: readonly NodeRecord[], fields: Partial<PoolView> = {}): PoolView {
  return view('rack', poolConfig('main', ['small']), {
    freeNodes: (label) => free.filter((node) => node.labels.includes(label)),
    idleNodes: () => free,
    labelCapacity: (_label) => 4,
    ...fields,
  });
}

const NEEDS: Readonly<Record<string, Resources>> = {
  small: { instances: 1, cores: 2, ram: 4096 },
  big: { instances: 1, cores: 16, ram: 65_536 },
};
const CLOUD_TOTAL: Resources = { instances: 20, cores: 64, ram: 262_144 };

/** A cloud with 64 cores and the labels `small` and `big`. */
function cloud(used: Resources, fields: Partial<PoolView> = {}, pool: Partial<PoolConfig> = {}): PoolView {
  return view('cloud', poolConfig('main', ['small', 'big'], { maxServers: 20, ...pool }), {
    launches: true,
    pausesAtQuota: true,
    quota: {
      need: (label) => NEEDS[label] ?? { instances: 1 },
      providerTotal: CLOUD_TOTAL,
      providerUsed: used,
      poolUsed: used,
    },
    ...fields,
  });
}

const bothRegistered = [
  registration('rack', 'main', ['small']),
  registration('cloud', 'main', ['small', 'big'], { priority: 50 }),
];

const equalRegistered = [registration('rack', 'main', ['small']), registration('cloud', 'main', ['small', 'big'])];

const twoClouds = [registration('cloud', 'main', ['small', 'big']), registration('cloud-two', 'main', ['small'])];
const TIMED_OUT = 'the instance was not ready within 600 s: allow more with launch-timeout';

/** A second cloud without free instances. */
function otherCloud(): PoolView {
  return view('cloud-two', poolConfig('main', ['small'], { maxServers: 4 }), {
    launches: true,
    pausesAtQuota: true,
    registered: twoClouds,
    quota: {
      need: (label) => NEEDS[label] ?? { instances: 1 },
      providerTotal: CLOUD_TOTAL,
      providerUsed: { instances: 4, cores: 8, ram: 16_384 },
      poolUsed: { instances: 4, cores: 8, ram: 16_384 },
    },
  });
}

/** A provider whose last four launches timed out. */
function timingOut(): ProviderSteering {
  let now = NOW_MS - 40_000;
  const steering = steeringAt(() => now);
  const timeOut = () => fail(steering, 'small', new TimeoutError(TIMED_OUT, { operation: 'create' }));
  for (let i = 0; i < 3; i++) timeOut();
  now = NOW_MS;
  timeOut();
  return steering;
}

/** An operator's order for the provider. */
const order = (fields: Pick<ControlRecord, 'mode'> & Partial<ControlRecord>): ControlRecord =>
  newControl({ kind: 'provider', name: 'cloud', owner: 'alice@ops1', ...fields }, 0);

/** An example of a stuck request for each rule. */
const EXAMPLES: Readonly<Record<RuleName, () => Example>> = {
  stopping: () => ({ request: request(41, ['small']), pools: [{ view: rack([], { stopping: true }) }] }),
  'not-requested': () => ({
    request: request(41, ['small'], { state: 'fulfilled', nodeIds: [readyNode(7, 'small').id] }),
    pools: [{ view: rack([]) }],
  }),
  'already-declined': () => ({
    request: request(41, ['small', 'small', 'small', 'small', 'small'], { declinedBy: [launcherId('rack', 'main')] }),
    pools: [
      { view: rack([], { registered: bothRegistered }) },
      {
        view: cloud(
          { instances: 18, cores: 36, ram: 73_728 },
          { registered: bothRegistered, paused: true, priority: 50 },
        ),
      },
    ],
  }),
  'yield-to-provider': () => ({
    request: request(41, ['small'], { provider: 'rack' }),
    pools: [
      { view: rack([], { registered: bothRegistered }) },
      { view: cloud({ instances: 2, cores: 4, ram: 8192 }, { registered: bothRegistered, priority: 50 }) },
    ],
  }),
  'yield-to-priority': () => ({
    request: request(41, ['small']),
    pools: [
      { view: rack([readyNode(7, 'small')], { registered: bothRegistered }) },
      {
        view: cloud({ instances: 20, cores: 40, ram: 81_920 }, { registered: bothRegistered, priority: 50 }),
      },
    ],
  }),
  'yield-to-first': () => ({
    request: request(41, ['small']),
    pools: [
      { view: rack([], { registered: equalRegistered, leftTo: () => equalRegistered[1] }) },
      { view: cloud({ instances: 20, cores: 40, ram: 81_920 }, { registered: equalRegistered }) },
    ],
  }),
  'provider-failing': () => ({
    request: request(41, ['small']),
    pools: [
      { view: cloud({ instances: 4, cores: 8, ram: 16_384 }, { registered: twoClouds, steering: timingOut() }) },
      { view: otherCloud() },
    ],
  }),
  'failed-over': () => ({
    request: request(41, ['small'], {
      declinedBy: [launcherId('cloud', 'main')],
      declineReasons: {
        [launcherId('cloud', 'main')]: {
          rule: 'failed-over',
          text: `launch of "small" failed, and pool "cloud-two/main" can serve the request: ${TIMED_OUT}`,
          timeMs: NOW_MS - 20_000,
        },
      },
    }),
    pools: [
      { view: cloud({ instances: 4, cores: 8, ram: 16_384 }, { registered: twoClouds }) },
      { view: otherCloud() },
    ],
  }),
  'label-elsewhere': () => ({
    request: request(41, ['big']),
    pools: [
      { view: rack([readyNode(7, 'small')], { registered: equalRegistered }) },
      { view: cloud({ instances: 5, cores: 64, ram: 212_992 }, { registered: equalRegistered }) },
    ],
  }),
  'label-quota': () => ({
    request: request(44, ['small', 'small']),
    others: [request(41, ['small', 'small']), request(42, ['small', 'small']), request(43, ['small', 'small'])],
    pools: [{ view: rack([readyNode(7, 'small')]) }],
  }),
  'tenant-quota': () => ({
    request: request(41, ['big']),
    pools: [
      {
        view: cloud(
          { instances: 3, cores: 34, ram: 135_168 },
          { tenantLimit: () => ({ cores: 40 }), tenantUsed: () => ({ instances: 2, cores: 32, ram: 131_072 }) },
        ),
      },
    ],
  }),
  'pool-full': () => ({
    request: request(43, ['big']),
    others: [request(41, ['big']), request(42, ['small'])],
    pools: [{ view: cloud({ instances: 4, cores: 52, ram: 204_800 }, { paused: true }) }],
  }),
  'paused-by-operator': () => ({
    request: request(41, ['small']),
    pools: [
      {
        view: cloud(
          { instances: 4 },
          { controls: [order({ mode: 'pause', reason: 'power works', endTimeMs: 3_600_000 })] },
        ),
      },
    ],
  }),
  'limited-by-operator': () => ({
    request: request(41, ['small', 'small', 'small']),
    pools: [{ view: cloud({ instances: 1 }, { controls: [order({ mode: 'limit', limit: 2 })] }) }],
  }),
  'max-concurrency': () => ({
    request: request(41, ['small']),
    pools: [{ view: cloud({ instances: 10, cores: 20, ram: 40_960 }, { maxConcurrency: 10, activeLaunches: 10 }) }],
  }),
  'launch-ramp': () => ({
    request: request(41, ['small']),
    pools: [{ view: cloud({ instances: 10, cores: 20, ram: 40_960 }, { activeLaunches: 100, launchLimit: 100 }) }],
  }),
  'pool-disabled': () => ({ request: request(41, ['small']), pools: [{ view: cloud({}, {}, { maxServers: 0 }) }] }),
  'label-disabled': () => ({
    request: request(41, ['big']),
    pools: [{ view: cloud({}, { disabledLabels: new Set(['big']) }) }],
  }),
  'label-unavailable': () => ({
    request: request(41, ['smal']),
    pools: [{ view: rack([], { registered: equalRegistered }) }, { view: cloud({}, { registered: equalRegistered }) }],
  }),
  'images-unavailable': () => ({
    request: request(41, ['big']),
    pools: [{ view: cloud({}, { labelReady: (label) => label !== 'big' }) }],
  }),
  'exceeds-quota': () => ({
    request: request(41, ['big', 'big', 'big', 'big', 'big']),
    pools: [{ view: cloud({}) }],
  }),
  accept: () => ({
    request: request(41, ['small']),
    pools: [{ view: rack([readyNode(7, 'small'), readyNode(8, 'small')]) }],
  }),
};

/** Explains the example of a rule like a launcher. */
export function explainExample(rule: RuleName): RequestExplanation {
  const { request: asked, pools, others = [] } = EXAMPLES[rule]();
  const workers = pools.map(({ view: pool, paused = [] }) => {
    const queue = new RequestQueue();
    for (const other of others) queue.put(other);
    return {
      launcherId: pool.launcherId,
      explain: (record: RequestRecord) => {
        const { reason, ...finding } = explainInPool(record, { view: pool, queue, paused, handled: 'no' });
        const names = { provider: pool.provider, pool: pool.pool.name, launcherId: pool.launcherId, own: true };
        return { ...names, ...reason, ...finding, blockers: [] };
      },
    };
  });
  const registered = pools[0]?.view.registered ?? [];
  const requests = { get: (id: string) => (id === asked.id ? asked : undefined) };
  const explanation = explainRequest(
    { requestId: asked.id },
    { requests, workers, registered, nodesOf: () => [], nowMs: NOW_MS },
  );
  if (!explanation) throw new Error(`the example of rule ${rule} is missing`);
  return explanation;
}

/** A cloud without free capacity, whose pool is paused. */
export function busyCloud(): PoolView {
  return cloud({ instances: 20, cores: 64, ram: 262_144 }, { paused: true });
}
