import { expect, it } from 'vitest';
import { nodeLockPath, ZkLock } from '@nodepool/zk-protocol';
import { useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call(...argv);

it.each([
  ['delete', 'deleting'],
  ['hold', 'hold'],
])('%s changes the state and lists the node', async (command, state) => {
  const id = await get().createNode();

  const { status, stdout } = await call(command, id);

  expect(status).toBe(0);
  expect(stdout).toMatch(new RegExp(`\\| ${id} .*\\| ${state} .*\\| unlocked \\|`));
});

it('reports an unknown node with status 0, or 1 when strict', async () => {
  const lenient = await call('delete', '0000000099');
  const strict = await call('hold', '0000000099', '--strict');

  expect(lenient).toMatchObject({ status: 0, stdout: 'Node id 0000000099 not found\n' });
  expect(strict).toMatchObject({ status: 1, stderr: 'nodepool: Node id 0000000099 not found\n' });
});

it.each(['hold', 'delete'])('%s warns beside the output that it has done nothing', async (command) => {
  const id = await get().createNode();
  const short = String(Number(id));

  expect((await call(command, '0000000099')).stderr).toContain(
    'nodepool: nothing was done: there is no node 0000000099\n',
  );
  expect((await call(command, short)).stderr).toContain(`there is no node ${short}, did you mean ${id}?`);
});

it('names the holder of a locked node', async () => {
  const id = await get().createNode({ state: 'in-use' });
  const lock = new ZkLock(get().zk, nodeLockPath(id), { identifier: 'zuul@executor' });
  await lock.acquire();

  const { status, stderr } = await call('delete', id);

  expect(status).toBe(1);
  expect(stderr).toMatch(new RegExp(`Node ${id} is locked \\(state in-use, held by session 0x.* "zuul@executor"\\)`));
});

it.each([
  [
    'a backing node',
    'NodePool:metastatic:m',
    /metastatic provider "m" gives it back once .*configure it again.*delete the entry (\S+) in ZooKeeper and repeat/,
  ],
  ['something unknown', 'reservation', /if its owner is gone for good, delete the entry (\S+) in ZooKeeper and repeat/],
])('says whose persistent lock %s has, and how to end it', async (_what, owner, remedy) => {
  const id = await get().createNode({ state: 'in-use' });
  const lock = new ZkLock(get().zk, nodeLockPath(id), { identifier: owner, ephemeral: false });
  await lock.acquire();

  const refused = await call('delete', id);
  await get().zk.delete(remedy.exec(refused.stderr)?.[1] ?? '');
  const repeated = await call('delete', id);

  expect(refused.status).toBe(1);
  expect(refused.stderr).toMatch(
    new RegExp(
      `Node ${id} is locked \\(state in-use, a persistent lock of "${owner}" since 20.*\\); gave up after 5 s\\. `,
    ),
  );
  expect(refused.stderr).not.toContain('session 0x');
  expect(repeated.status).toBe(0);
});
