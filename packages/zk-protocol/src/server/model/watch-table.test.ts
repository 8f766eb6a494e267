import { beforeEach, expect, it } from 'vitest';
import { EventType } from './constants.js';
import { WatchTable } from './watch-table.js';

const [a, b] = ['a', 'b'].map((id) => ({ sessionId: 0n, auth: [{ scheme: 'ip', id }] }));
if (a === undefined || b === undefined) throw new Error('no connections');

let table: WatchTable;
const triggered = (path: string, type: 1 | 2 | 3 | 4 = EventType.changed) => [...(table.trigger(path, type) ?? [])];

beforeEach(() => {
  table = new WatchTable();
});

it('removes a one-shot watch when it fires', () => {
  table.add('/x', a, 'one-shot');
  table.add('/x', b, 'persistent');

  expect(triggered('/x')).toEqual([a, b]);
  expect(triggered('/x')).toEqual([b]);
  expect([table.size, table.pathCount]).toEqual([1, 1]);
});

it('replaces the mode of an earlier watch of the same connection', () => {
  table.add('/x', a, 'persistent-recursive');
  table.add('/x', a, 'one-shot');

  expect(triggered('/x/below')).toEqual([]);
  expect(triggered('/x')).toEqual([a]);
  expect(triggered('/x')).toEqual([]);
});

it('fires recursive watches for descendants, but not for lists of children', () => {
  table.add('/', a, 'persistent-recursive');
  table.add('/x', b, 'persistent-recursive');

  expect(triggered('/x/y/z')).toEqual([b, a]);
  expect(triggered('/xy')).toEqual([a]);
  expect(triggered('/x', EventType.children)).toEqual([]);
});

it('removes all watches of a connection', () => {
  for (const path of ['/x', '/y']) for (const connection of [a, b]) table.add(path, connection, 'persistent-recursive');

  table.removeAll(a);

  expect(triggered('/x/z')).toEqual([b]);
  expect(table.remove('/x', a)).toBe(false);
  expect([table.remove('/x', b), table.isWatched('/x'), table.isWatched('/y')]).toEqual([true, false, true]);
});
