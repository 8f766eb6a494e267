import { expect, it } from 'vitest';
import { leaseFrom } from './types.js';

it('reads nodes of an older server, and members of a newer one', () => {
  const node = { id: '1', label: 'small', connection_type: 'ssh', new_member: 1 };

  const { nodes, expires } = leaseFrom({ id: 'a', state: 'active', ttl: 60, nodes: [node], expires: null });

  expect(nodes).toMatchObject([{ labels: ['small'], hostKeys: [], connectionType: 'ssh', newMember: 1, slot: null }]);
  expect(expires).toBeNull();
});
