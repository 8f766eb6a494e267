import { expect, it } from 'vitest';
import { OPEN_ACL } from './acl.js';
import { DataTree, type TreeChange, type Undo } from './data-tree.js';
import { CONTAINER_OWNER, ttlOwner } from './owners.js';
import { statOf } from './znode.js';

const create = (path: string, owner = 0n): TreeChange => ({ change: 'create', path, data: null, acl: OPEN_ACL, owner });

function treeWith(...changes: TreeChange[]): DataTree {
  const tree = new DataTree();
  changes.forEach((change, index) => tree.apply(change, index + 1, 1000));
  return tree;
}

/** Everything that {@link DataTree.apply} may change. */
const contentOf = (tree: DataTree) => ({
  znodes: [...tree.entries()].map(([path, node]) => [path, statOf(node), node.data, node.acl]).sort(),
  ephemerals: [...tree.ephemeralOwners()].map(([id, paths]) => [id, [...paths]]),
  ephemeralLength: tree.ephemeralLengthOf(7n),
  containers: [...tree.containers()],
  ttl: [...tree.ttlNodes()],
});

it('reverts changes of every kind', () => {
  const tree = treeWith(create('/a'), create('/a/b', 7n), create('/c', CONTAINER_OWNER), create('/t', ttlOwner(5)));
  const before = contentOf(tree);
  const undo: Undo[] = [];

  tree.apply({ change: 'setData', path: '/a', data: Buffer.from('x'), version: 1 }, 9, 2000, undo);
  tree.apply({ change: 'setAcl', path: '/a', acl: [], version: 1 }, 9, 2000, undo);
  tree.apply({ change: 'delete', path: '/a/b' }, 9, 2000, undo);
  tree.apply({ change: 'delete', path: '/c' }, 9, 2000, undo);
  tree.apply({ change: 'delete', path: '/t' }, 9, 2000, undo);
  tree.apply(create('/a/new', 7n), 9, 2000, undo);
  expect(contentOf(tree)).not.toEqual(before);
  for (const revert of undo.reverse()) revert();

  expect(contentOf(tree)).toEqual(before);
});

it('indexes ephemerals by session, with the length of their paths', () => {
  const tree = treeWith(create('/a', 7n), create('/bc', 7n), create('/other', 8n));

  expect([...tree.ephemeralsOf(7n)]).toEqual(['/a', '/bc']);
  expect([tree.ephemeralCount, tree.ephemeralLengthOf(7n)]).toEqual([3, 5]);
  tree.apply({ change: 'delete', path: '/a' }, 9, 2000);
  tree.apply({ change: 'delete', path: '/bc' }, 9, 2000);

  expect([...tree.ephemeralOwners()].map(([id]) => id)).toEqual([8n]);
  expect(tree.ephemeralLengthOf(7n)).toBe(0);
});

it('shows each znode to a snapshot before it changes', () => {
  const tree = treeWith(create('/a'), create('/b'));
  const seen: string[] = [];
  tree.beforeChange = (path, node) => seen.push(`${path} ${node.mzxid}`);

  tree.apply({ change: 'setData', path: '/a', data: null, version: 1 }, 9, 2000);
  tree.apply({ change: 'delete', path: '/b' }, 10, 2000);

  expect(seen).toEqual(['/a 1', '/b 2', '/ 0']);
});

it('rebuilds its indexes from restored znodes', () => {
  const source = treeWith(create('/a'), create('/a/e', 7n), create('/c', CONTAINER_OWNER));
  const restored = new DataTree();

  for (const [path, node] of source.entries()) restored.restore(path, { ...node, children: undefined });
  restored.linkRestored();

  expect(contentOf(restored)).toEqual(contentOf(source));
});

it('rejects a change of a znode that does not exist', () => {
  expect(() => treeWith({ change: 'delete', path: '/missing' })).toThrow(/the data is inconsistent/);
});
