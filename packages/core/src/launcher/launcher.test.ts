import {
  COMPONENTS_ROOT,
  decodeRequest,
  delay,
  encodeRequest,
  AGREED_TIME_PATH,
  newRequest,
  REQUESTS_ROOT,
  requestLockPath,
  requestPath,
  type RequestId,
  type RequestRecord,
  type ZooKeeper,
  readDatabaseId,
} from '@nodepool/zk-protocol';
import { beforeEach, describe, expect, it } from 'vitest';
import { pooledConfig, rackConfig, RackWorld } from '../../test/support/rack-world.js';

let world: RackWorld;
beforeEach(() => (world = new RackWorld()));

/** Entries of a kind in the component registry. */
async function registered(kind: 'launcher' | 'pool'): Promise<Record<string, unknown>[]> {
  const { clock, zk } = world;
  const root = `${COMPONENTS_ROOT}/${kind}`;
  await clock.run(zk.ensurePath(root));
  const names = await clock.run(zk.getChildren(root));
  const found = await clock.run(Promise.all(names.map((name) => zk.getData(`${root}/${name}`))));
  return found.map(({ data }) => JSON.parse(data.toString()) as Record<string, unknown>);
}

async function ask(labels: readonly string[] = ['a'], state?: 'pending'): Promise<RequestId> {
  const { clock, zk } = world;
  const request = newRequest({ labels, requestor: 'zuul', ...(state && { state }) }, clock.now());
  await clock.run(zk.ensurePath(REQUESTS_ROOT));
  const path = await clock.run(zk.create(`${REQUESTS_ROOT}/200-`, encodeRequest(request), { sequential: true }));
  await world.settle();
  return path.slice(REQUESTS_ROOT.length + 1) as RequestId;
}

/** Does something while the answer to the call with this number is on its way. @returns how many calls there were */
function callBefore(zk: ZooKeeper, at: number, act: () => void): () => number {
  let calls = 0;
  const names = [
    'addWatch',
    'create',
    'exists',
    'getChildren',
    'getData',
    'multi',
    'multiRead',
    'setData',
    'sync',
  ] as const;
  for (const name of names) {
    const call = zk[name].bind(zk) as (...args: unknown[]) => Promise<unknown>;
    const counted = (...args: unknown[]) => {
      const answer = call(...args);
      if (++calls === at) act();
      return answer;
    };
    Object.assign(zk, { [name]: counted });
  }
  return () => calls;
}

/** The request as ZooKeeper has it. */
async function stored(id: RequestId): Promise<RequestRecord | undefined> {
  const { data, stat } = await world.clock.run(world.zk.getData(requestPath(id)));
  return decodeRequest(id, data, stat, world.clock.now());
}

