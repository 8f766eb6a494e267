import { describe, expect, it } from 'vitest';
import { changesTo, closing, recordingLogger, until } from '../../test/support/clients.js';
import { whileReading, whileWriting } from '../../test/support/while-reading.js';
import { idOf, nodeBody, World } from '../../test/support/world.js';
import { systemClock } from '../base/clock.js';
import type { Operation } from '../client/contract/types.js';
import { connectInMemory } from '../server/memory/memory-link.js';
import { MemoryServer } from '../server/memory/memory-server.js';
import { newLockEntryPrefix } from '../recipes/lock-entries.js';
import { NODE_CREATE_PATH } from '../records/paths.js';
import { createCommitter } from './committer.js';
import { createNodeCache } from './record-caches.js';

const world = new World();
const { logger } = recordingLogger();

describe('the node cache', () => {
  it('shows existing records after the start, and follows a tree that did not exist', async () => {
    const zk = await world.session();
    const empty = world.stopping(createNodeCache({ zk, clock: systemClock, logger }));
    await empty.start();
    expect(empty.size).toBe(0);
    await zk.ensurePath('/nodepool/nodes');
    const path = await zk.create(NODE_CREATE_PATH, nodeBody(), { sequential: true });
    await zk.ensurePath(`${path}/lock`);
    await zk.create(`${path}/lock/${newLockEntryPrefix()}`, '', { sequential: true, ephemeral: true });
    await zk.create(NODE_CREATE_PATH, '', { sequential: true });

    const late = world.stopping(createNodeCache({ zk, clock: systemClock, logger }));
    await late.start();

    await until(() => empty.size === 1 && empty.contenders(idOf(path)) === 1);
    expect([...late.values()].map(({ id, state }) => [id, state])).toEqual([[idOf(path), 'ready']]);
    expect(late.contenders(idOf(path))).toBe(1);
    expect(late.hasLockDirectory(idOf(path))).toBe(true);
  });

  it('follows creates, changes, locks and deletes of other processes', async () => {
    const { other, nodes, changes, locks } = await world.watchNodes();

    const path = await other.create(NODE_CREATE_PATH, nodeBody(), { sequential: true });
    await until(() => nodes.size === 1);
    await other.setData(path, nodeBody({ state: 'in-use' }));
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
    const { other, nodes } = await world.watchNodes();
    const path = await other.create(NODE_CREATE_PATH, nodeBody({ state: 'in-use' }), { sequential: true });
    await other.ensurePath(`${path}/lock`);
    const entry = await other.create(`${path}/lock/${newLockEntryPrefix()}`, '', { sequential: true });
    await until(() => nodes.contenders(idOf(path)) === 1);
    const seen: string[] = [];
    nodes.onChange(({ after }) => seen.push(after?.state ?? 'gone'));
    nodes.onLockChange((id, contenders) => seen.push(`${nodes.get(id)?.state ?? 'gone'} with ${contenders}`));

    await Promise.all([other.setData(path, nodeBody({ state: 'used' })), other.delete(entry)]);
    await until(() => nodes.contenders(idOf(path)) === 0);

    expect(seen).toEqual(['used', 'used with 0']);
  });

  it('drops a record whose body becomes empty and keeps one whose body is malformed', async () => {
    const { other, nodes, lines } = await world.watchNodes();
    const [emptied, broken] = await Promise.all([
      other.create(NODE_CREATE_PATH, nodeBody(), { sequential: true }),
      other.create(NODE_CREATE_PATH, nodeBody(), { sequential: true }),
    ]);
    await until(() => nodes.size === 2);

    await other.setData(broken, 'not json');
    await other.setData(broken, '{"state": 5}');
    await other.setData(emptied, '');
    await until(() => nodes.size === 1);

    expect(nodes.get(idOf(broken))?.state).toBe('ready');
    expect(lines.some((line) => line.startsWith('error Ignored a malformed record'))).toBe(true);
    await other.setData(broken, nodeBody({ state: 'some-new-state' }));
    await until(() => nodes.get(idOf(broken))?.state === 'some-new-state');
  });

  it('reads a burst of changes in few round trips', async () => {
    const { zk, other, nodes } = await world.watchNodes();
    const before = zk.counters.requests;

    const create: Operation = { op: 'create', path: NODE_CREATE_PATH, data: nodeBody(), sequential: true };
    await other.multi(Array.from({ length: 500 }, () => create));
    await until(() => nodes.size === 500);

    expect(zk.counters.requests - before).toBeLessThan(250);
  });

  it('shows some states of a record that changes faster than ZooKeeper answers, and its lock after the last change', async () => {
    const [zk, other] = await Promise.all([world.session(), world.session()]);
    const path = '/nodepool/nodes/0000000001';
    await other.ensurePath(`${path}/lock`);
    const entry = await other.create(`${path}/lock/${newLockEntryPrefix()}`, '', { sequential: true });
    let writes = 0;
    const restless = whileReading(zk, async () => {
      if (++writes <= 20) await other.setData(path, nodeBody({ comment: String(writes) }));
      if (writes === 6) await other.delete(entry);
      await zk.exists(path); // answered after the events of these
    });
    const nodes = world.stopping(createNodeCache({ zk: restless, clock: systemClock, logger }));
    const shown: string[] = [];
    nodes.onChange(({ after }) => shown.push(after?.comment ?? 'gone'));
    nodes.onLockChange((id, contenders) => shown.push(`${nodes.get(id)?.comment} with ${contenders}`));

    await nodes.start();
    await until(() => nodes.contenders(idOf(path)) === 0 && nodes.get(idOf(path))?.comment === '20');

    expect(shown).toEqual(['undefined with 1', '2', '5', '8', '11', '14', '17', '20', '20 with 0']);
  });

  it('reports the differences after a reconnect', async () => {
    const { other, zk, nodes, changes, locks } = await world.watchNodes();
    const [gone, changed] = await Promise.all([
      other.create(NODE_CREATE_PATH, nodeBody(), { sequential: true }),
      other.create(NODE_CREATE_PATH, nodeBody(), { sequential: true }),
      other.create(NODE_CREATE_PATH, nodeBody(), { sequential: true }),
    ]);
    await until(() => nodes.size === 3);
    changes.length = 0;
    const readiness: boolean[] = [];
    nodes.onReady((ready) => readiness.push(ready));
    const writer = await world.session();

    await world.server.kill();
    await until(() => zk.state !== 'CONNECTED');
    await world.server.restart();
    // The result must not depend on which of the two sessions reconnects first.
    await Promise.all([
      writer.delete(gone),
      writer.setData(changed, nodeBody({ state: 'used' })),
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

describe('a settled node cache', () => {
  it('lists records that cannot be read, until they are removed, also while its connection is down', async () => {
    const server = new MemoryServer(systemClock);
    const { zk, link } = connectInMemory(server);
    const [own, other] = [closing(zk), closing(connectInMemory(server).zk)];
    await other.ensurePath('/nodepool/nodes');
    const [seen, missed] = await Promise.all(
      ['{"state": "ready", "slot": 1, "hostname": "h', '[]'].map((text) =>
        other.create(NODE_CREATE_PATH, text, { sequential: true }),
      ),
    );
    const nodes = world.stopping(createNodeCache({ zk: own, clock: systemClock, logger }));
    await nodes.start();
    const found = nodes.unreadable.map(({ id, legible }) => [id, legible]);
    await other.delete(seen ?? '');
    await until(() => nodes.unreadable.length === 1);
    const suspended = changesTo(own, 'SUSPENDED');
    link.break();
    await suspended;
    await other.delete(missed ?? '');

    await nodes.settle();

    expect(found).toEqual([
      [idOf(seen ?? ''), { state: 'ready', slot: 1 }],
      [idOf(missed ?? ''), {}],
    ]);
    expect(nodes.unreadable).toEqual([]);
  });

  it('shows what was written while its connection was down', async () => {
    const server = new MemoryServer(systemClock);
    const { zk, link } = connectInMemory(server);
    const [own, other] = [closing(zk), closing(connectInMemory(server).zk)];
    await other.ensurePath('/nodepool/nodes');
    const nodes = world.stopping(createNodeCache({ zk: own, clock: systemClock, logger }));
    await nodes.start();
    const suspended = changesTo(own, 'SUSPENDED');
    link.break();
    await suspended;
    const path = await other.create(NODE_CREATE_PATH, nodeBody(), { sequential: true });

    await nodes.settle();

    expect(nodes.get(idOf(path))?.state).toBe('ready');
  });

  it('shows an older copy of the database that came back below it', async () => {
    const server = new MemoryServer(systemClock);
    const own = closing(connectInMemory(server, { sessionTimeoutMs: 1_000 }).zk);
    await own.ensurePath('/nodepool/nodes');
    const path = await own.create(NODE_CREATE_PATH, nodeBody(), { sequential: true });
    const nodes = world.stopping(createNodeCache({ zk: own, clock: systemClock, logger }));
    await nodes.start();
    const copy = server.copy();
    await own.setData(path, nodeBody({ state: 'in-use' }));
    const later = await own.create(NODE_CREATE_PATH, nodeBody(), { sequential: true });
    await until(() => nodes.get(idOf(path))?.state === 'in-use' && nodes.size === 2);

    const lost = changesTo(own, 'LOST');
    server.replace(copy);
    await lost;
    await nodes.settle();

    expect(nodes.get(idOf(path))?.state).toBe('ready');
    expect(nodes.get(idOf(later))).toBeUndefined();
  });

  it('is not waited for once it has been stopped', async () => {
    const { zk, link } = connectInMemory(new MemoryServer(systemClock));
    const own = closing(zk);
    await own.ensurePath('/nodepool/nodes');
    await own.create(NODE_CREATE_PATH, nodeBody(), { sequential: true });
    let rebuilds = 0;
    const hanging = whileReading(own, () => (++rebuilds === 1 ? Promise.resolve() : new Promise(() => {})));
    const nodes = createNodeCache({ zk: hanging, clock: systemClock, logger });
    await nodes.start();
    const suspended = changesTo(own, 'SUSPENDED');
    link.break();
    await suspended;

    const settled = nodes.settle();
    await until(() => rebuilds === 2);
    nodes.stop();

    await expect(settled).resolves.toBeUndefined();
  });

  it('shows earlier writes even if reading them takes long', async () => {
    const [zk, other] = await Promise.all([world.session(), world.session()]);
    await other.ensurePath('/nodepool/nodes');
    const path = await other.create(NODE_CREATE_PATH, nodeBody(), { sequential: true });
    const slow = whileReading(zk, async () => {
      for (let i = 0; i < 5; i++) await zk.sync('/');
    });
    const nodes = world.stopping(createNodeCache({ zk: slow, clock: systemClock, logger }));
    await nodes.start();
    const state = () => nodes.get(idOf(path))?.state;

    await other.setData(path, nodeBody({ state: 'in-use' }));
    await zk.sync('/');
    const synced = state();
    await nodes.settle();

    expect([synced, state()]).toEqual(['ready', 'in-use']);
  });

  it('shows what others wrote before it was asked, though an own commit on it is not answered yet', async () => {
    const { zk, other, nodes } = await world.watchNodes();
    const path = await other.create(NODE_CREATE_PATH, nodeBody(), { sequential: true });
    await until(() => nodes.size === 1);
    const outdated = { op: 'set', path, data: nodeBody({ state: 'used' }), version: 0 } as const;

    let answer = () => {};
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const commit = createCommitter(
      whileWriting(zk, () => answered),
      [nodes],
    ).commit([outdated, { op: 'check', path, version: 0 }]);
    await other.setData(path, nodeBody({ state: 'in-use' }));
    const settled = nodes.settle().then(() => nodes.get(idOf(path))?.state);
    for (let i = 0; i < 3; i++) await zk.sync('/');
    answer();

    await expect(commit).rejects.toThrow('ZK_BAD_VERSION');
    expect(await settled).toBe('in-use');
  });

  it('shows records that others created during own commits', async () => {
    const { zk, other, nodes } = await world.watchNodes();
    const committer = createCommitter(zk, [nodes]);
    const own = { op: 'create', path: NODE_CREATE_PATH, data: nodeBody(), sequential: true } as const;

    for (let i = 0; i < 10; i++) {
      const commit = committer.commit([own]);
      const path = await other.create(NODE_CREATE_PATH, nodeBody({ state: 'in-use' }), { sequential: true });
      const later = committer.commit([own]);
      await nodes.settle();
      expect(nodes.get(idOf(path))?.state).toBe('in-use');
      await Promise.all([commit, later]);
    }
  });
});
