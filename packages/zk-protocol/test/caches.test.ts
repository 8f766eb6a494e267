import { startZooKeeper, type ZooKeeperHandle } from '@nodepool/test-servers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createCommitter } from '../src/cache/committer.js';
import { createComponentCache, createNodeCache, createRequestCache } from '../src/cache/record-caches.js';
import type { NodeCache } from '../src/cache/record-caches.js';
import type { RecordChange } from '../src/cache/types.js';
import { connect } from '../src/client/connect.js';
import { MultiError } from '../src/client/contract/errors.js';
import type { Operation, ZooKeeper } from '../src/client/contract/types.js';
import { systemClock } from '../src/base/clock.js';
import { NODE_CREATE_PATH, nodePath } from '../src/records/paths.js';
import { encodeNode, newNode, withNode } from '../src/records/node.js';
import type { NodeId, NodeRecord } from '../src/records/types.js';
import { newLockEntryPrefix } from '../src/recipes/lock-entries.js';
import { recordingLogger, until } from './support.js';
import { whileReading } from './support/while-reading.js';

let server: ZooKeeperHandle;
let chroot = 0;
const open: ZooKeeper[] = [];
const stops: (() => void)[] = [];

beforeAll(async () => {
  server = await startZooKeeper({});
});
afterAll(() => server.stop());

beforeEach(() => {
  chroot += 1;
});

afterEach(async () => {
  for (const stop of stops.splice(0)) stop();
  await Promise.all(open.splice(0).map((zk) => zk.close()));
});

async function session(): Promise<ZooKeeper> {
  const zk = await connect({ servers: `${server.connectString}/caches-${chroot}`, sessionTimeoutMs: 20_000 });
  open.push(zk);
  return zk;
}

const node = (fields: Partial<NodeRecord> = {}) =>
  encodeNode(newNode({ state: 'ready', labels: ['small'], ...fields }, 1000));
const idOf = (path: string) => path.slice(path.lastIndexOf('/') + 1) as NodeId;

interface Watched {
  zk: ZooKeeper;
  other: ZooKeeper;
  nodes: NodeCache;
  changes: RecordChange<NodeRecord>[];
  locks: [string, number][];
  logger: ReturnType<typeof recordingLogger>;
}

async function watchNodes(): Promise<Watched> {
  const [zk, other] = await Promise.all([session(), session()]);
  await other.ensurePath('/nodepool/nodes');
  const logger = recordingLogger();
  const nodes = createNodeCache({ zk, clock: systemClock, logger });
  stops.push(() => nodes.stop());
  await nodes.start();
  const changes: RecordChange<NodeRecord>[] = [];
  const locks: [string, number][] = [];
  nodes.onChange((change) => changes.push(change));
  nodes.onLockChange((id, contenders) => locks.push([id, contenders]));
  return { zk, other, nodes, changes, locks, logger };
}

