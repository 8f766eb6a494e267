import { newRequest, type RequestFields, type RequestId, type RequestRecord } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { RequestQueue } from './queue.js';

let number = 0;
const request = (labels: readonly string[], fields: RequestFields = {}): RequestRecord => ({
  ...newRequest({ labels, ...fields }, 0),
  id: `200-${String(number++).padStart(10, '0')}` as RequestId,
});
const queue = () => new RequestQueue();

describe('the requests that wait for one pool', () => {
  it('are counted by label, each once for a label that it asks for several times', () => {
    const waiting = queue();
    const [first, second] = [request(['a', 'b', 'a']), request(['b'], { tenantName: 'one' })];
    for (const each of [first, second, request(['c'])]) waiting.put(each);
    const before = ['a', 'b', 'c', 'd'].map((label) => waiting.countOf(label));

    waiting.put({ ...first, labels: ['c'] }); // its record has changed
    waiting.remove(second.id);
    waiting.remove(second.id);
    const after = ['a', 'b', 'c', 'd'].map((label) => waiting.countOf(label));
    waiting.clear();

    expect(before).toEqual([1, 2, 1, 0]);
    expect(after).toEqual([0, 0, 2, 0]);
    expect(waiting.countOf('c')).toBe(0);
  });

  it('are one group as long as they want the same, in their order, and only a new head is reported', () => {
    const waiting = queue();
    const [first, second, third] = [request(['a', 'b']), request(['b', 'a']), request(['a', 'b'])];

    const heads = [second, first, third].map((each) => waiting.put(each));
    waiting.put(request(['a', 'b'], { tenantName: 'one' }));

    expect(heads).toEqual([true, true, false]);
    expect([...waiting.groups()].map(({ requests }) => requests.length)).toEqual([3, 1]);
    expect([...waiting.requests()].slice(0, 3)).toEqual([first, second, third]);
    expect(waiting.countAhead(third)).toBe(2);
    expect(waiting.remove(first.id)).toBe(true);
    expect(waiting.has(first.id)).toBe(false);
    expect(waiting.groupOf(second.id)).toBe(waiting.groupOf(third.id));
  });
});
