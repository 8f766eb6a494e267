import { expect, it } from 'vitest';
import { nodeLockPath, ZkLock } from '@nodepool/zk-protocol';
import type { RequestId } from '@nodepool/zk-protocol';
import { condition, useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call(...argv);

it('lists labels with numbers of nodes', async () => {
  await get().registerRack(['small', 'big']);
  await get().createNode();
  await get().createNode({ slot: 1, allocatedTo: '200-1' as RequestId });
  await get().createNode({ slot: 2, state: 'building' });
  await get().createNode({ slot: 3, state: 'in-use', labels: ['small', 'gone'] });
  await get().createNode({ slot: 4, state: 'hold' });
  const locked = await get().createNode({ slot: 5 });
  await new ZkLock(get().zk, nodeLockPath(locked)).acquire();
  await get().createRequest(['big', 'big', 'small']);
  await get().createRequest(['big'], { state: 'failed' });

  const { stdout } = await call('labels');

  expect(stdout.split('\n')).toEqual([
    '+-------+-------+----------+--------+------+------------------+-----------+-----------+',
    '| Label | Ready | Building | In Use | Hold | Requests Waiting | Pools     | Condition |',
    '+-------+-------+----------+--------+------+------------------+-----------+-----------+',
    '| big   | 0     | 0        | 0      | 0    | 1                | rack/main |           |',
    '| gone  | 0     | 0        | 1      | 0    | 0                |           |           |',
    '| small | 1     | 1        | 3      | 1    | 1                | rack/main |           |',
    '+-------+-------+----------+--------+------+------------------+-----------+-----------+',
    '',
  ]);
});

it('shows the condition of a label, also of one without a pool', async () => {
  await get().registerRack(['small']);
  await get().register('launcher', {
    conditions: [condition('StandbyMissing', 'small', 'it has none'), condition('NotServed', 'huge', 'no pool has it')],
  });

  const { stdout } = await get().call('labels', '--json');

  expect(JSON.parse(stdout)).toMatchObject([
    { label: 'huge', pools: [], condition: 'no pool has it' },
    { label: 'small', condition: 'it has none' },
  ]);
});
