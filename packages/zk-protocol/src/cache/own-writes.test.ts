import { beforeEach, describe, expect, it } from 'vitest';
import type { Operation, OperationResult, Stat } from '../client/contract/types.js';
import { OwnWrites } from './own-writes.js';

const PREFIX = '/nodes/';
const stat = {} as Stat;
const create: Operation = { op: 'create', path: PREFIX, sequential: true };
const set: Operation = { op: 'set', path: '/nodes/0000000001', data: 'x' };
const created = (number: number): OperationResult => ({ op: 'create', path: pathOf(number), stat });
const pathOf = (number: number): string => PREFIX + String(number).padStart(10, '0');

describe('OwnWrites', () => {
  let read: string[];
  let foreign: string[];
  let own: OwnWrites;

  beforeEach(() => {
    read = [];
    foreign = [];
    own = new OwnWrites(
      { contains: () => true },
      (path) => read.push(path),
      (path) => foreign.push(path),
    );
  });

  const begin = (operation: Operation) => {
    const write = own.begin([operation]);
    if (write === undefined) throw new Error('the operation does not concern the cache');
    return write;
  };

  it('reads the path again when one of two commits was rejected', () => {
    const refused = begin(set);
    const accepted = begin(set);
    own.count(set.path, false);

    own.fail(refused, false);
    const { effects, unsure } = own.succeed(accepted, [{ op: 'set', stat }]);

    expect(effects.map(({ path }) => path)).toEqual([set.path]);
    expect([...unsure]).toEqual([set.path]);
  });

  it('holds back a foreign path only until the creates sent before its event are answered', () => {
    const first = begin(create);
    own.count(pathOf(7), true);
    const second = begin(create);

    own.succeed(first, [created(8)]);

    expect(foreign).toEqual([pathOf(7)]);
    own.succeed(second, [created(9)]);
    expect([read, foreign]).toEqual([[], [pathOf(7)]]);
  });

  it('holds back events of a path that may be its own, but not of paths that existed before', () => {
    const write = begin(create);

    expect(own.count(pathOf(6), false)).toBe(false);
    expect(own.count(pathOf(7), true)).toBe(true);
    expect(own.count(pathOf(7), false)).toBe(true);

    expect([...own.succeed(write, [created(7)]).unsure]).toEqual([pathOf(7)]);
    expect([read, foreign]).toEqual([[], []]);
  });

  it('counts held back paths', () => {
    const write = begin(create);
    own.count(pathOf(7), true);
    expect(own.deferred).toBe(1);

    own.fail(write, false);

    expect(own.deferred).toBe(0);
    expect(foreign).toEqual([pathOf(7)]);
  });
});
