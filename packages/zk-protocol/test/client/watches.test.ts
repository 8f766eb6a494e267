import { startZooKeeper, type ZooKeeperHandle } from '@nodepool/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, type WatchEvent, type ZooKeeper } from '../../src/index.js';
import { changesTo, closing, eventually, reaches, stopping } from '../support/clients.js';
import { TcpProxy } from '../support/tcp-proxy.js';

describe('watches', () => {
  let zooKeeper: ZooKeeperHandle;
  let chroots = 0;

  beforeAll(async () => {
    zooKeeper = await startZooKeeper({ tickMs: 200, minSessionTimeoutMs: 600 });
  });
  afterAll(() => zooKeeper.stop());

  /** A client behind a proxy, another one beside it, in a subtree of their own. */
  async function pair(sessionTimeoutMs = 20_000): Promise<{ client: ZooKeeper; other: ZooKeeper; proxy: TcpProxy }> {
    const chroot = `/watches-${(chroots += 1)}`;
    const [server] = zooKeeper.servers;
    if (server === undefined) throw new Error('no server');
    const proxy = await stopping(TcpProxy.start(server));
    const client = closing(await connect({ servers: proxy.connectString + chroot, sessionTimeoutMs }));
    const other = closing(await connect({ servers: zooKeeper.connectString + chroot }));
    await other.ensurePath('/');
    return { client, other, proxy };
  }

  it('fires one-shot watches once', async () => {
    const { client, other } = await pair();
    await other.create('/n');
    const events: [string, WatchEvent][] = [];
    await client.exists('/missing', (event) => events.push(['exists', event]));
    await client.getData('/n', (event) => events.push(['data', event]));
    await client.getChildren('/n', (event) => events.push(['children', event]));

    await other.create('/missing');
    await other.setData('/n', '1');
    await other.setData('/n', '2');
    await other.create('/n/child');
    await other.create('/n/second');
    await client.sync('/');

    expect(events).toEqual([
      ['exists', { type: 'created', path: '/missing' }],
      ['data', { type: 'changed', path: '/n' }],
      ['children', { type: 'children', path: '/n' }],
    ]);
  });

  it('tells of a change before the call that made it resolves', async () => {
    const { client } = await pair();
    const order: string[] = [];
    await client.addWatch('/', 'persistent-recursive', ({ type, path }) => order.push(`${type} ${path}`));

    await client.create('/x').then(() => order.push('resolved'));

    expect(order).toEqual(['created /x', 'resolved']);
  });

  it('reports everything below a recursive watch, one event per part of a multi', async () => {
    const { client, other } = await pair();
    await other.ensurePath('/tree/a');
    const events: WatchEvent[] = [];
    await client.addWatch('/tree', 'persistent-recursive', (event) => events.push(event));

    await other.multi([
      { op: 'create', path: '/tree/a/b' },
      { op: 'set', path: '/tree', data: 'x' },
      { op: 'delete', path: '/tree/a/b' },
    ]);
    await other.create('/outside');
    await client.sync('/');

    expect(events).toEqual([
      { type: 'created', path: '/tree/a/b' },
      { type: 'changed', path: '/tree' },
      { type: 'deleted', path: '/tree/a/b' },
    ]);
  });

  it('shares a persistent watch among listeners and removes it with the last', async () => {
    const { client, other } = await pair();
    const seen: string[] = [];
    const first = () => seen.push('first');
    const second = () => seen.push('second');
    await client.addWatch('/', 'persistent', first);
    await client.addWatch('/', 'persistent', second);

    await other.setData('/', '1');
    await client.sync('/');
    await client.removeWatch('/', first);
    await other.setData('/', '2');
    await client.sync('/');
    await client.removeWatch('/', second);
    const eventsBefore = client.counters.events;
    await other.setData('/', '3');
    await client.sync('/');

    expect(seen).toEqual(['first', 'second', 'second']);
    expect(client.counters.events).toBe(eventsBefore);
  });

  it('catches up on one-shot watches after a reconnect and keeps persistent ones', async () => {
    const { client, other, proxy } = await pair();
    await other.ensurePath('/tree');
    await other.create('/n');
    const events: WatchEvent[] = [];
    await client.getData('/n', (event) => events.push(event));
    await client.exists('/later', (event) => events.push(event));
    await client.addWatch('/tree', 'persistent-recursive', (event) => events.push(event));
    proxy.refuse();
    await reaches(client, 'SUSPENDED');
    await other.setData('/n', 'changed meanwhile');
    await other.create('/later');
    await other.create('/tree/unseen');

    proxy.heal();
    await reaches(client, 'CONNECTED');
    await client.sync('/');
    await other.create('/tree/seen');
    await client.sync('/');

    expect(events).toEqual([
      { type: 'changed', path: '/n' },
      { type: 'created', path: '/later' },
      { type: 'created', path: '/tree/seen' },
    ]);
  });

  it('keeps persistent watches and drops one-shot ones when the session is lost', async () => {
    const { client, other, proxy } = await pair(3000);
    const events: WatchEvent[] = [];
    await other.ensurePath('/tree');
    await client.exists('/n', (event) => events.push(event));
    await client.addWatch('/tree', 'persistent-recursive', (event) => events.push(event));
    const lost = changesTo(client, 'LOST');
    proxy.refuse();
    await lost;
    proxy.heal();
    await reaches(client, 'CONNECTED');

    await other.create('/n');
    await other.create('/tree/x');
    await eventually(() => expect(events).toHaveLength(1));

    expect(events).toEqual([{ type: 'created', path: '/tree/x' }]);
  });

  it('refuses to mix one-shot and persistent watches on one path, which the server cannot', async () => {
    const { client } = await pair();
    await client.create('/n');
    await client.addWatch('/n', 'persistent-recursive', () => {});
    await client.exists('/one', () => {});

    await expect(client.getData('/n', () => {})).rejects.toMatchObject({ code: 'ZK_BAD_ARGUMENTS' });
    await expect(client.addWatch('/one', 'persistent-recursive', () => {})).rejects.toMatchObject({
      code: 'ZK_BAD_ARGUMENTS',
    });
    await expect(client.addWatch('/n', 'persistent', () => {})).rejects.toMatchObject({ code: 'ZK_BAD_ARGUMENTS' });
    await expect(client.getData('/n')).resolves.toBeDefined();
  });
});
