import {
  COMPONENTS_ROOT,
  createComponentCache,
  decodeRequest,
  encodeComponent,
  encodeRequest,
  newPoolComponent,
  newRequest,
  REQUEST_LOCKS_ROOT,
  REQUESTS_ROOT,
  requestPath,
  withRequest,
  type LauncherId,
  type RequestFields,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import type { Driver, LaunchOrder, LaunchResult, Provider } from '../../contract/driver.js';
import type { PoolConfig, ProviderConfig } from '../../contract/provider-config.js';
import { idleProvider } from '../../../test/support/idle-provider.js';
import { plainDriver } from '../../../test/support/plain-driver.js';
import { poolConfig } from '../../../test/support/pool-config.js';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { SLOW_POOL_PAUSE_MS } from '../steering/first-pool.js';
import { RAMP } from '../steering/ramp.js';
import { ProviderSteering } from '../steering/provider-steering.js';
import { ProviderRunner } from '../providers/provider-runner.js';
import { PoolCandidates } from './pool-candidates.js';
import { PoolRegistry } from './pool-registry.js';
import { PoolWorker } from './pool-worker.js';
import type { PoolPort } from './pool-port.js';

const ID = 'nl01-PoolWorker.cloud-main-0123' as LauncherId;
const OTHER_ID = 'nl02-PoolWorker.other-main-4567' as LauncherId;
const capabilities: Driver['capabilities'] = { launches: true, pausesAtQuota: true, managesImages: false };

/** Pool `main` of provider `cloud`, which launches labels `a` and `b`, and the launcher around it. */
class Pool {
  readonly world: ServiceWorld;
  readonly worker: PoolWorker;
  readonly runner: ProviderRunner;
  /** What the pool asked of its launcher: locks to give up, nodes to release, handlers that lost track. */
  readonly asked: string[] = [];
  /** Launches end when told to, where this is set. */
  launching: Promise<void> | undefined;
  isActive = true;
  steering: ProviderSteering | undefined;
  readonly recovering = new Set<RequestId>();

  private constructor(world: ServiceWorld, config: ProviderConfig) {
    this.world = world;
    const { zk, clock, logger } = world.services;
    const components = createComponentCache({ zk, clock, logger });
    const registry = new PoolRegistry(components);
    this.started = components.start();
    const candidates = new PoolCandidates({
      ...{ components, hostname: 'nl01', version: '1', registry },
      outlook: { isCompleteFor: () => true },
    });
    this.runner = new ProviderRunner(
      world.services,
      { driver: plainDriver('cloud', { capabilities }) },
      this.#provider(config),
    );
    const port: PoolPort = {
      ...{ version: '1', announceLegacy: false, registry, candidates },
      config: () => ({ providers: new Map() }),
      disabledLabels: () => new Set(),
      tenantLimit: () => undefined,
      steering: () => this.steering,
      isOurs: (id) => this.worker.handles(id),
      isActive: () => this.isActive,
      isRecovering: (id) => this.recovering.has(id),
      reservationsEnded: () => undefined,
      releaseNode: ({ id }) => void this.asked.push(`release ${id}`),
      unlockLater: (entry) => void this.asked.push(`unlock ${entry.split('/').at(-2) ?? ''}`),
      onAbandoned: ({ id }) => void this.asked.push(`abandoned ${id}`),
    };
    const pool = config.pools.get('main') ?? poolConfig('main', []);
    this.worker = new PoolWorker(world.services, port, this.runner, pool, ID);
  }

  readonly started: Promise<void>;

  /** A pool with these limits, registered and at work. */
  static async open(limits: Partial<PoolConfig> = {}): Promise<Pool> {
    const world = await ServiceWorld.open();
    await world.clock.run(world.other.ensurePath(`${COMPONENTS_ROOT}/pool`));
    const pool = new Pool(world, providerConfig(limits));
    await world.clock.run(pool.started);
    await world.clock.run(pool.runner.start(() => undefined));
    await world.clock.run(pool.worker.start());
    await world.pass(100);
    return pool;
  }

  async ask(labels: readonly string[], fields: Partial<RequestFields> = {}, priority = 200): Promise<RequestId> {
    const { other, clock } = this.world;
    const body = encodeRequest(newRequest({ labels, requestor: 'zuul', ...fields }, clock.now()));
    const path = await clock.run(other.create(`${REQUESTS_ROOT}/${priority}-`, body, { sequential: true }));
    await this.world.pass(1_000);
    return path.slice(REQUESTS_ROOT.length + 1) as RequestId;
  }

  /** The request as ZooKeeper has it. */
  async stored(id: RequestId): Promise<RequestRecord> {
    const { clock, other } = this.world;
    const { data, stat } = await clock.run(other.getData(requestPath(id)));
    const request = decodeRequest(id, data, stat, clock.now());
    if (!request) throw new Error('the request has no body');
    return request;
  }

  async stateOf(id: RequestId): Promise<string> {
    return (await this.stored(id)).state;
  }

  /** The pool's entries in the registry. */
  async registered(): Promise<Record<string, unknown>[]> {
    const { clock, other } = this.world;
    const root = `${COMPONENTS_ROOT}/pool`;
    const names = await clock.run(other.getChildren(root));
    const found = await clock.run(Promise.all(names.map((name) => other.getData(`${root}/${name}`))));
    return found.map(({ data }) => JSON.parse(data.toString()) as Record<string, unknown>);
  }

  /** A pool of another launcher, which knows that requests are shared, and does nothing. */
  async registerOther(): Promise<void> {
    const names = { hostname: 'nl02', version: '1', launcherId: OTHER_ID, name: 'main', providerName: 'other' };
    const fields = { supportedLabels: ['a', 'b'], state: 'running', firstPoolPauseMs: 250 } as const;
    const { zk, body } = { zk: this.world.other, body: newPoolComponent({ ...names, ...fields }) };
    await this.world.clock.run(zk.create(`${COMPONENTS_ROOT}/pool/nl02-`, encodeComponent(body), { sequential: true }));
    await this.world.pass(100);
  }

  /** Eight machines at once take ten times as long as one before them. */
  async slowDown(): Promise<void> {
    const { clock } = this.world.services;
    const steering = new ProviderSteering({
      now: () => clock.now(),
      later: (ms, then) => clock.setTimer(ms, then),
      changed: () => undefined,
    });
    this.steering = steering;
    for (const { count, tookMs } of [
      { count: 1, tookMs: 40_000 },
      { count: 8, tookMs: 400_000 },
    ]) {
      const launches = Array.from({ length: count }, () => steering.begin('a'));
      for (const launch of launches) launch.created();
      await this.world.pass(tookMs);
      for (const launch of launches) launch.ended(true);
    }
  }

  /** A configuration with other limits comes into force. */
  update(limits: Partial<PoolConfig>, labels?: readonly string[]): void {
    this.worker.update(this.runner, { ...poolConfig('main', labels ?? ['a', 'b']), ...limits });
  }

  #provider(config: ProviderConfig): Provider {
    const launch = async (order: LaunchOrder): Promise<LaunchResult> => {
      await this.launching;
      return { state: 'ready', node: await order.store({ state: 'ready', externalId: `i-${order.node.id}` }) };
    };
    return idleProvider(config, { getRequestHandler: () => ({ imagesAvailable: () => true, launch }) });
  }
}

