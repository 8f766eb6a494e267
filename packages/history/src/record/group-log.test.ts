import { beforeEach, expect, it } from 'vitest';
import { GroupLog, type Membership } from './group-log.js';

let group: GroupLog;
let emptied: number;

beforeEach(() => {
  emptied = 0;
  group = new GroupLog('cloud/main', 'small', () => emptied++);
});

const shown = (membership: Membership) =>
  group.eventsOf(membership).map(({ timeMs, what, rule, text }) => [timeMs, what, rule, text]);

it('holds no events for a request that left before any planning pass', () => {
  const member = group.join(5);

  expect(group.leave('r1', member)).toEqual([]);
  expect(emptied).toBe(1);
});

it('gives a request the rule in force when it joined, from its own start on', () => {
  const first = group.join(0);
  group.waits(10, 'pool-full', 'full', 'r1');
  first.firstMs = 10;
  const second = group.join(30);

  expect(shown(first)).toEqual([[10, 'waits', 'pool-full', 'full']]);
  expect(shown(second)).toEqual([[30, 'behind', 'pool-full', 'behind r1: full']]);
});

it('names the request ahead until the member becomes the first itself', () => {
  const member = group.join(0);
  expect(group.waits(0, 'pool-full', 'full', 'r1')).toBe(true);
  expect(group.waits(20, 'label-quota', 'none', 'r1')).toBe(false);
  expect(group.waits(40, 'pool-full', 'full', 'r2')).toBe(true);
  member.firstMs = 40;

  expect(shown(member)).toEqual([
    [0, 'behind', 'pool-full', 'behind r1: full'],
    [20, 'behind', 'label-quota', 'behind r1: none'],
    [40, 'waits', 'pool-full', 'full'],
  ]);
});

it('divides the time of one rule at the moment when the member becomes the first', () => {
  const member = group.join(0);
  group.waits(0, 'pool-full', 'full', 'r1');
  group.waits(20, 'pool-full', 'still full', 'r2');
  member.firstMs = 20;

  expect(shown(member)).toEqual([
    [0, 'behind', 'pool-full', 'behind r1: still full'],
    [20, 'waits', 'pool-full', 'still full'],
  ]);
});

const change = (i: number) => group.waits(i, i % 2 === 0 ? 'pool-full' : 'label-quota', 'text', 'r1');

it('limits its length, keeping the newest changes', () => {
  const member = group.join(0);
  for (let i = 0; i < 1_000; i++) change(i);
  const events = shown(member);

  expect(events).toHaveLength(300);
  expect(events.slice(0, 2).map((event) => event.slice(0, 3))).toEqual([
    [0, 'behind', 'pool-full'],
    [701, 'behind', 'label-quota'],
  ]);
  expect(events.at(-1)?.slice(0, 3)).toEqual([999, 'behind', 'label-quota']);
});

it('gives a request that joins a long log the rule in force, and each later one', () => {
  for (let i = 0; i < 1_000; i++) change(i);
  const member = group.join(1_000);
  for (let i = 1_000; i < 1_010; i++) change(i);

  expect(shown(member).map((event) => event.slice(0, 3))).toEqual(
    [1_000, ...Array.from({ length: 9 }, (_, i) => 1_001 + i)].map((i) => [
      i,
      'behind',
      i % 2 === 0 ? 'pool-full' : 'label-quota',
    ]),
  );
});

it('is emptied when the last request leaves, and forgets its first request when that one leaves', () => {
  const [one, two] = [group.join(0), group.join(0)];
  group.waits(1, 'pool-full', 'full', 'r1');
  group.leave('r1', one);

  expect([group.first, emptied]).toEqual([undefined, 0]);
  group.leave('r2', two);
  expect(emptied).toBe(1);
});
