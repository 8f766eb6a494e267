import { newNode, type NodeId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { FreeNodes } from './free-nodes.js';

const node = (labels: string[]) => ({ ...newNode({ state: 'ready', labels }, 0), id: '0000000001' as NodeId });

describe('FreeNodes', () => {
  it('says that a node is news when its labels changed, so that who waits for the new ones is told', () => {
    const free = new FreeNodes();

    expect(free.put(node(['medium']))).toBe(true);
    expect(free.put(node(['medium']))).toBe(false);
    expect(free.put(node(['small', 'large']))).toBe(true);
    expect([...free.ofLabel('medium')]).toEqual([]);
    expect([...free.ofLabel('small')]).toHaveLength(1);
  });
});
