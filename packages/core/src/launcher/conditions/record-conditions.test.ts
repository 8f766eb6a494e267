import type { UnreadableRecord } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { unreadableRecords } from './record-conditions.js';

const record = (id: string, sinceMs: number): UnreadableRecord => ({
  ...{ id, sinceMs, legible: {} },
  error: new Error(`cannot read node ${id}: its body (9 bytes) is not JSON`),
});

it('names records that cannot be read, and how to remove the first one', () => {
  const found = unreadableRecords([record('0000000003', 2_000)], [record('200-0000000001', 1_000)]);

  expect(found).toEqual([
    {
      ...{ kind: 'zookeeper', name: 'ensemble', type: 'UnreadableRecords', severity: 'error', reason: 'Malformed' },
      message:
        'records that cannot be read are left as they are, and static slots that they may stand for are not registered: ' +
        '/nodepool/nodes/0000000003, /nodepool/requests/200-0000000001; ' +
        'cannot read node 0000000003: its body (9 bytes) is not JSON',
      nextStep:
        'repair the record with a client of ZooKeeper, or, once no job uses its machine, delete it: ' +
        'zkCli.sh deleteall /nodepool/nodes/0000000003',
      evidence: { nodes: 1, requests: 1 },
      sinceMs: 1_000,
    },
  ]);
});

it('says nothing while all records can be read', () => {
  expect(unreadableRecords([], [])).toEqual([]);
});

it('names some of ten thousand', () => {
  const nodes = Array.from({ length: 10_000 }, (_, index) => record(String(index).padStart(10, '0'), index));

  const [found] = unreadableRecords(nodes, []);

  expect(found?.message).toContain('/nodepool/nodes/0000000004 and 9995 more');
  expect(found?.message.length).toBeLessThan(1_000);
});
