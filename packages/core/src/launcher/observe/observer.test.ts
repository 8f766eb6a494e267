import {
  COMPONENTS_ROOT,
  encodeComponent,
  encodeNode,
  encodeRequest,
  newNode,
  newPoolComponent,
  newRequest,
  NODES_ROOT,
  REQUESTS_ROOT,
  type LauncherId,
  type PoolComponentRecord,
  type ZooKeeper,
} from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../../contract/config.js';
import type { Driver, ProviderContext } from '../../contract/driver.js';
import { silentLogger } from '../../contract/logger.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { idleProvider } from '../../../test/support/idle-provider.js';
import { plainDriver, registryOf } from '../../../test/support/plain-driver.js';
import { poolConfig } from '../../../test/support/pool-config.js';
import { rackConfig } from '../../../test/support/rack-world.js';
import { Observer, type ObservedConfig } from './observer.js';

const ID = 'nl01-PoolWorker.rack-main-0123' as LauncherId;

let clock: VirtualClock;
/** Someone who writes. */
let zk: ZooKeeper;
/** Sessions that have written, each as often as it did. */
let writers: bigint[];
let seen: ZooKeeper;
/** What the driver was given. */
let context: ProviderContext | undefined;
let started: boolean;

beforeEach(async () => {
  ({ context, started, writers } = { context: undefined, started: false, writers: [] });
  clock = new VirtualClock();
  const server = new MemoryServer(clock, ({ changes }, session) => {
    if (changes.some(({ change }) => change !== 'createSession' && change !== 'closeSession')) writers.push(session);
  });
  zk = connectInMemory(server, { clock, random: () => 0.5 }).zk;
  seen = connectInMemory(server, { clock, random: () => 0.5 }).zk;
  const roots = [NODES_ROOT, REQUESTS_ROOT, `${COMPONENTS_ROOT}/pool`];
  await clock.run(Promise.all(roots.map((path) => zk.ensurePath(path))));
});

const driver = (): Driver =>
  plainDriver('plain', {
    getProvider: (config, given) => {
      context = given;
      return idleProvider(config, { start: () => Promise.resolve(void (started = true)) });
    },
  });

/** Provider `rack` with pool `main`, which has these labels. */
function configOf(labels: readonly string[], changes: Partial<Config> = {}): Config {
  const provider = { name: 'rack', driverName: 'plain', entry: {}, maxConcurrency: -1, priority: undefined };
  const pools = new Map([['main', poolConfig('main', labels)]]);
  return { ...rackConfig, providers: new Map([['rack', { ...provider, managesImages: false, pools }]]), ...changes };
}

async function observe(config: Config = configOf(['a'])): Promise<{ observer: Observer; observed: ObservedConfig }> {
  const observer = new Observer({
    zk: seen,
    registry: registryOf(driver()),
    logger: silentLogger,
    clock,
    hostname: 'nl01',
  });
  const observed = await observer.add(config);
  await clock.run(observer.start());
  return { observer, observed };
}

/** A launcher registers its pool. */
async function register(fields: Partial<PoolComponentRecord> = {}): Promise<void> {
  const component = newPoolComponent({
    ...{ hostname: 'nl01', state: 'running', version: '1', launcherId: ID, name: 'main', providerName: 'rack' },
    ...{ supportedLabels: ['a'], priority: 100, paused: false },
    ...fields,
  });
  const entry = zk.create(`${COMPONENTS_ROOT}/pool/nl01-`, encodeComponent(component), {
    ephemeral: true,
    sequential: true,
  });
  await clock.run(entry);
}

async function create(root: string, body: Buffer): Promise<string> {
  const path = await clock.run(
    zk.create(`${root}/${root === REQUESTS_ROOT ? '200-' : ''}`, body, { sequential: true }),
  );
  return path.slice(root.length + 1);
}

const ask = (labels: readonly string[], tenantName: string | null = null) =>
  create(REQUESTS_ROOT, encodeRequest(newRequest({ labels, requestor: 'zuul', tenantName }, clock.now())));