function providerConfig(limits: Partial<PoolConfig>): ProviderConfig {
  return {
    ...{ name: 'cloud', driverName: 'plain', entry: {}, maxConcurrency: -1, priority: undefined, managesImages: false },
    pools: new Map([['main', poolConfig('main', ['a', 'b'], limits)]]),
  };
}

describe('a pool', () => {
  it('is registered with its labels before it serves', async () => {
    const pool = await Pool.open();

    expect(await pool.registered()).toMatchObject([
      { id: ID, provider_name: 'cloud', name: 'main', supported_labels: ['a', 'b'], paused: false, state: 'running' },
    ]);
  });

  it('serves a request as soon as it appears, and gives up its lock a moment later', async () => {
    const pool = await Pool.open();

    const id = await pool.ask(['a', 'b']);

    expect(await pool.stored(id)).toMatchObject({ state: 'fulfilled', nodeIds: ['0000000000', '0000000001'] });
    expect(pool.asked).toEqual([`unlock ${id}`]);
    expect(pool.worker.load).toEqual({ handling: 0, waiting: 0, paused: 0 });
  });

  it('serves what waited before it was there', async () => {
    const pool = await Pool.open();
    pool.isActive = false;
    const id = await pool.ask(['a']);
    expect(await pool.stateOf(id)).toBe('requested');
    expect(pool.worker.load).toMatchObject({ waiting: 1 });

    pool.isActive = true;
    pool.worker.wake();
    await pool.world.pass(1_000);

    expect(await pool.stateOf(id)).toBe('fulfilled');
  });

  it('leaves a request alone that another process has locked, until the lock is given up', async () => {
    const pool = await Pool.open();
    pool.isActive = false;
    const id = await pool.ask(['a']);
    const { clock, other } = pool.world;
    const root = `${REQUEST_LOCKS_ROOT}/${id}`;
    await clock.run(other.ensurePath(root));
    const entry = await clock.run(other.create(`${root}/0123__lock__`, '', { ephemeral: true, sequential: true }));
    pool.isActive = true;
    await pool.world.pass(1_000);
    pool.worker.wake();
    await pool.world.pass(1_000);
    expect(pool.worker.load).toEqual({ handling: 0, waiting: 0, paused: 0 });
    expect(await pool.stateOf(id)).toBe('requested');

    await clock.run(other.delete(entry));
    await pool.world.pass(1_000);

    expect(await pool.stateOf(id)).toBe('fulfilled');
  });

  it('uses a ready node, and serves the request with the best place first', async () => {
    const pool = await Pool.open({ maxServers: 1 });
    pool.isActive = false;
    const [late, early] = [await pool.ask(['a']), await pool.ask(['a'], {}, 100)];
    const node = await pool.world.createNode({ provider: 'cloud', resources: { instances: 1 } });

    pool.isActive = true;
    pool.worker.wake();
    await pool.world.pass(1_000);

    expect((await pool.stored(early)).nodeIds).toEqual([node]);
    expect(await pool.stateOf(late)).toBe('pending');
  });

  it('declines what it can never serve, and says why', async () => {
    const pool = await Pool.open();

    const id = await pool.ask(['a', 'other']);

    expect(await pool.stored(id)).toMatchObject({
      ...{ state: 'failed', declinedBy: [ID] },
      declineReasons: { [ID]: { rule: 'label-unavailable' } },
    });
  });

  it('declines a request soon after others have ceased to change it, however long they did', async () => {
    const pool = await Pool.open();
    const { other, clock } = pool.world;
    const body = (relativePriority: number) =>
      encodeRequest(newRequest({ labels: ['a', 'other'], requestor: 'zuul', relativePriority }, clock.now()));
    const path = await clock.run(other.create(`${REQUESTS_ROOT}/200-`, body(0), { sequential: true }));
    const id = path.slice(REQUESTS_ROOT.length + 1) as RequestId;

    const untilMs = clock.now() + 6_000;
    for (let i = 1; clock.now() < untilMs; i++) {
      await clock.run(other.setData(path, body(i)));
      await pool.world.pass(16);
    }
    const meanwhile = await pool.stateOf(id);
    await pool.world.pass(1_000);

    expect([meanwhile, await pool.stateOf(id)]).toEqual(['requested', 'failed']);
  });

  it('does not lock a request whose leftovers are being removed, until it is told to look again', async () => {
    const pool = await Pool.open();
    pool.isActive = false;
    const id = await pool.ask(['a']);
    pool.recovering.add(id);
    pool.isActive = true;
    pool.worker.wake();
    await pool.world.pass(1_000);
    expect(await pool.stateOf(id)).toBe('requested');

    pool.recovering.clear();
    pool.worker.lookAgain(id);
    await pool.world.pass(1_000);

    expect(await pool.stateOf(id)).toBe('fulfilled');
  });
});

