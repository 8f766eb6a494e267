import { DATABASE_ID_PATH } from '@nodepool/zk-protocol';
import { beforeEach, expect, it } from 'vitest';
import { useWorld } from '../../test/world.js';
import { MoveTarget } from './move-target.js';

const get = useWorld();
let target: MoveTarget;
beforeEach(() => {
  target = new MoveTarget(get().zk, 'move-1', 'zk1:2181');
});

const last = { path: DATABASE_ID_PATH, data: Buffer.from('c'.repeat(32)), acl: [], childrenCreated: 0 };

it('reports the progress of a move', async () => {
  const states = [await target.progress()];
  await target.begin();
  states.push(await target.progress());
  await target.complete(last);
  states.push(await target.progress());
  await target.forget();

  expect(states).toEqual(['none', 'started', 'complete']);
  await expect(target.progress()).rejects.toThrow(
    `the ensemble zk1:2181 already holds data of Nodepool: ${DATABASE_ID_PATH}.`,
  );
});

it('refuses an ensemble with records of another database, and names some', async () => {
  for (const name of ['a', 'b', 'c', 'd']) await get().zk.create(`/nodepool/nodes/${name}`, '{}');

  await expect(target.progress()).rejects.toThrow(
    'already holds data of Nodepool: /nodepool/nodes/a, /nodepool/nodes/b, /nodepool/nodes/c, .... Nothing was changed there',
  );
});

it('refuses the ensemble of another move, and one whose services are running', async () => {
  await new MoveTarget(get().zk, 'move-2', 'zk1:2181').begin();
  await expect(target.progress()).rejects.toThrow('already holds data of Nodepool: /nodepool/moving');
  await get().zk.delete('/nodepool/moving');
  await target.begin();
  await get().registerRack(['small']);

  await expect(target.progress()).rejects.toThrow(/already holds data of Nodepool: .*\/nodepool\/components\/pool\//);
  expect(await target.users()).toEqual([expect.stringMatching(/^\/nodepool\/components\/pool\//)]);
});

it('removes what an interrupted copy left', async () => {
  await target.begin();
  await get().zk.ensurePath('/nodepool/images/debian');

  await target.begin();

  expect(await get().zk.getChildren('/nodepool')).toEqual(['moving']);
});

it('refuses to complete a copy when a service has made an id meanwhile', async () => {
  await target.begin();
  await get().zk.create(DATABASE_ID_PATH, 'd'.repeat(32));

  await expect(target.complete(last)).rejects.toThrow('a service was started on zk1:2181 before the copy was complete');

  expect((await get().zk.getData(DATABASE_ID_PATH)).data.toString()).toBe('d'.repeat(32));
});

it('deletes the id of the moved database, and no other, when the copy is given up', async () => {
  await target.begin();
  await target.complete(last);

  await target.giveUp('d'.repeat(32));
  expect(await get().zk.exists(DATABASE_ID_PATH)).toBeDefined();
  expect(await get().zk.exists('/nodepool/moving')).toBeUndefined();
  await target.giveUp('c'.repeat(32));

  expect(await get().zk.exists(DATABASE_ID_PATH)).toBeUndefined();
});
