import { newUpload, uploadPath } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it } from 'vitest';
import {
  CapacityError,
  ConfigError,
  LaunchError,
  LockLostError,
  ProviderUnavailableError,
  QuotaError,
} from '../../contract/errors.js';
import {
  DATABASE_ID_TAG,
  NODE_CREATED_TAG,
  NODE_ID_TAG,
  PROVIDER_TAG,
  type Instance,
} from '../../contract/instance.js';
import { createStateMachine, failed, goto } from '../operations/state-machine.js';
import type { ImageSource } from '../../contract/images.js';
import { RateLimitedError } from '../../contract/errors.js';
import { DATABASE_ID, LaunchWorld, providerConfig } from '../../../test/support/launch-world.js';
import { MemoryCloud, type CloudBehaviour } from '../../../test/support/memory-cloud.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import type { Adapter, StateMachineLabelConfig, StateMachineProviderConfig } from './types.js';

interface Setting {
  cloud?: CloudBehaviour;
  features?: { single?: boolean; push?: boolean };
  adapter?: Partial<Adapter>;
  label?: Partial<StateMachineLabelConfig>;
  config?: Partial<StateMachineProviderConfig>;
  pool?: object;
}

let bench: LaunchWorld | undefined;
let clock: VirtualClock | undefined;

function setUp(setting: Setting = {}) {
  clock = new VirtualClock();
  const cloud = new MemoryCloud(clock, setting.cloud);
  const config = providerConfig(setting.config, setting.label, setting.pool);
  bench = new LaunchWorld(clock, cloud.adapter(setting.features, setting.adapter), config);
  return { clock, cloud, bench };
}

function uploadOf(build: 'new' | 'old') {
  const key = { image: 'debian', buildId: build, provider: 'cloud', id: '0000000001' };
  const upload = newUpload(key, { state: 'ready', externalId: `image-${build}` }, 0);
  return { upload, path: uploadPath('debian', build, 'cloud', '0000000001') };
}

/** A new build of an image is tried out by the first attempt; the first so many attempts fail. */
function setUpTrial(failures: number, createMs?: number) {
  const clock_ = (clock = new VirtualClock());
  const cloud = new MemoryCloud(clock_, { createMs });
  for (let i = 0; i < failures; i++) cloud.failNext('create', new LaunchError('status', 'status ERROR'));
  const [ended, told]: [string[], string[]] = [[], []];
  const images: ImageSource = {
    ready: true,
    hasUpload: () => true,
    hasImage: () => true,
    newestUpload: () => uploadOf('old').upload,
    chooseUpload: (_image, { mayTry }) => {
      const build = mayTry ? 'new' : 'old';
      return {
        upload: uploadOf(build).upload,
        ended: (error) => {
          ended.push(`${build} ${error ? (error.name === 'AbortError' ? error.name : 'failed') : 'ready'}`);
          return mayTry && error !== undefined;
        },
      };
    },
  };
  const config = providerConfig(
    { managesImages: true, launchRetries: 2 },
    {
      diskimage: 'debian',
      cloudImage: undefined,
    },
  );
  bench = new LaunchWorld(clock_, cloud.adapter(), config, { images });
  bench.attemptFailed = (error) => told.push(error.message) > 0;
  return { bench, clock: clock_, ended, told };
}

afterEach(async () => {
  await bench?.end();
  expect(clock?.pendingTimers).toBe(0);
});