describe('a launcher that starts', () => {
  it('is ready once caches are complete and providers run, and says until then what is missing', async () => {
    const { zk } = world.session();
    await world.clock.run(zk.whenConnected());
    const launcher = world.launcher(pooledConfig, zk);
    expect(launcher.notReady).toEqual(['reading nodes and requests from ZooKeeper', 'providers are being started']);

    await world.clock.run(launcher.start());

    expect(launcher.notReady).toEqual([]);
    // although its own entry does not say yet that it runs
    expect(launcher.isUnknownLabel('nosuch')).toBe(true);
  });

  it.each([
    ['its session', 0],
    ['a new session', 60_000],
  ])('continues in %s, wherever its connection breaks, and compares the clocks after it', async (_which, awayMs) => {
    for (let at = 1; ; at++) {
      let awayUntilMs = 0;
      let isCompared = false;
      const { zk, link } = world.session(() => world.clock.now() >= awayUntilMs);
      await world.clock.run(zk.whenConnected());
      const setData = zk.setData.bind(zk);
      zk.setData = (path, ...rest) => {
        isCompared ||= path === AGREED_TIME_PATH;
        return setData(path, ...rest);
      };
      const calls = callBefore(zk, at, () => {
        isCompared = false;
        awayUntilMs = world.clock.now() + awayMs;
        link.break();
      });
      const launcher = world.launcher(pooledConfig, zk);

      await world.clock.run(launcher.start());
      const isBroken = calls() >= at;
      if (isBroken) await world.clock.advance(awayMs + 5_000);

      expect([...launcher.notReady, isCompared], `broken at call ${at}`).toEqual([true]);
      await launcher.stop();
      await world.clock.run(zk.close());
      if (!isBroken) return expect(at).toBeGreaterThan(20);
    }
  });

  it('makes the directories it needs, and registers itself and its pools', async () => {
    const launcher = world.launcher(pooledConfig);

    await world.clock.run(launcher.start('http://nl01:8005'));
    await world.settle();

    expect(await registered('launcher')).toMatchObject([
      { hostname: 'nl01', state: 'running', web_url: 'http://nl01:8005' },
    ]);
    expect(await registered('pool')).toMatchObject([{ provider_name: 'rack', name: 'main', supported_labels: ['a'] }]);
    expect(await world.clock.run(world.zk.exists('/nodepool/nodes'))).toBeDefined();
  });

  it('serves what waited for it', async () => {
    await world.createNodes([{}]);
    const id = await ask();

    await world.startLauncher(pooledConfig);

    expect(await stored(id)).toMatchObject({ state: 'fulfilled', nodeIds: ['0000000000'] });
  });

  it('ends up with the newest configuration, also when it is reloaded meanwhile', async () => {
    const launcher = world.launcher(pooledConfig);

    await world.clock.run(
      Promise.all([launcher.start(), launcher.reconfigure({ ...rackConfig, providers: new Map() })]),
    );
    await world.settle();

    expect(await registered('pool')).toEqual([]);
  });

  it('registers no pool before it has read who else there is, also when it is reloaded meanwhile', async () => {
    const { zk } = world.session();
    await world.clock.run(zk.whenConnected());
    const setData = zk.setData.bind(zk);
    zk.setData = async (...args) => {
      await delay(world.clock, 5_000); // the comparison of the clocks takes long
      return setData(...args);
    };
    const launcher = world.launcher(pooledConfig, zk);

    const started = launcher.start();
    while (launcher.databaseId === undefined) await world.clock.advance(0);
    void launcher.reconfigure(pooledConfig);
    await world.clock.run(started);

    const made = async (kind: string) => {
      const [name] = await world.clock.run(world.zk.getChildren(`/nodepool/components/${kind}`));
      return (await world.clock.run(world.zk.exists(`/nodepool/components/${kind}/${name}`)))?.czxid;
    };
    expect(await made('pool')).toBeGreaterThan((await made('launcher')) ?? Infinity);
  });

  it('returns requests that a dead launcher had accepted, and serves them', async () => {
    await world.createNodes([{}]);
    const id = await ask(['a'], 'pending');

    await world.startLauncher(pooledConfig);
    await world.settle(1_000);

    expect(await stored(id)).toMatchObject({ state: 'fulfilled' });
  });
});

describe('a launcher beside another one that dies', () => {
  it('takes its request over when the session has ended, and not before', async () => {
    await world.createNodes([{}]);
    const other = world.session();
    const id = await ask(['a'], 'pending');
    const lock = requestLockPath(id);
    await world.clock.run(world.zk.ensurePath(lock));
    await world.clock.run(other.zk.create(`${lock}/0123__lock__`, '', { ephemeral: true, sequential: true }));
    await world.startLauncher(pooledConfig);
    await world.settle(1_000);
    expect(await stored(id)).toMatchObject({ state: 'pending' });

    other.link.sever();
    await world.settle(2_000);

    expect(await stored(id)).toMatchObject({ state: 'fulfilled' });
  });
});

