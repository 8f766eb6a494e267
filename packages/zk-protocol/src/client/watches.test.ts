import { describe, expect, it } from 'vitest';
import { changesTo, eventually, reaches } from '../../test/support/clients.js';
import { World } from '../../test/support/world.js';
import type { WatchEvent } from './contract/types.js';
import { WatchRegistry } from './watches.js';

function listenersCalled(registry: WatchRegistry, event: WatchEvent): number {
  let count = 0;
  registry.dispatch(event, () => (count += 1));
  return count;
}

describe('WatchRegistry', () => {
  it('passes events to recursive watches of the path and of all ancestors', () => {
    const registry = new WatchRegistry();
    for (const path of ['/', '/a', '/a/b', '/a/b/c', '/ab']) {
      registry.addPersistent(path, 'persistent-recursive', () => {});
    }

    expect(listenersCalled(registry, { type: 'changed', path: '/a/b' })).toBe(3);
    expect(listenersCalled(registry, { type: 'created', path: '/' })).toBe(1);
    expect(listenersCalled(registry, { type: 'children', path: '/a/b' })).toBe(0);
  });

  it('passes only events of its own path to a persistent watch', () => {
    const registry = new WatchRegistry();
    registry.addPersistent('/a', 'persistent', () => {});

    expect(listenersCalled(registry, { type: 'children', path: '/a' })).toBe(1);
    expect(listenersCalled(registry, { type: 'deleted', path: '/a' })).toBe(1);
    expect(listenersCalled(registry, { type: 'changed', path: '/a/b' })).toBe(0);
  });

  it('fires all kinds of one-shot watches when a znode is deleted', () => {
    const registry = new WatchRegistry();
    registry.addOneShot('data', '/a', () => {});
    registry.addOneShot('children', '/a', () => {});

    expect(listenersCalled(registry, { type: 'deleted', path: '/a' })).toBe(2);
    expect(listenersCalled(registry, { type: 'deleted', path: '/a' })).toBe(0);
  });

  it('splits all watches into packets below the server limit', () => {
    const registry = new WatchRegistry();
    const names = Array.from({ length: 5000 }, (_, i) => `/${'x'.repeat(50)}${i}`);
    for (const name of names) registry.addOneShot('data', name, () => {});
    registry.addPersistent('/tree', 'persistent-recursive', () => {});

    const packets = [...registry.packets((path) => `/chroot${path}`)];

    const sizes = packets.map(({ data }) => data.reduce((sum, path) => sum + path.length + 4, 0));
    expect(Math.max(...sizes)).toBeLessThan(100_000);
    expect(packets.flatMap(({ data }) => data)).toEqual(names.map((name) => `/chroot${name}`));
    expect(packets.flatMap(({ recursive }) => recursive)).toEqual(['/chroot/tree']);
  });
});

describe('watches on a server', () => {
  const world = new World({ tickMs: 200, minSessionTimeoutMs: 600 });

  /** A client behind a proxy, and another one. */
  async function pair(sessionTimeoutMs = 20_000) {
    const { proxy, client } = await world.proxied(sessionTimeoutMs);
    return { proxy, client, other: await world.session() };
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

  it('reports a change before the call that made it resolves', async () => {
    const { client } = await pair();
    const order: string[] = [];
    await client.addWatch('/', 'persistent-recursive', ({ type, path }) => order.push(`${type} ${path}`));

    await client.create('/x').then(() => order.push('resolved'));

    expect(order).toEqual(['created /x', 'resolved']);
  });

  it('reports all changes below a recursive watch, one event per operation of a multi', async () => {
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

  it('fires one-shot watches after a reconnect and keeps persistent ones', async () => {
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

  it('rejects one-shot and persistent watches on one path, which the server cannot keep apart', async () => {
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