describe('a launch', () => {
  it('takes one write and no time when the cloud answers at once without a key scan', async () => {
    const { bench, clock, cloud } = setUp();
    const startedMs = clock.now();

    const result = await bench.launch();

    expect(result).toMatchObject({
      state: 'ready',
      node: { state: 'ready', externalId: 'i-1', interfaceIp: 'fake-i-1' },
    });
    expect(bench.writes).toHaveLength(1);
    expect(clock.now()).toBe(startedMs);
    expect(cloud.calls).toEqual(['create']);
    expect(bench.counted).toEqual(['ready debian']);
  });

  it('stores the instance, then its host keys together with the state', async () => {
    const { bench } = setUp({ label: { hostKeyChecking: true } });

    const result = await bench.launch();

    expect(result.node.hostKeys).toEqual(['ssh-ed25519 KEY']);
    expect(bench.writes.map((write) => Object.keys(write).includes('state'))).toEqual([false, true]);
  });

  it('stores the external id before it waits for the instance', async () => {
    const { bench, clock } = setUp({ cloud: { createMs: 30_000 } });

    const launching = bench.launch();
    await clock.advance(0);
    const early = [...bench.nodes.values()][0];
    const result = await clock.run(launching);

    expect(early).toMatchObject({ state: 'building', externalId: 'i-1' });
    expect(result.state).toBe('ready');
    expect(bench.writes).toHaveLength(2);
  });

  it('makes another attempt with the image before, which costs none, when the one that is tried out fails', async () => {
    const { bench, clock, ended, told } = setUpTrial(2);

    const result = await clock.run(bench.launch());

    expect(result.state).toBe('ready');
    expect(ended).toEqual(['new failed', 'old failed', 'old ready']);
    expect(result.node).toMatchObject({ imageId: uploadOf('old').path });
    expect(told).toEqual(['status ERROR']);
  });

  it('fails for an image that is tried out only when the one before it fails as often as ever', async () => {
    const { bench, clock, ended } = setUpTrial(10);

    const result = await clock.run(bench.launch());

    expect(result.state).toBe('failed');
    expect(ended).toEqual(['new failed', 'old failed', 'old failed']);
  });

  it('says nothing of an image when it is ended', async () => {
    const { bench, clock, ended } = setUpTrial(0, 30_000);
    const stop = new AbortController();

    const launching = bench.launch(bench.node(), stop.signal);
    await clock.advance(1_000);
    stop.abort(new Error('stopped'));
    await clock.run(launching);
    await clock.advance(30_000); // the cloud ends what it has begun

    expect(ended).toEqual(['new AbortError']);
  });

  it('reports for each attempt when the cloud has started', async () => {
    const { bench, clock } = setUp({
      cloud: { createMs: 30_000 },
      config: { launchTimeoutMs: 20_000, launchRetries: 2 },
    });
    const startedMs = clock.now();

    await clock.run(bench.launch());
    await clock.advance(30_000); // the cloud ends what it has begun

    const [first, second = 0] = bench.createdMs.map((ms) => ms - startedMs);
    expect(first).toBe(0);
    expect(second).toBeGreaterThanOrEqual(20_000);
  });

  it('takes login data from the image, overruled by the instance, and attributes overruled by the pool', async () => {
    const { bench, clock, cloud } = setUp({
      cloud: { createMs: 1_000 },
      pool: { nodeAttributes: { zone: 'pool' }, useInternalIp: true },
    });
    const launching = bench.launch();
    await clock.advance(0);
    cloud.put({
      externalId: 'i-1',
      username: 'root',
      privateIpv4: '10.0.0.5',
      publicIpv4: '198.51.100.5',
      nodeAttributes: { zone: 'instance', rack: 7 },
      resources: { instances: 1, cores: 4 },
      driverData: { a: 1 },
      slot: 3,
    });

    const { node } = await clock.run(launching);

    expect(node).toMatchObject({
      username: 'root',
      pythonPath: 'auto',
      connectionType: 'ssh',
      connectionPort: 22,
      imageId: 'debian',
      interfaceIp: '10.0.0.5',
      publicIpv4: '198.51.100.5',
      attributes: { zone: 'pool', rack: 7 },
      resources: { instances: 1, cores: 4 },
      driverData: { a: 1 },
      slot: 3,
    });
  });

  it.each([
    ['no capacity', new CapacityError('no valid host'), 'error.capacity'],
    ['an instance in error', new LaunchError('status', 'status ERROR'), 'error.status'],
    ['whatever a driver throws', new TypeError('x is undefined'), 'error.unknown'],
  ])('tries again after %s, counting the attempt', async (_name, error, counted) => {
    const { bench, clock, cloud } = setUp();
    cloud.failNext('create', error);

    const result = await clock.run(bench.launch());

    expect(result.state).toBe('ready');
    expect(bench.counted).toEqual([`${counted} debian`, 'ready debian']);
    expect(cloud.instances.size).toBe(1);
  });

  it('fails with the last error when all attempts are used up', async () => {
    const { bench, clock, cloud } = setUp({ config: { launchRetries: 2 } });
    cloud.failNext('create', new CapacityError('first'));
    cloud.failNext('create', new CapacityError('second'));

    const result = await clock.run(bench.launch());

    expect(result).toMatchObject({ state: 'failed', error: { message: 'second' } });
    expect(cloud.count('create')).toBe(2);
  });

  it('is aborted by a lack of quota, without another attempt', async () => {
    const { bench, clock, cloud } = setUp();
    cloud.failNext('create', new QuotaError('quota exceeded'));

    const result = await clock.run(bench.launch());

    expect(result).toMatchObject({ state: 'aborted', node: { externalId: null } });
    expect(bench.counted).toEqual(['error.quota debian']);
  });

  it('fails at once for a label that can never work', async () => {
    const { bench, clock, cloud } = setUp();
    cloud.failNext('create', new ConfigError('no such flavor'));

    const result = await clock.run(bench.launch());

    expect(result.state).toBe('failed');
    expect(cloud.count('create')).toBe(1);
  });

  it('repeats a call the cloud refused for being one too many, without counting an attempt', async () => {
    const { bench, clock, cloud } = setUp();
    cloud.failNext('create', new RateLimitedError('slow down', { retryAfterMs: 100 }));

    const result = await clock.run(bench.launch());

    expect(result.state).toBe('ready');
    expect(bench.counted).toEqual(['ready debian']);
  });

  it('waits before it tries again when the cloud does not answer', async () => {
    const { bench, clock, cloud } = setUp();
    const startedMs = clock.now();
    cloud.failNext('create', new ProviderUnavailableError('connection refused'));

    const result = await clock.run(bench.launch());

    expect(result.state).toBe('ready');
    expect(clock.now() - startedMs).toBeGreaterThan(500);
  });

  it('has a stage of its own while the cloud does not answer', async () => {
    const { bench, clock, cloud } = setUp({ cloud: { createMs: 20_000 }, adapter: { listInstances: () => list() } });
    let list = () => cloud.list();
    clock.setTimer(5_000, () => (list = () => Promise.reject(new ProviderUnavailableError('connection refused'))));
    clock.setTimer(15_000, () => (list = () => cloud.list()));

    await clock.run(bench.launch());

    expect(bench.stages).toEqual(['delete-leftovers', 'creating', 'booting', 'cloud-away', 'waiting', 'storing']);
  });

  it('finds the result of an unanswered call by its tags and deletes it before the next attempt', async () => {
    const { bench, clock, cloud } = setUp();
    cloud.failNext('create', new ProviderUnavailableError('connection reset'), true);

    const result = await clock.run(bench.launch());

    expect(result).toMatchObject({ state: 'ready', node: { externalId: 'i-2' } });
    expect([...cloud.instances.keys()]).toEqual(['i-2']);
    expect(bench.writes[0]).toEqual({ launchError: 'connection reset' });
    expect(bench.writes[1]?.launchError).toMatch(
      /^attempt 1 of 3 failed, the next one begins at 1970.*: connection reset$/,
    );
    expect(bench.writes[2]).toEqual({ externalId: 'i-1' });
  });

  it('waits until lagging lists show the result of an unanswered call', async () => {
    const lagMs = 30_000;
    let list: Adapter['listInstances'] = () => Promise.resolve([]);
    const { bench, clock, cloud } = setUp({ adapter: { listLagMs: lagMs, listInstances: (signal) => list(signal) } });
    clock.setTimer(lagMs, () => (list = () => cloud.list()));
    cloud.failNext('create', new ProviderUnavailableError('connection reset'), true);

    await clock.run(bench.launch());

    expect([...cloud.instances.keys()]).toEqual(['i-2']);
    expect(bench.writes[2]).toEqual({ externalId: 'i-1' });
  });

  it('leaves the id of an instance found after the last attempt on the node, to be deleted with it', async () => {
    const { bench, clock, cloud } = setUp({ config: { launchRetries: 1 } });
    cloud.failNext('create', new ProviderUnavailableError('connection reset'), true);

    const result = await clock.run(bench.launch());

    expect(result).toMatchObject({ state: 'failed', node: { externalId: 'i-1' } });
  });

  it('makes a namespace of a cluster ready, which has no address and no host keys', async () => {
    const { bench, clock, cloud } = setUp({
      label: { hostKeyChecking: true },
      cloud: { createMs: 1, host: null as never },
      adapter: {
        listInstances: async () =>
          (await cloud.list()).map((one) => ({
            ...one,
            connectionType: 'namespace',
            connectionPort: { namespace: 'x' },
          })),
      },
    });

    const result = await clock.run(bench.launch());

    expect(result).toMatchObject({
      state: 'ready',
      node: { interfaceIp: null, connectionType: 'namespace', connectionPort: { namespace: 'x' }, hostKeys: [] },
    });
  });

  it('leaves the id of an instance without an address on the node', async () => {
    const { bench, clock } = setUp({ config: { launchRetries: 1 }, cloud: { createMs: 1, host: null as never } });

    const result = await clock.run(bench.launch());

    expect(result).toMatchObject({ state: 'failed', error: { code: 'NODEPOOL_ADDRESS' }, node: { externalId: 'i-1' } });
  });

  it('tags instances with the id of the database that ZooKeeper serves now', async () => {
    const { bench, clock, cloud } = setUp();
    await clock.run(bench.launch());

    bench.databaseId = 'b'.repeat(32);
    await clock.run(bench.launch());

    const tags = [...cloud.instances.values()].map(({ metadata }) => metadata[DATABASE_ID_TAG]);
    expect(tags).toEqual([DATABASE_ID, 'b'.repeat(32)]);
  });

  it('does not touch instances of other nodes or providers with the same id', async () => {
    const { bench, clock, cloud } = setUp();
    const former = { [NODE_CREATED_TAG]: '1', [DATABASE_ID_TAG]: DATABASE_ID };
    cloud.put({
      ...{ externalId: 'former', metadata: { [NODE_ID_TAG]: '0000000001', [PROVIDER_TAG]: 'cloud', ...former } },
    });
    cloud.put({ externalId: 'other', metadata: { [NODE_ID_TAG]: '0000000001', [PROVIDER_TAG]: 'elsewhere' } });
    cloud.failNext('create', new ProviderUnavailableError('connection reset'));

    await clock.run(bench.launch());

    expect([...cloud.instances.keys()].sort()).toEqual(['former', 'i-1', 'other']);
  });

  it.each([
    ['lists', {}],
    ['single reads', { single: true }],
    ['reports', { push: true, single: true }],
    ['reports and lists', { push: true }],
  ])('ends an attempt after launch-timeout and deletes its instance first (%s)', async (_name, features) => {
    const { bench, clock, cloud } = setUp({ features, cloud: { neverReady: true, deleteMs: 5_000 } });

    const launching = bench.launch();
    await clock.advance(60_000);
    cloud.behaviour.neverReady = false;
    const result = await clock.run(launching);

    expect(result).toMatchObject({ state: 'ready', node: { externalId: 'i-2' } });
    expect(bench.counted[0]).toBe('error.servercreatetimeout debian');
    expect([...cloud.instances.keys()]).toEqual(['i-2']);
  });

  it("removes an id from the node, and deletes nothing, when the driver finds that the instance is not the node's", async () => {
    const getCreateStateMachine: Adapter['getCreateStateMachine'] = () =>
      createStateMachine<{ name: 'start' | 'taken' } | { name: 'named'; externalId: string }, Instance, undefined>({
        name: 'create',
        initial: { name: 'start' },
        handlers: {
          start: () => goto({ name: 'named', externalId: 'np1' }),
          named: () => goto({ name: 'taken' }),
          taken: () => failed(new LaunchError('status', 'the name is taken')),
        },
        context: undefined,
      });
    const { bench, clock, cloud } = setUp({ adapter: { getCreateStateMachine }, config: { launchRetries: 2 } });
    cloud.put({ externalId: 'np1', metadata: { [NODE_ID_TAG]: '0000000001', [PROVIDER_TAG]: 'cloud' } });

    const result = await clock.run(bench.launch());

    expect(result).toMatchObject({ state: 'failed', node: { externalId: null } });
    expect([...cloud.instances.keys()]).toEqual(['np1']);
    expect(cloud.calls).not.toContain('delete');
  });

  it('continues to delete what an attempt left although deleting fails at first', async () => {
    const { bench, clock, cloud } = setUp({ label: { hostKeyChecking: true } });
    bench.keys = undefined;
    cloud.failNext('delete', new Error('internal error'));

    const launching = bench.launch();
    await clock.advance(10_000);
    bench.keys = ['ssh-ed25519 KEY'];
    const result = await clock.run(launching);

    expect(result).toMatchObject({ state: 'ready', node: { externalId: 'i-2' } });
    expect([...cloud.instances.keys()]).toEqual(['i-2']);
    expect(bench.counted[0]).toBe('error.keyscan debian');
  });

  it('tells the driver about a failed key scan and asks for the console', async () => {
    const told: string[] = [];
    const { bench, clock } = setUp({
      label: { hostKeyChecking: true, consoleLog: true },
      config: { launchRetries: 1 },
      adapter: {
        notifyNodescanFailure: (_label, id) => void told.push(`failed ${id}`),
        getConsoleLog: (_label, id) => {
          told.push(`console ${id}`);
          return Promise.resolve('kernel panic');
        },
      },
    });
    bench.keys = undefined;

    const result = await clock.run(bench.launch());

    expect(result.state).toBe('failed');
    expect(told).toEqual(['failed i-1', 'console i-1']);
  });

  it('blames no cloud for what it sees after it lost the node, as a process that was stopped for a while does', async () => {
    const { bench, clock, cloud } = setUp({ cloud: { createMs: 1_000 } });
    const blamed: Error[] = [];
    bench.attemptFailed = (error) => blamed.push(error) > 0;
    cloud.failNext('create', new Error('instance i-1 vanished while being created'));
    bench.storeError = new LockLostError('another process wrote it');

    const result = await clock.run(bench.launch());

    expect(result).toMatchObject({ state: 'failed', error: { code: 'NODEPOOL_LOCK_LOST' } });
    expect(blamed).toEqual([]);
  });

  it('touches nothing any more when the node cannot be stored', async () => {
    const { bench, clock, cloud } = setUp({ cloud: { createMs: 1_000 } });
    bench.storeError = new LockLostError('another process wrote it');

    const result = await clock.run(bench.launch());

    expect(result).toMatchObject({ state: 'failed', error: { code: 'NODEPOOL_LOCK_LOST' } });
    expect(bench.counted).toEqual(['error.zksession debian']);
    expect(cloud.calls).toEqual(['create']);
    await clock.advance(1_000); // the cloud itself continues
  });

  it('ends at once on abort, even while the cloud hangs, and counts no failure', async () => {
    const { bench, clock } = setUp({ cloud: { hangs: new Set(['create']) } });
    const abort = new AbortController();

    const launching = bench.launch(bench.node(), abort.signal);
    await clock.advance(1_000);
    abort.abort(new Error('the session is over'));
    const result = await launching;

    expect(result).toMatchObject({ state: 'failed', error: { message: 'the session is over' } });
    expect(bench.counted).toEqual([]);
  });

  it.each([
    ['is being made', 'i-1', { hangs: new Set(['create' as const]) }],
    ['boots', 'i-1', { createMs: 20_000 }],
  ])(
    'ends when no request needs the node any more while its instance %s, which its node names',
    async (_when, id, cloud) => {
      const { bench, clock } = setUp({ cloud });
      const unwanted = new AbortController();

      const launching = bench.launchUntil(unwanted.signal);
      await clock.advance(1_000);
      unwanted.abort(new Error('the request was withdrawn'));
      const result = await clock.run(launching);

      expect(result).toMatchObject({ state: 'failed', error: { message: 'the request was withdrawn' } });
      expect(result.node.externalId).toBe(id);
      expect(bench.counted).toEqual([]);
      await clock.advance(20_000); // the cloud itself continues
    },
  );

  it('deletes the result of a hanging call after the attempt', async () => {
    const { bench, clock, cloud } = setUp({ cloud: { hangs: new Set(['create']) } });

    const launching = bench.launch();
    await clock.advance(30_000);
    cloud.behaviour.hangs = new Set();
    const result = await clock.run(launching);

    expect(result).toMatchObject({ state: 'ready', node: { externalId: 'i-2' } });
    expect([...cloud.instances.keys()]).toEqual(['i-2']);
  });

  it.each([
    ['no machine', () => undefined],
    [
      'a machine that steps nowhere',
      () => ({ name: 'x', state: { name: 's' }, complete: false, advance: () => Promise.resolve({}) }),
    ],
    [
      'an instance without an id',
      () => ({
        name: 'x',
        state: { name: 's' },
        complete: false,
        advance: () => Promise.resolve({ step: 'done', result: {} }),
      }),
    ],
    [
      'a machine in circles',
      () => ({
        name: 'x',
        state: { name: 's' },
        complete: false,
        advance: () => Promise.resolve({ step: 'goto', state: { name: 's' } }),
      }),
    ],
  ])('fails when the driver gives %s', async (_name, machine) => {
    const { bench, clock } = setUp({
      adapter: { getCreateStateMachine: machine as unknown as Adapter['getCreateStateMachine'] },
      config: { launchRetries: 1 },
    });

    const result = await clock.run(bench.launch());

    expect(result.state).toBe('failed');
  });
});

