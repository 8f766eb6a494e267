import { expect, it } from 'vitest';
import { OPEN_ACL } from './acl.js';
import { CONTAINER_OWNER, ttlOwner } from './owners.js';
import { createZnode, statOf } from './znode.js';

it('counts each created child once in the child version, and each deleted child once more', () => {
  const node = { ...createZnode(null, OPEN_ACL, 0n, 1, 1000), childrenCreated: 5, children: new Set(['a', 'b']) };

  expect(statOf(node)).toMatchObject({ cversion: 8, numChildren: 2, dataLength: 0 });
});

it('wraps the child version like a 32-bit integer', () => {
  const node = { ...createZnode(null, OPEN_ACL, 0n, 1, 1000), childrenCreated: 2 ** 30 };

  expect(statOf(node).cversion).toBe(-(2 ** 31));
});

it.each([
  ['an ephemeral', 7n, 7n],
  ['a container', CONTAINER_OWNER, 0n],
  ['a TTL znode', ttlOwner(1000) ?? 0n, 0n],
  ['a plain znode', 0n, 0n],
])('shows the owner of %s to clients', (_kind, owner, shown) => {
  expect(statOf(createZnode(Buffer.from('öl'), OPEN_ACL, owner, 1, 1000))).toMatchObject({
    ...{ ephemeralOwner: shown, dataLength: 3, czxid: 1, mzxid: 1, pzxid: 1, ctime: 1000, version: 0 },
  });
});
