import { describe, expect, it } from 'vitest';
import { recordingLogger, until } from '../../test/support/clients.js';
import { idOf, nodeBody, World } from '../../test/support/world.js';
import { systemClock } from '../base/clock.js';
import { MultiError } from '../client/contract/errors.js';
import type { Operation } from '../client/contract/types.js';
import { newLockEntryPrefix } from '../recipes/lock-entries.js';
import { encodeNode, withNode } from '../records/node.js';
import { NODE_CREATE_PATH, nodePath } from '../records/paths.js';
import type { NodeRecord } from '../records/types.js';
import { createCommitter } from './committer.js';
import { createNodeCache, type NodeCache } from './record-caches.js';

const world = new World();
const { logger } = recordingLogger();

describe('a committer', () => {
  it('shows the commit in the cache when it returns, reports each record once and reads nothing back', async () => {
    const { zk, nodes, changes, locks } = await world.watchNodes();
    const committer = createCommitter(zk, [nodes]);
    const before = zk.counters.operations;

    const [created] = await committer.commit([
      { op: 'create', path: NODE_CREATE_PATH, data: nodeBody({ state: 'init' }), sequential: true },
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

  it('passes over numbers that a client has taken by name', async () => {
    const { zk, nodes } = await world.watchNodes();
    const create = (): Operation => ({ op: 'create', path: NODE_CREATE_PATH, data: nodeBody(), sequential: true });
    const committer = createCommitter(zk, [nodes]);
    const [first] = await committer.commit([create()]);
    if (first?.op !== 'create') throw new Error('no create result');
    const next = (by: number) => String(Number(idOf(first.path)) + by).padStart(10, '0') as NodeRecord['id'];
    for (const by of [3, 4]) await zk.ensurePath(`${nodePath(next(by))}/lock`); // as a lock of kazoo does: 1 and 2 are counted

    const results = await committer.commit([create(), create()]);

    expect(results.map((result) => 'path' in result && idOf(result.path))).toEqual([next(5), next(6)]);
    expect([...nodes.values()].map(({ id }) => id)).toEqual(expect.arrayContaining([next(5), next(6)]));
  });

  it('changes nothing when a commit is rejected, and names the failed operation', async () => {
    const { zk, nodes, changes } = await world.watchNodes();
    const committer = createCommitter(zk, [nodes]);
    const [created] = await committer.commit([
      { op: 'create', path: NODE_CREATE_PATH, data: nodeBody(), sequential: true },
    ]);
    if (created?.op !== 'create') throw new Error('no create result');
    changes.length = 0;

    const several = committer.commit([
      { op: 'create', path: `${created.path}/lock` },
      { op: 'set', path: created.path, data: nodeBody({ state: 'used' }), version: 7 },
    ]);
    await expect(several).rejects.toMatchObject({ code: 'ZK_BAD_VERSION', failedIndex: 1 });
    const single = committer.commit([{ op: 'delete', path: created.path, version: 7 }]);
    await expect(single).rejects.toBeInstanceOf(MultiError);

    expect(nodes.hasLockDirectory(idOf(created.path))).toBe(false);
    expect(nodes.get(idOf(created.path))?.state).toBe('ready');
    expect(changes).toEqual([]);
  });

  it.each([1, 2, 3, 4, 5, 6])(
    'leaves the cache equal to ZooKeeper, whatever the order of own and foreign writes (%d)',
    async (seed) => {
      const { zk, other, nodes, changes, locks } = await world.watchNodes();
      const committer = createCommitter(zk, [nodes]);
      const truth = world.stopping(createNodeCache({ zk: await world.session(), clock: systemClock, logger }));
      const random = seeded(seed);
      const paths: string[] = [];
      for (let i = 0; i < 8; i++) paths.push(await other.create(NODE_CREATE_PATH, nodeBody(), { sequential: true }));
      const states = ['ready', 'in-use', 'used', 'hold'];
      const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;

      for (let round = 0; round < 60; round++) {
        const work: Promise<unknown>[] = [];
        for (let i = 0; i < 12; i++) {
          const path = pick(paths);
          const operations: Operation[] = pick<() => Operation[]>([
            () => [{ op: 'set', path, data: nodeBody({ state: pick(states) }) }],
            () => [
              { op: 'set', path, data: nodeBody({ state: pick(states) }) },
              { op: 'set', path: pick(paths), data: nodeBody({ state: pick(states) }) },
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
            () => [{ op: 'create', path, data: nodeBody({ state: pick(states) }) }],
            () => [{ op: 'create', path: NODE_CREATE_PATH, data: nodeBody(), sequential: true }],
          ])();
          work.push((random() < 0.5 ? committer.commit(operations) : other.multi(operations)).catch(ignoreRejection));
        }
        await Promise.all(work);
      }

      await truth.start();
      await until(() => nodes.eventQueue + nodes.playbackQueue === 0);
      await zk.sync('/');
      await until(() => nodes.eventQueue + nodes.playbackQueue === 0);
      const summary = (cache: NodeCache) =>
        [...cache.values()]
          .map(({ id, state, stat }) => [id, state, stat?.mzxid, cache.hasLockDirectory(id), cache.contenders(id)])
          .sort();
      expect(summary(nodes)).toEqual(summary(truth));
      // The reported changes add up to the same.
      const reported = new Map<string, NodeRecord>();
      for (const { id, before, after } of changes) {
        expect(reported.get(id)).toBe(before);
        if (after === undefined) reported.delete(id);
        else reported.set(id, after);
      }
      expect([...reported.values()].sort(byId)).toEqual([...nodes.values()].sort(byId));
      for (const [id, contenders] of new Map(locks)) expect(nodes.contenders(id)).toBe(contenders);
    },
  );
});

const byId = (a: NodeRecord, b: NodeRecord) => (a.id < b.id ? -1 : 1);

function ignoreRejection(error: unknown): void {
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