describe('the node cache', () => {
  it('shows what exists at the start, and an empty tree that does not exist at all', async () => {
    const zk = await session();
    const empty = createNodeCache({ zk, clock: systemClock, logger: recordingLogger() });
    stops.push(() => empty.stop());
    await empty.start();
    expect(empty.size).toBe(0);
    await zk.ensurePath('/nodepool/nodes');
    const path = await zk.create(NODE_CREATE_PATH, node(), { sequential: true });
    await zk.ensurePath(`${path}/lock`);
    await zk.create(`${path}/lock/${newLockEntryPrefix()}`, '', { sequential: true, ephemeral: true });
    await zk.create(NODE_CREATE_PATH, '', { sequential: true });

    const late = createNodeCache({ zk, clock: systemClock, logger: recordingLogger() });
    stops.push(() => late.stop());
    await late.start();

    await until(() => empty.size === 1 && empty.contenders(idOf(path)) === 1);
    expect([...late.values()].map(({ id, state }) => [id, state])).toEqual([[idOf(path), 'ready']]);
    expect(late.contenders(idOf(path))).toBe(1);
    expect(late.hasLockDirectory(idOf(path))).toBe(true);
  });

  it('follows what others create, change, lock and delete', async () => {
    const { other, nodes, changes, locks } = await watchNodes();

    const path = await other.create(NODE_CREATE_PATH, node(), { sequential: true });
    await until(() => nodes.size === 1);
    await other.setData(path, node({ state: 'in-use' }));
    await until(() => nodes.get(idOf(path))?.state === 'in-use');
    await other.ensurePath(`${path}/lock`);
    await other.create(`${path}/lock/${newLockEntryPrefix()}`, '', { sequential: true });
    await until(() => nodes.contenders(idOf(path)) === 1);
    await other.deleteRecursive(path);
    await until(() => nodes.size === 0);

    expect(changes.map(({ before, after }) => [before?.state, after?.state])).toEqual([
      [undefined, 'ready'],
      ['ready', 'in-use'],
      ['in-use', undefined],
    ]);
    expect(locks).toEqual([
      [idOf(path), 1],
      [idOf(path), 0],
    ]);
    expect(nodes.hasLockDirectory(idOf(path))).toBe(false);
  });

  it('shows a lock released after a change only after that change', async () => {
    const { other, nodes } = await watchNodes();
    const path = await other.create(NODE_CREATE_PATH, node({ state: 'in-use' }), { sequential: true });
    await other.ensurePath(`${path}/lock`);
    const entry = await other.create(`${path}/lock/${newLockEntryPrefix()}`, '', { sequential: true });
    await until(() => nodes.contenders(idOf(path)) === 1);
    const seen: string[] = [];
    nodes.onChange(({ after }) => seen.push(after?.state ?? 'gone'));
    nodes.onLockChange((id, contenders) => seen.push(`${nodes.get(id)?.state ?? 'gone'} with ${contenders}`));

    await Promise.all([other.setData(path, node({ state: 'used' })), other.delete(entry)]);
    await until(() => nodes.contenders(idOf(path)) === 0);

    expect(seen).toEqual(['used', 'used with 0']);
  });

  it('drops a record whose body becomes empty and keeps one that cannot be read', async () => {
    const { other, nodes, logger } = await watchNodes();
    const [emptied, broken] = await Promise.all([
      other.create(NODE_CREATE_PATH, node(), { sequential: true }),
      other.create(NODE_CREATE_PATH, node(), { sequential: true }),
    ]);
    await until(() => nodes.size === 2);

    await other.setData(broken, 'not json');
    await other.setData(broken, '{"state": 5}');
    await other.setData(emptied, '');
    await until(() => nodes.size === 1);

    expect(nodes.get(idOf(broken))?.state).toBe('ready');
    expect(logger.messages('error').length).toBeGreaterThanOrEqual(1);
    await other.setData(broken, node({ state: 'some-new-state' }));
    await until(() => nodes.get(idOf(broken))?.state === 'some-new-state');
  });

  it('reads a burst of changes in few round trips', async () => {
    const { zk, other, nodes } = await watchNodes();
    const before = zk.counters.requests;

    const create: Operation = { op: 'create', path: NODE_CREATE_PATH, data: node(), sequential: true };
    await other.multi(Array.from({ length: 500 }, () => create));
    await until(() => nodes.size === 500);

    expect(zk.counters.requests - before).toBeLessThan(250);
  });

  it('shows a record that others change more often than ZooKeeper answers, and its lock after the last change', async () => {
    const [zk, other] = await Promise.all([session(), session()]);
    const path = '/nodepool/nodes/0000000001';
    await other.ensurePath(`${path}/lock`);
    const entry = await other.create(`${path}/lock/${newLockEntryPrefix()}`, '', { sequential: true });
    let writes = 0;
    const restless = whileReading(zk, async () => {
      if (++writes <= 20) await other.setData(path, node({ comment: String(writes) }));
      if (writes === 6) await other.delete(entry);
      await zk.exists(path); // answered after the events of these
    });
    const nodes = createNodeCache({ zk: restless, clock: systemClock, logger: recordingLogger() });
    stops.push(() => nodes.stop());
    const shown: string[] = [];
    nodes.onChange(({ after }) => shown.push(after?.comment ?? 'gone'));
    nodes.onLockChange((id, contenders) => shown.push(`${nodes.get(id)?.comment} with ${contenders}`));

    await nodes.start();
    await until(() => nodes.contenders(idOf(path)) === 0 && nodes.get(idOf(path))?.comment === '20');

    expect(shown).toEqual(['undefined with 1', '2', '5', '8', '11', '14', '17', '20', '20 with 0']);
  });

  it('reports the differences after the connection was away', async () => {
    const { other, zk, nodes, changes, locks } = await watchNodes();
    const [gone, changed] = await Promise.all([
      other.create(NODE_CREATE_PATH, node(), { sequential: true }),
      other.create(NODE_CREATE_PATH, node(), { sequential: true }),
      other.create(NODE_CREATE_PATH, node(), { sequential: true }),
    ]);
    await until(() => nodes.size === 3);
    changes.length = 0;
    const readiness: boolean[] = [];
    nodes.onReady((ready) => readiness.push(ready));
    const writer = await connect({ servers: `${server.connectString}/caches-${chroot}`, sessionTimeoutMs: 20_000 });
    open.push(writer);

    await server.kill();
    await until(() => zk.state !== 'CONNECTED');
    await server.restart();
    // Whoever reconnects first: the cache must end up the same.
    await Promise.all([
      writer.delete(gone),
      writer.setData(changed, node({ state: 'used' })),
      writer.ensurePath(`${changed}/lock/junk`),
    ]);
    await until(() => nodes.ready && nodes.size === 2 && nodes.contenders(idOf(changed)) === 1);

    expect(readiness).toEqual([false, true]);
    expect(changes.map(({ id, after }) => [id, after?.state]).sort()).toEqual(
      [
        [idOf(gone), undefined],
        [idOf(changed), 'used'],
      ].sort(),
    );
    expect(locks).toEqual([[idOf(changed), 1]]);
  });
});