describe('a launcher whose session is lost', () => {
  // Ends: DatabaseReplaced OtherDatabase
  it('serves when ZooKeeper has lost its data, and says so for a day', async () => {
    const launcher = await world.startLauncher(pooledConfig);
    const before = launcher.databaseId;

    world.loseData();
    for (let second = 0; second < 30; second++) await world.settle(50);
    await world.createNodes([{}]);
    const id = await ask();
    await world.settle(100);

    expect((await stored(id))?.state).toBe('fulfilled');
    expect(launcher.databaseId).not.toBe(before);
    expect(launcher.databaseId).toBe(await world.clock.run(readDatabaseId(world.zk)));
    const told = () => launcher.conditions.find().filter(({ type }) => type === 'DatabaseReplaced');
    expect(told()).toMatchObject([{ kind: 'zookeeper', name: 'ensemble', evidence: { before } }]);
    await world.clock.advance(25 * 3_600_000);
    expect(told()).toEqual([]);
  });

  it('registers itself and its pools again, and serves in the new session', async () => {
    let isAway = false;
    const { zk, link } = world.session(() => !isAway);
    const launcher = await world.startLauncher(pooledConfig, zk);
    const before = zk.sessionId;

    isAway = true;
    link.break();
    await world.settle(3_000);
    expect(launcher.notReady).toContain('no connection to ZooKeeper');
    expect(await registered('pool'), 'its entries are gone with the session').toEqual([]);
    isAway = false;
    await world.settle(3_000);

    expect(zk.sessionId).not.toBe(before);
    expect(launcher.notReady).toEqual([]);
    expect([await registered('launcher'), await registered('pool')]).toMatchObject([
      [{ state: 'running' }],
      [{ provider_name: 'rack' }],
    ]);
    await world.createNodes([{}]);
    expect(await stored(await ask())).toMatchObject({ state: 'fulfilled' });
  });
});

describe('a launcher that drains', () => {
  it('leaves the registry and takes nothing new', async () => {
    const launcher = await world.startLauncher(pooledConfig);
    await world.createNodes([{}]);

    await world.clock.run(launcher.drain(60_000));

    expect([await registered('launcher'), await registered('pool')]).toEqual([[], []]);
    expect(await stored(await ask())).toMatchObject({ state: 'requested' });
  });

  it('does not wait for ZooKeeper when nothing is in progress', async () => {
    let isAway = false;
    const { zk, link } = world.session(() => !isAway);
    const launcher = await world.startLauncher(pooledConfig, zk);
    isAway = true;
    link.break();
    await world.settle(3_000);
    const startMs = world.clock.now();

    await world.clock.run(launcher.drain(60_000));

    expect(world.clock.now()).toBe(startMs);
  });
});

it('a launcher that has stopped does nothing any more', async () => {
  const launcher = await world.startLauncher(pooledConfig);
  await world.createNodes([{}]);

  await launcher.stop();
  await world.settle();

  expect(await stored(await ask())).toMatchObject({ state: 'requested' });
  await world.settle(6_000);
  expect(world.clock.pendingTimers, 'of sessions only').toBeLessThan(8);
});

it('a launcher that stops without having drained ends its providers, and waits for none', async () => {
  const ended: string[] = [];
  const join = () => new Promise<void>(() => {});
  world = new RackWorld({ stop: () => void ended.push('stopped'), join });
  const launcher = await world.startLauncher(pooledConfig);

  await launcher.stop();

  expect(ended).toEqual(['stopped']);
});

describe('what a launcher tells', () => {
  it('is why a request waits, by id or by labels, and how busy its pools are', async () => {
    const launcher = await world.startLauncher(pooledConfig);
    const id = await ask();

    expect(launcher.explain({ requestId: id })).toMatchObject({
      pools: [{ provider: 'rack', pool: 'main', action: 'wait', rule: 'label-quota' }],
    });
    expect(launcher.explain({ labels: ['other'] })).toMatchObject({ pools: [{ rule: 'label-unavailable' }] });
    expect(launcher.explain({ requestId: '200-0000000099' })).toBeUndefined();
    expect(launcher.pools).toMatchObject([{ provider: 'rack', pool: 'main', waiting: 1, handling: 0 }]);
  });
});

it('looks for leaked resources every minute, although such a look never ends in another provider', async () => {
  let looks = 0;
  const hanging = new Promise<void>(() => undefined);
  world = new RackWorld({ cleanupLeakedResources: () => (looks++ === 0 ? hanging : Promise.resolve()) });
  const [rack] = rackConfig.providers.values();
  if (!rack) throw new Error('there is no provider');
  const providers = new Map(['rack', 'other'].map((name) => [name, { ...rack, name }]));
  await world.startLauncher({ ...rackConfig, providers });

  await world.settle(12_500); // 250 s

  expect(looks).toBe(6); // one that hangs, and five of the other provider, the first at the start
});
