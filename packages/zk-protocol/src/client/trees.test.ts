import { expect, it } from 'vitest';
import { World } from '../../test/support/world.js';
import { ZooKeeperError } from './contract/errors.js';
import { deleteTree, ensurePath } from './trees.js';

const world = new World();

it('creates missing parents, the chroot included', async () => {
  const client = await world.session();

  await client.ensurePath('/a/b/c');
  await client.ensurePath('/a/b/c');

  expect(await client.exists('/a/b/c')).toBeDefined();
});

it('deletes a large tree, and does nothing if it is gone', async () => {
  const client = await world.connected();
  await client.ensurePath('/t/a/b/c');
  await Promise.all(Array.from({ length: 1200 }, (_, i) => client.create(`/t/a/${i}`)));

  await client.deleteRecursive('/t');
  await client.deleteRecursive('/t');

  expect(await client.getChildren('/')).toEqual([]);
});

it('needs no permission on existing parents', async () => {
  const created: string[] = [];
  const refusing = {
    exists: () => Promise.resolve(undefined),
    create: (path: string) => {
      created.push(path);
      return path === '/a' ? Promise.reject(new ZooKeeperError('ZK_NO_AUTH', 'no permission')) : Promise.resolve(path);
    },
  };

  await ensurePath(refusing, '/a/b');

  expect(created).toEqual(['/a', '/a/b']);
  await expect(ensurePath(refusing, '/a')).rejects.toMatchObject({ code: 'ZK_NO_AUTH' });
});

it('gives up on a tree to which other clients keep adding children', async () => {
  let deletes = 0;
  const busy = {
    getChildren: () => Promise.resolve([]),
    multi: () => {
      deletes += 1;
      return Promise.reject(new ZooKeeperError('ZK_NOT_EMPTY', 'not empty'));
    },
  };

  await expect(deleteTree(busy, '/a')).rejects.toMatchObject({ code: 'ZK_NOT_EMPTY', path: '/a' });

  expect(deletes).toBe(10);
});