describe('500 launches at once', () => {
  it.each([
    ['lists', {}, 12],
    ['reports', { push: true, single: true }, 0],
  ])('cost few lists (%s)', async (_name, features, lists) => {
    const { bench, clock, cloud } = setUp({ features, cloud: { createMs: 2_000 } });

    const results = await clock.run(Promise.all(Array.from({ length: 500 }, () => bench.launch())));

    expect(results.every(({ state }) => state === 'ready')).toBe(true);
    expect(cloud.count('list')).toBeLessThanOrEqual(lists);
  });
});

describe('an instance that is ready just as its time is over', () => {
  it('is used, not thrown away', async () => {
    // it is looked at every few seconds by then
    const { bench, clock, cloud } = setUp({ cloud: { createMs: 29_900 }, config: { launchTimeoutMs: 30_000 } });

    const result = await clock.run(bench.launch());

    expect(result.state).toBe('ready');
    expect(cloud.calls.filter((call) => call === 'create')).toHaveLength(1);
    expect(cloud.calls).not.toContain('delete');
  });

  it('still has its host keys read', async () => {
    const { bench, clock } = setUp({
      cloud: { createMs: 29_900 },
      config: { launchTimeoutMs: 30_000 },
      label: { hostKeyChecking: true },
    });

    const result = await clock.run(bench.launch());

    expect(result.node).toMatchObject({ state: 'ready', hostKeys: ['ssh-ed25519 KEY'] });
  });

  it("is not used when it is not the node's", async () => {
    const { bench, clock, cloud } = setUp({
      cloud: { createMs: 29_900 },
      config: { launchTimeoutMs: 30_000, launchRetries: 1 },
    });
    const launching = bench.launch();
    await clock.advance(0);
    cloud.put({ externalId: 'i-1', metadata: { [NODE_ID_TAG]: 'another' } });

    const result = await clock.run(launching);

    expect(result.state).toBe('failed');
  });

  it('is another attempt when it is not ready after all', async () => {
    const { bench, clock, cloud } = setUp({
      cloud: { neverReady: true },
      config: { launchTimeoutMs: 30_000, launchRetries: 2 },
    });

    const result = await clock.run(bench.launch());

    expect(result.state).toBe('failed');
    expect(cloud.calls.filter((call) => call === 'create')).toHaveLength(2);
  });
});

describe('host keys that are known from elsewhere', () => {
  const known = (hostKeys: string[]) => ({ cloud: { createMs: 1_000 }, label: { hostKeyChecking: true }, hostKeys });

  it.each([
    ['are those that are scanned', ['ssh-ed25519 KEY', 'ssh-rsa OTHER'], 'ready'],
    ['are not those that are scanned', ['ssh-ed25519 OTHER'], 'failed'],
  ])('%s', async (_what, hostKeys, state) => {
    const { bench, clock, cloud } = setUp({ ...known(hostKeys), config: { launchRetries: 1 } });
    const launching = bench.launch();
    await clock.advance(0);
    cloud.put({ externalId: 'i-1', hostKeys, onlyTheseHostKeys: true });

    const result = await clock.run(launching);

    expect(result.state).toBe(state);
    if (state === 'failed') expect(result.error?.message).toContain('host keys that it did not print itself');
  });
});