describe('a full pool', () => {
  /** One machine, in use, and a request that waits for it. */
  async function full() {
    const pool = await Pool.open({ maxServers: 1 });
    const first = await pool.ask(['a']);
    return { pool, first, waiting: await pool.ask(['a']) };
  }

  it('accepts one request that waits, tells others that it is paused, and leaves the rest in the queue', async () => {
    const { pool, waiting } = await full();
    const behind = await pool.ask(['a']);

    expect([await pool.stateOf(waiting), await pool.stateOf(behind)]).toEqual(['pending', 'requested']);
    expect(pool.worker.load).toEqual({ handling: 1, waiting: 1, paused: 1 });
    expect(await pool.registered()).toMatchObject([{ paused: true }]);
    expect(pool.worker.explain(await pool.stored(behind))).toMatchObject({ action: 'wait', rule: 'pool-full' });
  });

  it('serves it once the machine is gone', async () => {
    const { pool, first, waiting } = await full();
    const [node = ''] = (await pool.stored(first)).nodeIds;

    await pool.world.clock.run(pool.world.other.deleteRecursive(`/nodepool/nodes/${node}`));
    await pool.world.pass(1_000);

    expect(await pool.stateOf(waiting)).toBe('fulfilled');
    expect(await pool.registered()).toMatchObject([{ paused: false }]);
  });

  it('serves it once a reload allows more', async () => {
    const { pool, waiting } = await full();

    pool.update({ maxServers: 2 });
    await pool.world.pass(1_000);

    expect(await pool.stateOf(waiting)).toBe('fulfilled');
  });

  it('puts it back when a reload takes its label, and publishes the new labels', async () => {
    const { pool, waiting } = await full();

    pool.update({ maxServers: 1 }, ['b']);
    await pool.world.pass(1_000);

    expect(await pool.registered()).toMatchObject([{ supported_labels: ['b'] }]);
    expect(await pool.stored(waiting)).toMatchObject({ state: 'failed', declinedBy: [ID] });
  });

  it('has a free node that serves no waiting label deleted', async () => {
    const pool = await Pool.open({ maxServers: 1 });
    const node = await pool.world.createNode({ provider: 'cloud', labels: ['b'], resources: { instances: 1 } });

    const id = await pool.ask(['a']);

    expect(await pool.stateOf(id)).toBe('pending');
    expect(pool.asked).toContain(`release ${node}`);
  });

  it('forgets a request that its requestor withdraws', async () => {
    const { pool, waiting } = await full();

    await pool.world.clock.run(pool.world.other.delete(requestPath(waiting)));
    await pool.world.pass(1_000);

    expect(pool.worker.load).toEqual({ handling: 0, waiting: 0, paused: 0 });
    expect(await pool.registered()).toMatchObject([{ paused: false }]);
  });

  it('lets a request be served first that has been moved forward', async () => {
    const { pool, first, waiting } = await full();
    const [second, third] = [await pool.ask(['a']), await pool.ask(['a'])];
    const { other, clock } = pool.world;
    const moved = withRequest(await pool.stored(third), { relativePriority: -1 }, clock.now());
    await clock.run(other.setData(requestPath(third), encodeRequest(moved)));
    await pool.world.pass(100);

    for (const done of [first, waiting]) {
      const [node = ''] = (await pool.stored(done)).nodeIds;
      await clock.run(other.deleteRecursive(`/nodepool/nodes/${node}`));
      await pool.world.pass(1_000);
    }

    expect([await pool.stateOf(second), await pool.stateOf(third)]).toEqual(['pending', 'fulfilled']);
  });
});