describe('a cache that has settled', () => {
  it('shows what was written before, however long it takes to read that', async () => {
    const [zk, other] = await Promise.all([session(), session()]);
    await other.ensurePath('/nodepool/nodes');
    const path = await other.create(NODE_CREATE_PATH, node(), { sequential: true });
    const slow = whileReading(zk, async () => {
      for (let i = 0; i < 5; i++) await zk.sync('/');
    });
    const nodes = createNodeCache({ zk: slow, clock: systemClock, logger: recordingLogger() });
    stops.push(() => nodes.stop());
    await nodes.start();
    const state = () => nodes.get(idOf(path))?.state;

    await other.setData(path, node({ state: 'in-use' }));
    await zk.sync('/');
    const synced = state();
    await nodes.settle();

    expect([synced, state()]).toEqual(['ready', 'in-use']);
  });

  it('shows what others have made while own commits were under way', async () => {
    const { zk, other, nodes } = await watchNodes();
    const committer = createCommitter(zk, [nodes]);
    const own = { op: 'create', path: NODE_CREATE_PATH, data: node(), sequential: true } as const;

    for (let i = 0; i < 10; i++) {
      const commit = committer.commit([own]);
      const path = await other.create(NODE_CREATE_PATH, node({ state: 'in-use' }), { sequential: true });
      const later = committer.commit([own]);
      await nodes.settle();
      expect(nodes.get(idOf(path))?.state).toBe('in-use');
      await Promise.all([commit, later]);
    }
  });
});

