import { nodeLockPath, nodePath, type RequestId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import type { Provider } from '../../contract/driver.js';
import { ProviderUnavailableError } from '../../contract/errors.js';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { FIRST_POOL_PAUSE_MS } from '../steering/first-pool.js';
import { Reaper } from './reaper.js';

const provider: Pick<Provider, 'startNodeCleanup'> = { startNodeCleanup: () => undefined };

/** A used node with an instance, about to be deleted. @param others - which launcher is the first, and what deletes */
async function usedNode(others = { areFirst: false }, deletedBy = provider) {
  const world = await ServiceWorld.open();
  const id = await world.createNode({ state: 'used', externalId: 'i-1' });
  const session = world.zk.sessionId;
  const reaper = new Reaper(world.services, {
    providerOf: () => deletedBy as Provider,
    isActive: () => true,
    isOthersFirst: () => others.areFirst,
  });
  return {
    world,
    id,
    reaper,
    exists: () => world.clock.run(world.other.exists(nodePath(id))),
    entries: () => world.clock.run(world.other.getChildren(nodeLockPath(id))),
    sameSession: () => world.zk.sessionId === session,
  };
}

describe('a deletion whose connection breaks', () => {
  it('keeps no lock and continues when the transaction that removes the node is lost', async () => {
    const { world, id, reaper, exists, entries, sameSession } = await usedNode();
    world.loseRequest((write) => write === `delete ${nodePath(id)}`);

    expect(reaper.consider(id)).toBe(true);
    await world.pass(25);
    expect(await entries()).toHaveLength(1);
    await world.pass(60_000);

    expect(await exists()).toBeUndefined();
    expect([world.breaks, sameSession()]).toEqual([1, true]);
    expect(reaper.failing()).toEqual([]);
  });

  it('keeps no lock and continues when it is unknown whether the node was locked', async () => {
    const { world, id, reaper, exists, sameSession } = await usedNode();
    world.loseAnswer((write) => write.startsWith(`create ${nodeLockPath(id)}/`));

    reaper.consider(id);
    await world.pass(60_000);

    expect(await exists()).toBeUndefined();
    expect([world.breaks, sameSession()]).toEqual([1, true]);
  });

  it('has ended when only the answer is lost', async () => {
    const { world, id, reaper, exists, sameSession } = await usedNode();
    world.loseAnswer((write) => write === `delete ${nodePath(id)}`);

    reaper.consider(id);
    await world.pass(60_000);

    expect(await exists()).toBeUndefined();
    expect([world.breaks, sameSession()]).toEqual([1, true]);
    expect(reaper.failing()).toEqual([]);
  });
});

describe('a deletion that fails', () => {
  it('is forgotten when another launcher deletes the node during the attempt', async () => {
    let fail = (_error: Error) => {};
    const slow: typeof provider = {
      startNodeCleanup: () => new Promise<never>((_resolve, reject) => (fail = reject)),
    };
    const { world, id, reaper } = await usedNode({ areFirst: false }, slow);
    reaper.consider(id);
    await world.pass(1_000);

    await world.clock.run(world.other.deleteRecursive(nodePath(id)));
    await world.pass(50);
    fail(new Error('no answer'));
    await world.pass(1_000);

    expect(reaper.failing()).toEqual([]);
  });
});

describe('a node that another launcher is the first to take back', () => {
  it('is left to it for a moment, and then taken back all the same', async () => {
    const { world, id, reaper, exists } = await usedNode({ areFirst: true });

    expect(reaper.consider(id)).toBe(false);
    await world.pass(FIRST_POOL_PAUSE_MS - 10);
    expect(await exists()).toBeDefined();
    await world.pass(1_000);

    expect(await exists()).toBeUndefined();
  });

  it('is taken back at once when the other has left', async () => {
    const others = { areFirst: true };
    const { world, id, reaper, exists } = await usedNode(others);
    reaper.consider(id);

    others.areFirst = false;

    expect(reaper.consider(id)).toBe(true);
    await world.pass(FIRST_POOL_PAUSE_MS / 2);
    expect(await exists()).toBeUndefined();
  });

  it('is forgotten when the other has taken it back', async () => {
    const { world, id, reaper } = await usedNode({ areFirst: true });
    reaper.consider(id);
    const before = world.clock.pendingTimers;

    await world.clock.run(world.other.delete(nodePath(id)));
    await world.pass(50);

    expect(world.clock.pendingTimers).toBeLessThan(before);
  });
});

describe('a record that its launcher is about to lock', () => {
  async function newRecord(clockOfOthersMs: number) {
    const world = await ServiceWorld.open();
    const reaper = new Reaper(world.services, {
      providerOf: () => provider as Provider,
      isActive: () => true,
      isOthersFirst: () => false,
    });
    const stateTimeMs = world.clock.now() + clockOfOthersMs;
    const id = await world.createNode({ state: 'init', allocatedTo: '200-0000000001' as RequestId, stateTimeMs });
    return { world, reaper, exists: () => world.clock.run(world.other.exists(nodePath(id))) };
  }

  it.each([-3_600_000, 0, 3_600_000])(
    'is kept for a minute when the clock of its launcher is %i ms off',
    async (ms) => {
      const { world, reaper, exists } = await newRecord(ms);

      await world.pass(50_000);
      reaper.sweep();
      await world.pass(1_000);
      expect(await exists()).toBeDefined();

      await world.pass(30_000);
      reaper.sweep();
      await world.pass(1_000);
      expect(await exists()).toBeUndefined();
    },
  );
});

describe('a deletion that fails', () => {
  async function failing() {
    const world = await ServiceWorld.open();
    const id = await world.createNode({ state: 'used', externalId: 'i-1' });
    const refuse = () => Promise.reject(new ProviderUnavailableError('the cloud hangs'));
    const reaper = new Reaper(world.services, {
      providerOf: () => ({ startNodeCleanup: refuse }) as unknown as Provider,
      isActive: () => true,
      isOthersFirst: () => false,
    });
    reaper.consider(id);
    await world.pass(100);
    return { world, id, reaper };
  }

  it('is told with the class of its error and when that was', async () => {
    const { id, reaper } = await failing();

    expect(reaper.failing()).toMatchObject([
      { nodeId: id, attempts: 1, error: 'the cloud hangs', reason: 'Unavailable' },
    ]);
    expect(reaper.failing()[0]?.failedMs).toBeGreaterThan(0);
  });

  it('is forgotten when another launcher has deleted the node', async () => {
    const { world, id, reaper } = await failing();

    await world.clock.run(world.other.deleteRecursive(nodePath(id)));
    await world.pass(60_000);

    expect(reaper.failing()).toEqual([]);
  });
});
