import { newNode, type NodeId } from '@nodepool/zk-protocol';
import { expect, it, vi } from 'vitest';
import { LabelUse } from './label-use.js';

const node = (label: string, provider = 'cloud') => ({
  ...newNode({ state: 'building', provider, pool: 'main', labels: [label] }, 0),
  id: '0000000001' as NodeId,
});
const ofLabel = (use: LabelUse, wanted: string) => use.countNodes(({ label }) => label === wanted);

it('counts nodes of a label over all pools, and launches until their node has a record', () => {
  const use = new LabelUse();
  const recorded = use.promise({ provider: 'cloud', pool: 'main', label: 'big' });
  use.change(undefined, node('big', 'other'));

  expect(ofLabel(use, 'big')).toBe(2);

  use.change(undefined, node('big'));
  recorded();
  recorded();

  expect(ofLabel(use, 'big')).toBe(2);
  expect(ofLabel(use, 'small')).toBe(0);
});

it('tells of room when a node is gone, and not when only its state changes', () => {
  const use = new LabelUse();
  const room = vi.fn();
  use.onCapacity(room);
  const building = node('big');
  use.change(undefined, building);
  use.change(building, { ...building, state: 'ready' });
  const before = room.mock.calls.length;
  use.change(building, undefined);

  expect(before).toBe(0);
  expect(room).toHaveBeenCalledOnce();
  expect(ofLabel(use, 'big')).toBe(0);
});