describe('a commit', () => {
  it('shows in the cache when it returns, is reported once per record and reads nothing back', async () => {
    const { zk, nodes, changes, locks } = await watchNodes();
    const committer = createCommitter(zk, [nodes]);
    const before = zk.counters.operations;

    const [created] = await committer.commit([
      { op: 'create', path: NODE_CREATE_PATH, data: node({ state: 'init' }), sequential: true },
    ]);
    if (created?.op !== 'create') throw new Error('no create result');
    const id = idOf(created.path);
    const init = nodes.get(id);
    if (init === undefined) throw new Error('the created node is not in the cache');
    await committer.commit([
      { op: 'set', path: nodePath(id), data: encodeNode(withNode(init, { state: 'building' }, 2000)), version: 0 },
      { op: 'create', path: `${nodePath(id)}/lock` },
      { op: 'create', path: `${nodePath(id)}/lock/${newLockEntryPrefix()}`, ephemeral: true, sequential: true },
    ]);

    expect(nodes.get(id)).toMatchObject({ state: 'building', stateTimeMs: 2000, stat: { version: 1 } });
    expect(nodes.contenders(id)).toBe(1);
    expect(changes.map(({ before, after }) => [before?.state, after?.state])).toEqual([
      [undefined, 'init'],
      ['init', 'building'],
    ]);
    expect(locks).toEqual([[id, 1]]);
    await zk.sync('/');
    expect(zk.counters.operations - before).toBe(1 + 3 + 1);
    expect(nodes.eventQueue + nodes.playbackQueue).toBe(0);

    await committer.commit([{ op: 'set', path: nodePath(id), data: '', version: 1 }]);
    expect(nodes.get(id)).toBeUndefined();
  });

  it('that is refused changes nothing, and says which part', async () => {
    const { zk, nodes, changes } = await watchNodes();
    const committer = createCommitter(zk, [nodes]);
    const [created] = await committer.commit([
      { op: 'create', path: NODE_CREATE_PATH, data: node(), sequential: true },
    ]);
    if (created?.op !== 'create') throw new Error('no create result');
    changes.length = 0;

    const several = committer.commit([
      { op: 'create', path: `${created.path}/lock` },
      { op: 'set', path: created.path, data: node({ state: 'used' }), version: 7 },
    ]);
    await expect(several).rejects.toMatchObject({ code: 'ZK_BAD_VERSION', failedIndex: 1 });
    const single = committer.commit([{ op: 'delete', path: created.path, version: 7 }]);
    await expect(single).rejects.toBeInstanceOf(MultiError);

    expect(nodes.hasLockDirectory(idOf(created.path))).toBe(false);
    expect(nodes.get(idOf(created.path))?.state).toBe('ready');
    expect(changes).toEqual([]);
  });

  it.each([1, 2, 3, 4, 5, 6])(
    'and the writes of others end in the same picture, whatever their order (%d)',
    async (seed) => {
      const { zk, other, nodes, changes, locks } = await watchNodes();
      const committer = createCommitter(zk, [nodes]);
      const truth = createNodeCache({ zk: await session(), clock: systemClock, logger: recordingLogger() });
      stops.push(() => truth.stop());
      const random = seeded(seed);
      const paths: string[] = [];
      for (let i = 0; i < 8; i++) paths.push(await other.create(NODE_CREATE_PATH, node(), { sequential: true }));
      const states = ['ready', 'in-use', 'used', 'hold'];
      const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;

      for (let round = 0; round < 60; round++) {
        const work: Promise<unknown>[] = [];
        for (let i = 0; i < 12; i++) {
          const path = pick(paths);
          const operations: Operation[] = pick<() => Operation[]>([
            () => [{ op: 'set', path, data: node({ state: pick(states) }) }],
            () => [
              { op: 'set', path, data: node({ state: pick(states) }) },
              { op: 'set', path: pick(paths), data: node({ state: pick(states) }) },
            ],
            () => [{ op: 'create', path: `${path}/lock` }],
            () => [
              { op: 'delete', path: `${path}/lock` },
              { op: 'create', path: `${path}/lock` },
              { op: 'create', path: `${path}/lock/${newLockEntryPrefix()}`, sequential: true, ephemeral: true },
            ],
            () => [{ op: 'create', path: `${path}/lock/${pick(['a', 'b'])}` }],
            () => [{ op: 'delete', path: `${path}/lock/${pick(['a', 'b'])}` }],
            () => [{ op: 'delete', path: `${path}/lock` }],
            () => [{ op: 'delete', path }],
            () => [{ op: 'create', path, data: node({ state: pick(states) }) }],
            () => [{ op: 'create', path: NODE_CREATE_PATH, data: node(), sequential: true }],
          ])();
          work.push((random() < 0.5 ? committer.commit(operations) : other.multi(operations)).catch(ignoreRefusal));
        }
        await Promise.all(work);
      }

      await truth.start();
      await until(() => nodes.eventQueue + nodes.playbackQueue === 0);
      await zk.sync('/');
      await until(() => nodes.eventQueue + nodes.playbackQueue === 0);
      const picture = (cache: NodeCache) =>
        [...cache.values()]
          .map(({ id, state, stat }) => [id, state, stat?.mzxid, cache.hasLockDirectory(id), cache.contenders(id)])
          .sort();
      expect(picture(nodes)).toEqual(picture(truth));
      // What listeners were told adds up to the same, change by change.
      const told = new Map<string, NodeRecord>();
      for (const { id, before, after } of changes) {
        expect(told.get(id)).toBe(before);
        if (after === undefined) told.delete(id);
        else told.set(id, after);
      }
      expect([...told.values()].sort(byId)).toEqual([...nodes.values()].sort(byId));
      for (const [id, contenders] of new Map(locks)) expect(nodes.contenders(id)).toBe(contenders);
    },
  );
});

const byId = (a: NodeRecord, b: NodeRecord) => (a.id < b.id ? -1 : 1);

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof MultiError)) throw error;
}

