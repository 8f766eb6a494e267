import { beforeEach, expect, it } from 'vitest';
import { recordingLogger } from '../../test/support/clients.js';
import { LockMirror } from './lock-mirror.js';
import type { CachedPath } from './tree-layout.js';

const directory: CachedPath = { kind: 'lock', id: 'a', path: '/a/lock' };
const entry = (name: string): CachedPath => ({ kind: 'lock-entry', id: 'a', path: `/a/lock/${name}`, entry: name });

let locks: LockMirror;
let reported: number[];

beforeEach(() => {
  locks = new LockMirror(recordingLogger().logger);
  reported = [];
  locks.onChange((_id, contenders) => reported.push(contenders));
});

it('reports the number of contenders, but not the lock directory itself', () => {
  locks.changed(directory, true, false);
  locks.changed(entry('1'), true, false);
  locks.changed(entry('1'), true, false);
  locks.changed(entry('2'), true, false);
  locks.changed(entry('1'), false, false);
  locks.changed(entry('3'), false, false);

  expect(reported).toEqual([1, 2, 1]);
  expect(locks.hasDirectory('a')).toBe(true);
});

it('holds changes back while the record is being read, and later ones behind them', () => {
  locks.changed(entry('1'), true, true);
  locks.changed(entry('1'), false, false);
  locks.changed(entry('2'), true, false);
  expect([locks.contenders('a'), locks.queued]).toEqual([0, 1]);

  locks.release('a');

  expect(reported).toEqual([1]);
  expect([locks.contenders('a'), locks.queued]).toEqual([1, 0]);
});

it('replaces everything with the entries that were read, queued changes included', () => {
  locks.changed(entry('1'), true, false);
  locks.changed(entry('2'), true, true);

  locks.replace('a', ['3', '4']);
  locks.release('a');
  locks.replace('a', undefined);

  expect(reported).toEqual([1, 2, 0]);
  expect(locks.hasDirectory('a')).toBe(false);
});

it('forgets all contenders when the lock directory is removed', () => {
  locks.changed(entry('1'), true, false);
  locks.changed(directory, false, false);

  expect(reported).toEqual([1, 0]);
  expect([...locks.ids()]).toEqual([]);
});
