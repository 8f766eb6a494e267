import type { Acl } from '@nodepool/zk-protocol';
import type { StoredZnode } from '@nodepool/zk-protocol/embedded';
import { expect, it } from 'vitest';
import { useWorld } from '../../test/world.js';
import { copyZnodes, verifyCopy } from './copy-znodes.js';

const get = useWorld();
const OPEN: readonly Acl[] = [{ permissions: 31, scheme: 'world', id: 'anyone' }];
const READABLE: readonly Acl[] = [{ permissions: 1, scheme: 'world', id: 'anyone' }];

function znode(path: string, changes: Partial<StoredZnode> = {}): StoredZnode {
  return { path, data: Buffer.from(path), acl: OPEN, childrenCreated: 0, ...changes };
}

it('copies content, ACL and parents before children, and may be repeated', async () => {
  const znodes = [znode('/nodepool/a'), znode('/nodepool/a/b', { acl: READABLE })];

  await copyZnodes(get().zk, znodes);
  await copyZnodes(get().zk, [znode('/nodepool/a', { data: Buffer.from('new') })]);

  expect((await get().zk.getData('/nodepool/a')).data.toString()).toBe('new');
  expect((await get().zk.getData('/nodepool/a/b')).data.toString()).toBe('/nodepool/a/b');
  expect((await get().zk.getAcl('/nodepool/a/b')).acl).toMatchObject(READABLE);
});

it('makes new children continue the numbering, except those of locks', async () => {
  const znodes = [znode('/nodepool/many', { childrenCreated: 1_234 }), znode('/nodepool/lock', { childrenCreated: 9 })];

  await copyZnodes(get().zk, znodes);

  expect(await get().zk.create('/nodepool/many/', '', { sequential: true })).toBe('/nodepool/many/0000001234');
  expect(await get().zk.create('/nodepool/lock/', '', { sequential: true })).toBe('/nodepool/lock/0000000000');
});

it.each([
  ['is missing', (path: string) => get().zk.delete(path)],
  ['has other content', (path: string) => get().zk.setData(path, 'changed')],
])('names a copy that %s', async (what, change) => {
  const znodes = [znode('/nodepool/a'), znode('/nodepool/b')];
  await copyZnodes(get().zk, znodes);
  await expect(verifyCopy(get().zk, znodes)).resolves.toBeUndefined();

  await change('/nodepool/b');

  await expect(verifyCopy(get().zk, znodes)).rejects.toThrow(
    `1 of 2 znodes differ after the copy, e.g. /nodepool/b ${what}`,
  );
});

it('names a copy with another ACL', async () => {
  await copyZnodes(get().zk, [znode('/nodepool/a')]);

  await expect(verifyCopy(get().zk, [znode('/nodepool/a', { acl: READABLE })])).rejects.toThrow(
    '/nodepool/a has another ACL',
  );
});
