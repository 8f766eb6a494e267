import { describe, expect, it } from 'vitest';
import { readMask } from './fields-mask.js';
import { readFilter } from './filter.js';

const instance = { name: 'np1', labels: { team: 'ci', size: '10' }, insertTime: '2026-01-02T00:00:00Z' };

describe('a filter', () => {
  it.each([
    ['labels.team="ci"', true],
    ['labels.team=ci', true],
    ['labels.team="cd"', false],
    ['labels.owner="ci"', false],
    ['labels.owner!="ci"', true],
    ['labels.team="ci" AND name="np1"', true],
    ['(labels.team="ci") AND (name="np2")', false],
    ['insertTime="2026-01-02T00:00:00Z"', true],
    ['name>"np0"', true],
  ])('%s lets an instance pass: %s', (filter, passes) => {
    expect(readFilter(filter)(instance)).toBe(passes);
  });

  it.each(['labels.team', 'labels.team == ci', 'team=', 'a=1 && b=2', ''])('refuses "%s"', (filter) => {
    expect(() => readFilter(filter)).toThrow(/cannot be read/);
  });
});

it.each(['insertTime>"2026-01-01T00:00:00Z"', 'creationTimestamp<=2026', 'name="np1" AND endTime<"2026"'])(
  'the filter %s compares times, which the API refuses',
  (filter) => {
    expect(() => readFilter(filter)).toThrow(/is a time, which .* does not compare/);
  },
);

describe('a mask of fields', () => {
  const definitions = {
    List: { properties: { items: { items: { $ref: '#/definitions/Item' } }, next: { type: 'string' } } },
    Item: { properties: { name: { type: 'string' }, disk: { $ref: '#/definitions/Disk' }, zone: { type: 'string' } } },
    Disk: { properties: { size: { type: 'string' }, type: { type: 'string' } } },
  };
  const answer = { items: [{ name: 'a', zone: 'z', disk: { size: '1', type: 't' } }], next: 'p', kind: 'k' };

  it.each([
    ['next', { next: 'p' }],
    ['next,items(name,disk/size)', { next: 'p', items: [{ name: 'a', disk: { size: '1' } }] }],
    ['items/disk', { items: [{ disk: { size: '1', type: 't' } }] }],
  ])('%s cuts an answer down', (mask, cut) => {
    expect(readMask(mask, 'List', definitions)(answer)).toEqual(cut);
  });

  it.each(['nxt', 'items(nme)', 'items(disk/sze)', 'items(name', 'items,', 'next)'])('%s is refused', (mask) => {
    expect(() => readMask(mask, 'List', definitions)).toThrow(/fields/);
  });
});