/** Small reproducible generator (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

describe('the other caches', () => {
  it('mirror requests with the contenders for their locks, which stand in a tree of their own', async () => {
    const [zk, other] = await Promise.all([session(), session()]);
    await zk.ensurePath('/nodepool/requests');
    await zk.ensurePath('/nodepool/requests-lock');
    const body = '{"state": "requested", "node_types": ["small"]}';
    const first = idOf(await zk.create('/nodepool/requests/200-', body, { sequential: true }));
    await zk.ensurePath(`/nodepool/requests-lock/${first}`);
    const requests = createRequestCache({ zk, clock: systemClock, logger: recordingLogger() });
    stops.push(() => requests.stop());
    await requests.start();
    const locks: [string, number][] = [];
    requests.onLockChange((id, contenders) => locks.push([id, contenders]));
    expect(requests.get(first)).toMatchObject({ labels: ['small'], reuse: true });
    expect(requests.hasLockDirectory(first)).toBe(true);

    const second = idOf(await other.create('/nodepool/requests/200-', body, { sequential: true }));
    await other.ensurePath(`/nodepool/requests-lock/${second}`);
    const entry = `/nodepool/requests-lock/${second}/${newLockEntryPrefix()}`;
    await other.create(entry, '', { sequential: true, ephemeral: true });
    await until(() => locks.length === 1);
    await other.close();
    await until(() => locks.length === 2);

    expect(requests.size).toBe(2);
    expect(locks).toEqual([
      [second, 1],
      [second, 0],
    ]);
    expect(requests.hasLockDirectory(second)).toBe(true);
    await zk.delete(`/nodepool/requests-lock/${second}`);
    await until(() => !requests.hasLockDirectory(second));
  });

  it('show a request lock released after a change only after that change', async () => {
    const [zk, other] = await Promise.all([session(), session()]);
    await zk.ensurePath('/nodepool/requests');
    await zk.ensurePath('/nodepool/requests-lock');
    const requests = createRequestCache({ zk, clock: systemClock, logger: recordingLogger() });
    stops.push(() => requests.stop());
    await requests.start();
    const seen: string[] = [];
    requests.onLockChange((id, contenders) => seen.push(`${String(requests.get(id)?.state)} ${contenders}`));
    const fulfilled = () => [...requests.values()].filter(({ state }) => state === 'fulfilled').length;
    const body = (state: string) => `{"state": "${state}", "node_types": ["small"]}`;

    for (let i = 0; i < 50; i++) {
      const path = await other.create('/nodepool/requests/200-', body('requested'), { sequential: true });
      const root = `/nodepool/requests-lock/${idOf(path)}`;
      const results = await other.multi([
        { op: 'create', path: root },
        { op: 'create', path: `${root}/0123__lock__`, ephemeral: true, sequential: true },
        { op: 'set', path, data: body('pending'), version: 0 },
      ]);
      const entry = results[1]?.op === 'create' ? results[1].path : '';
      void other.setData(path, body('fulfilled'), 1);
      await other.delete(entry);
    }

    await until(() => fulfilled() === 50 && requests.eventQueue === 0);
    expect(seen).toContain('fulfilled 0');
    expect(seen.filter((text) => text === 'pending 0')).toEqual([]);
  });

  it('mirror components of all kinds and the pools of old launchers', async () => {
    const zk = await session();
    const components = createComponentCache({ zk, clock: systemClock, logger: recordingLogger() });
    stops.push(() => components.stop());
    await zk.ensurePath('/nodepool/components/launcher');
    await zk.create('/nodepool/components/launcher/nl01', '{"kind": "launcher", "hostname": "nl01"}', {
      sequential: true,
      ephemeral: true,
    });
    await components.start();

    await zk.ensurePath('/nodepool/components/pool');
    await zk.ensurePath('/nodepool/launchers');
    await zk.create('/nodepool/components/pool/nl01', '{"kind": "pool", "id": "a"}', { sequential: true });
    await zk.create('/nodepool/launchers/old', '{"supported_labels": ["small"]}');
    await until(() => components.size === 3);

    expect([...components.values()].map(({ kind }) => kind).sort()).toEqual(['launcher', 'pool', 'pool']);
    expect(components.get('launchers/old')).toMatchObject({ legacy: true, launcherId: 'old' });
    expect(components.get('pool/nl010000000000')).toMatchObject({ legacy: false, launcherId: 'a' });
  });
});
