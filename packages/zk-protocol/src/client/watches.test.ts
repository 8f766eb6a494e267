import { describe, expect, it } from 'vitest';
import type { WatchEvent } from './contract/types.js';
import { WatchRegistry } from './watches.js';

function told(registry: WatchRegistry, event: WatchEvent): number {
  let count = 0;
  registry.dispatch(event, () => (count += 1));
  return count;
}

describe('WatchRegistry', () => {
  it('tells recursive watches of the path and of every ancestor, the root included', () => {
    const registry = new WatchRegistry();
    for (const path of ['/', '/a', '/a/b', '/a/b/c', '/ab']) {
      registry.addPersistent(path, 'persistent-recursive', () => {});
    }

    expect(told(registry, { type: 'changed', path: '/a/b' })).toBe(3);
    expect(told(registry, { type: 'created', path: '/' })).toBe(1);
    expect(told(registry, { type: 'children', path: '/a/b' })).toBe(0);
  });

  it('tells a persistent watch of everything on its path alone', () => {
    const registry = new WatchRegistry();
    registry.addPersistent('/a', 'persistent', () => {});

    expect(told(registry, { type: 'children', path: '/a' })).toBe(1);
    expect(told(registry, { type: 'deleted', path: '/a' })).toBe(1);
    expect(told(registry, { type: 'changed', path: '/a/b' })).toBe(0);
  });

  it('fires all kinds of one-shot watches when a znode is deleted', () => {
    const registry = new WatchRegistry();
    registry.addOneShot('data', '/a', () => {});
    registry.addOneShot('children', '/a', () => {});

    expect(told(registry, { type: 'deleted', path: '/a' })).toBe(2);
    expect(told(registry, { type: 'deleted', path: '/a' })).toBe(0);
  });

  it('splits what has to be set again into packets below the server limit, losing nothing', () => {
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