const addNode = (label: string, tenantName: string | null = null) =>
  create(
    NODES_ROOT,
    encodeNode(newNode({ state: 'ready', labels: [label], provider: 'rack', pool: 'main', tenantName }, clock.now())),
  );

describe('an observer', () => {
  it('decides as the launcher of a registered pool would', async () => {
    await register();
    await addNode('a');
    const [first, second] = [await ask(['a']), await ask(['a'])];
    const { observed } = await observe();

    expect(observed.explain({ requestId: first })).toMatchObject({ pools: [{ launcherId: ID, action: 'accept' }] });
    expect(observed.explain({ requestId: second })).toMatchObject({
      pools: [{ action: 'wait', rule: 'label-quota', details: { needed: 1, available: 0 }, position: 1 }],
    });
  });

  it('judges labels without a request, behind waiting requests', async () => {
    await register();
    await ask(['a']);
    const { observed } = await observe();

    expect(observed.explain({ labels: ['a'] })).toMatchObject({ pools: [{ rule: 'label-quota', position: 1 }] });
    expect(observed.explain({ labels: ['other'] })).toMatchObject({
      pools: [{ action: 'decline', rule: 'label-unavailable' }],
    });
  });

  it('knows nothing of a request that is not there', async () => {
    const { observed } = await observe();

    expect(observed.explain({ requestId: '200-0000000099' })).toBeUndefined();
  });

  it('follows what changes', async () => {
    await register();
    const id = await ask(['a']);
    const { observed } = await observe();

    await addNode('a');
    await clock.advance(1_000);

    expect(observed.explain({ requestId: id })).toMatchObject({ pools: [{ action: 'accept' }] });
  });

  it('neither starts providers nor writes', async () => {
    await register();
    await ask(['a']);
    const { observed, observer } = await observe();
    observed.explain({ labels: ['a'] });
    await clock.advance(60_000);
    observer.stop();

    expect(started).toBe(false);
    expect(new Set(writers)).toEqual(new Set([zk.sessionId]));
    expect(() => context?.committer.commit([])).toThrow(expect.objectContaining({ code: 'NODEPOOL_READ_ONLY' }));
  });

  it('reports a configured pool that no launcher has registered', async () => {
    const id = await ask(['a']);
    const { observed } = await observe();

    expect(observed.explain({ requestId: id })).toMatchObject({
      pools: [
        { provider: 'rack', pool: 'main', action: 'skip', text: 'it is configured, but no launcher has registered it' },
      ],
    });
  });

  it('judges by the configuration it was given, which need not be in force', async () => {
    await register();
    await addNode('b');
    const { observed } = await observe(configOf(['a', 'b']));

    expect(observed.explain({ labels: ['b'] })).toMatchObject({ pools: [{ action: 'accept' }] });
  });

  it('knows labels that are switched off, and limits of tenants', async () => {
    await register({ supportedLabels: ['a', 'off'] });
    await addNode('a', 'busy');
    const off = { name: 'off', minReady: -1, maxReadyAgeMs: 0 };
    const { observed } = await observe(
      configOf(['a', 'off'], {
        labels: new Map([['off', off as never]]),
        tenantLimits: new Map([['busy', { instances: 1 }]]),
      }),
    );
    const id = await ask(['a'], 'busy');
    await clock.advance(1_000);

    expect(observed.explain({ labels: ['off'] })).toMatchObject({ pools: [{ rule: 'label-disabled' }] });
    expect(observed.explain({ requestId: id })).toMatchObject({ pools: [{ rule: 'tenant-quota' }] });
  });

  it('shows one view for each launcher that has a pool', async () => {
    const { observed } = await observe();
    const other = 'nl02-PoolWorker.rack-main-4567' as LauncherId;
    const entry = (launcherId: LauncherId) =>
      newPoolComponent({
        ...{ hostname: 'h', state: 'running', version: '1', launcherId, name: 'main', providerName: 'rack' },
        ...{ supportedLabels: ['a'], priority: 100, paused: false },
      });

    expect(observed.views([entry(ID), entry(other)]).map(({ launcherId }) => launcherId)).toEqual([ID, other]);
    expect(observed.views([])).toHaveLength(1);
  });
});
