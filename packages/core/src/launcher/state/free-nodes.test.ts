import { newNode, type NodeId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { FreeNodes } from './free-nodes.js';

const node = (id: string, ...labels: string[]) => ({ ...newNode({ state: 'ready', labels }, 0), id: id as NodeId });

describe('FreeNodes', () => {
  it('reports a node as new when its labels changed, so that requests for the new labels are considered', () => {
    const free = new FreeNodes();

    expect(free.put(node('1', 'medium'))).toBe(true);
    expect(free.put(node('1', 'medium'))).toBe(false);
    expect(free.put(node('1', 'small', 'large'))).toBe(true);
    expect([free.count('medium'), free.count('small'), free.size]).toEqual([0, 1, 1]);
  });

  const order = (nodes: readonly ReturnType<typeof node>[], asked: Record<string, number> = {}) => {
    const free = new FreeNodes();
    for (const each of nodes) free.put(each);
    return [...free.ofLabel('linux', (label) => asked[label] ?? 0)].map(({ id }) => id).join('');
  };
  const plain = (id: string) => node(id, 'linux');
  const big = (id: string) => node(id, 'linux', 'big');
  const gpu = (id: string) => node(id, 'gpu', 'linux');
  const both = (id: string) => node(id, 'big', 'linux', 'gpu');

  it.each([
    ['those that became free first', [plain('2'), plain('1'), plain('3')], {}, '213'],
    ['those without other labels', [big('1'), plain('2'), both('3'), plain('4')], {}, '2413'],
    ['those whose other labels no request waits for', [big('1'), gpu('2'), big('3'), gpu('4')], { big: 1 }, '2413'],
    ['those whose other labels are asked for least', [both('1'), gpu('2'), big('3')], { big: 1, gpu: 2 }, '321'],
    [
      'the oldest of equal ones, whatever their labels',
      [gpu('1'), big('2'), gpu('3'), big('4')],
      { big: 1, gpu: 1 },
      '1234',
    ],
    ['none without the label', [node('1', 'big')], {}, ''],
  ])('gives first %s', (_name, nodes, asked, expected) => {
    expect(order(nodes, asked)).toBe(expected);
  });

  it('keeps the place of a node whose record changes, and forgets those that are taken', () => {
    const free = new FreeNodes();
    for (const each of [plain('1'), big('2'), plain('3'), plain('1')]) free.put(each);
    const all = [...free.all()].map(({ id }) => id);

    for (const id of ['1', '2', '9'] as NodeId[]) free.delete(id);

    expect(all).toEqual(['1', '2', '3']);
    expect([...free.all()].map(({ id }) => id)).toEqual(['3']);
    expect([free.count('big'), free.count('linux'), free.has('1' as NodeId)]).toEqual([0, 1, false]);
  });
});