describe('a pool of a provider that has become slow', () => {
  async function slow() {
    const pool = await Pool.open();
    await pool.slowDown();
    return pool;
  }
  /** Until the next probe, nothing that takes its usual time. */
  const begin = (pool: Pool) => pool.steering?.begin('a').created();

  it('leaves a request to another pool for a moment, and serves it when that one does not', async () => {
    const pool = await slow();
    await pool.registerOther();
    begin(pool);

    const id = await pool.ask(['a']);
    const before = { state: await pool.stateOf(id), told: pool.worker.explain(await pool.stored(id)) };
    await pool.world.pass(SLOW_POOL_PAUSE_MS);

    expect(before.state).toBe('requested');
    expect(before.told).toMatchObject({ action: 'yield', rule: 'yield-to-first' });
    expect(before.told.text).toBe(
      'provider "cloud" is slow, launches of "a" take longer than 60 s: it is left to pool "other/main" for a moment',
    );
    expect(await pool.stateOf(id)).toBe('fulfilled');
  });

  it('serves at once when there is no other pool', async () => {
    const pool = await slow();
    begin(pool);

    expect(await pool.stateOf(await pool.ask(['a']))).toBe('fulfilled');
  });

  it('leaves to others what waits until one of its launches ends', async () => {
    const pool = await slow();
    pool.launching = new Promise(() => undefined);

    const states: string[] = [];
    for (let i = 0; i < RAMP.least; i++) states.push(await pool.stateOf(await pool.ask(['a'])));
    const last = await pool.stored(await pool.ask(['a']));

    expect([...states, last.state]).toEqual([...states.map(() => 'pending'), 'requested']);
    expect(pool.worker.explain(last)).toMatchObject({ action: 'wait', rule: 'launch-ramp' });
    expect(pool.world.services.mirror.requests.contenders(last.id)).toBe(0);
  });
});

