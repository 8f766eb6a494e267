import { decodeNode, nodeLockPath, nodePath, type NodeState } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { LauncherRooms } from '../../../test/support/launcher-rooms.js';
import { renewLogin } from './renew-login.js';

const LOGIN = { token: 'new' };

/** A node in this state, whose login is renewed. */
async function renewed(state: NodeState, provider: string | undefined, isLocked = false) {
  const { world } = await LauncherRooms.open();
  const { clock, other } = world;
  const id = await world.createNode({ state, externalId: 'i-1', connectionPort: { token: 'old' } });
  if (isLocked) {
    await clock.run(other.ensurePath(nodeLockPath(id)));
    await clock.run(other.create(`${nodeLockPath(id)}/lock__lock__`, '', { sequential: true }));
  }
  await world.pass(100);
  const before = world.context.mirror.nodes.get(id);
  const answer = await clock.run(renewLogin(world.context, provider ?? before?.provider ?? '', id, LOGIN));
  const { data, stat } = await clock.run(other.getData(nodePath(id)));
  return { answer, before, after: decodeNode(id, data, stat, clock.now()) };
}

it('replaces the login of a held node, and nothing else', async () => {
  const { answer, before, after } = await renewed('hold', undefined);

  expect(answer).toBe(true);
  expect(after).toMatchObject({ state: 'hold', connectionPort: LOGIN, stateTimeMs: before?.stateTimeMs });
});

it.each([
  ['is in use', 'in-use', undefined, false],
  ['is ready', 'ready', undefined, false],
  ['is locked', 'hold', undefined, true],
  ['is of another provider', 'hold', 'another', false],
] as const)('leaves a node alone that %s', async (_what, state, provider, isLocked) => {
  const { answer, after } = await renewed(state, provider, isLocked);

  expect([answer, after?.connectionPort]).toEqual([false, { token: 'old' }]);
});

it('leaves a node alone that another process locks meanwhile', async () => {
  const { world } = await LauncherRooms.open();
  const id = await world.createNode({ state: 'hold', connectionPort: { token: 'old' } });
  const provider = world.context.mirror.nodes.get(id)?.provider ?? '';

  expect(await world.clock.run(renewLogin(world.lockedMeanwhile(id), provider, id, LOGIN))).toBe(false);

  await world.pass(100);
  expect(world.context.mirror.nodes.get(id)?.connectionPort).toEqual({ token: 'old' });
});
