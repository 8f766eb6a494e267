import { expect, it } from 'vitest';
import { useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call(...argv);

it('shows details of a provider', async () => {
  const id = await get().createNode();
  await get().createNode({ provider: 'other' });
  await get().zk.ensurePath('/nodepool/images/debian/builds/b1/providers/rack/images/0000000003');

  const { stdout } = await call('info', 'rack');

  expect(stdout.split('\n')).toEqual([
    'ZooKeeper data for provider rack',
    '',
    'Image data:',
    '+------------+----------+------------+',
    '| Image Name | Build ID | Upload IDs |',
    '+------------+----------+------------+',
    '| debian     | b1       | 0000000003 |',
    '+------------+----------+------------+',
    '',
    'Nodes:',
    '+------------+-----------+',
    '| ID         | Server ID |',
    '+------------+-----------+',
    `| ${id} | host1     |`,
    '+------------+-----------+',
    '',
  ]);
});