describe('a pool that stops', () => {
  it('leaves the registry, finishes what it launches, and takes nothing new', async () => {
    const pool = await Pool.open();
    let finish = (): void => undefined;
    pool.launching = new Promise((resolve) => (finish = resolve));
    const id = await pool.ask(['a']);

    const drained = pool.worker.drain();
    await pool.world.pass(1_000);
    expect(await pool.registered()).toEqual([]);
    expect(await pool.stateOf(await pool.ask(['a']))).toBe('requested');
    finish();
    await pool.world.clock.run(drained);

    expect(await pool.stateOf(id)).toBe('fulfilled');
  });

  it('puts back what waits for capacity', async () => {
    const pool = await Pool.open({ maxServers: 1 });
    await pool.ask(['a']);
    const waiting = await pool.ask(['a']);

    await pool.world.clock.run(pool.worker.drain());

    expect(await pool.stored(waiting)).toMatchObject({ state: 'requested', declinedBy: [] });
  });
});

describe('a pool whose session is over', () => {
  it('abandons its requests, takes nothing new before it is registered again, and serves then', async () => {
    const pool = await Pool.open();
    pool.launching = new Promise(() => undefined);
    const begun = await pool.ask(['a']);
    expect(await pool.stateOf(begun)).toBe('pending');

    pool.world.zk.onState((state) => state === 'LOST' && pool.worker.sessionLost(new Error('the session has expired')));
    pool.world.loseSession();
    await pool.world.pass(60_000);

    expect(pool.asked).toContain(`abandoned ${begun}`);
    expect(pool.worker.load).toMatchObject({ handling: 0, paused: 0 });
    pool.launching = undefined;
    const fresh = await pool.ask(['a']);
    expect(await pool.stateOf(fresh), 'it is not registered').toBe('requested');

    await pool.world.clock.run(pool.worker.sessionRenewed());
    await pool.world.pass(1_000);

    expect(await pool.stateOf(fresh)).toBe('fulfilled');
  });
});
