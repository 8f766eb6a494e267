import { requestLockPath, type RequestId } from '@nodepool/zk-protocol';
import { beforeEach, describe, expect, it } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { DelayedUnlocks } from './delayed-unlocks.js';

describe('the lock of a fulfilled request', () => {
  let world: ServiceWorld;
  let unlocks: DelayedUnlocks;

  beforeEach(async () => {
    world = await ServiceWorld.open();
    unlocks = new DelayedUnlocks(world.context);
  });

  async function lock(id: string): Promise<string> {
    const { zk, clock } = world;
    const root = requestLockPath(id as RequestId);
    await clock.run(zk.ensurePath(root));
    return clock.run(zk.create(`${root}/0123__lock__`, '', { ephemeral: true, sequential: true }));
  }

  const isHeld = async (entry: string) => (await world.clock.run(world.other.exists(entry))) !== undefined;

  it('is kept for half a second, and given up within one', async () => {
    const entry = await lock('200-1');
    unlocks.keep(entry);

    await world.pass(480);
    expect(await isHeld(entry)).toBe(true);
    await world.pass(620);

    expect(await isHeld(entry)).toBe(false);
  });

  it('is given up although another one is gone already', async () => {
    const entries = [await lock('200-1'), await lock('200-2'), await lock('200-3')];
    for (const entry of entries) unlocks.keep(entry);
    await world.clock.run(world.other.delete(entries[1] ?? ''));

    await world.clock.run(unlocks.drain());

    expect(await Promise.all(entries.map(isHeld))).toEqual([false, false, false]);
  });

  it('is given up although the connection breaks meanwhile', async () => {
    const entry = await lock('200-1');
    unlocks.keep(entry);
    world.loseAnswer((write) => write === `delete ${entry}`);

    await world.pass(3_000);

    expect(world.breaks).toBe(1);
    expect(await isHeld(entry)).toBe(false);
  });

  it('is no concern of ours in another session', async () => {
    const entry = await lock('200-1');
    unlocks.keep(entry);
    world.loseSession();
    await world.pass(60_000);
    const newEntry = await lock('200-1');

    expect(await isHeld(newEntry)).toBe(true);
  });
});
