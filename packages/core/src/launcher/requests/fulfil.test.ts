import { delay, encodeRequest, nodeLockPath, requestPath, withRequest } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import type { LaunchOrder, LaunchResult } from '../../contract/driver.js';
import { LAUNCH, ready, ServedRequest } from '../../../test/support/served-request.js';
import { fulfil } from './fulfil.js';

describe('a request that gets its nodes', () => {
  it('is fulfilled with their ids in the order of its labels, and they are unlocked', async () => {
    const served = await ServedRequest.begin(['b', 'a']);
    const a = await served.world.createNode({ labels: ['a'] });
    const b = await served.world.createNode({ labels: ['b'] });

    served.accept([
      ['b', b],
      ['a', a],
    ]);

    expect(await served.outcome()).toBe('fulfilled');
    expect(await served.stored()).toMatchObject({ state: 'fulfilled', nodeIds: [b, a] });
    expect(served.node(a)).toMatchObject({ state: 'ready', allocatedTo: served.id });
    expect(await served.nodeEntries(a)).toEqual([]);
  });

  it('stays locked for a moment, so that its requestor finds it as it was', async () => {
    const served = await ServedRequest.begin(['a']);

    served.accept([['a', await served.world.createNode({})]]);
    await served.outcome();

    expect(await served.entries()).toHaveLength(1);
    await served.world.pass(1_100);
    expect(await served.entries()).toEqual([]);
  });

  it('waits for another node when the lock of one was taken away', async () => {
    const served = await ServedRequest.begin(['a', 'b']);
    const a = await served.world.createNode({});
    const b = await served.world.createNode({ labels: ['b'] });
    let answer = (_isUsable: boolean): void => undefined;
    const checkReusableNode = ({ id }: { id: string }) =>
      id === a || new Promise<boolean>((resolve) => (answer = resolve));
    served.accept(
      [
        ['a', a],
        ['b', b],
      ],
      { checkReusableNode },
    );
    await served.world.pass(1_000);
    const [entry] = await served.nodeEntries(a);

    await served.world.clock.run(served.world.other.delete(`${nodeLockPath(a)}/${entry}`));
    answer(true);
    await served.world.pass(1_000);

    expect(served.work.paused).toMatchObject({ missing: ['a'] });
    expect(await served.stored()).toMatchObject({ state: 'pending' });
  });
});

describe('a request that lacks one node', () => {
  it('is fulfilled by the transaction that stores the node as ready', async () => {
    const served = await ServedRequest.begin(['a', 'b']);
    const a = await served.world.createNode({});

    served.accept(
      [
        ['a', a],
        ['b', LAUNCH],
      ],
      { launch: ready },
    );

    expect(await served.outcome()).toBe('fulfilled');
    const { state, nodeIds, stat } = await served.stored();
    const b = served.node(nodeIds[1]);
    expect({ state, first: nodeIds[0] }).toEqual({ state: 'fulfilled', first: a });
    expect(b).toMatchObject({ state: 'ready', externalId: `i-${b?.id}`, stat: { mzxid: stat?.mzxid } });
    expect(await served.nodeEntries(b?.id)).toEqual([]);
    expect(await served.nodeEntries(a)).toEqual([]);
    expect(await served.entries()).toHaveLength(1);
  });

  it.each([
    ['ends with an error', () => Promise.reject(new Error('broken'))],
    ['stores more of the node', (order: LaunchOrder) => order.store({ hostname: 'late' })],
    ['stores it as ready once more', (order: LaunchOrder) => order.store({ state: 'ready', hostname: 'late' })],
  ])('is fulfilled although the launch %s after that', async (_what, then) => {
    const served = await ServedRequest.begin(['a']);
    const launch = async (order: LaunchOrder) => {
      const result = await ready(order);
      await then(order);
      return result;
    };

    served.accept([['a', LAUNCH]], { launch });

    expect(await served.outcome()).toBe('fulfilled');
    const { state, nodeIds } = await served.stored();
    expect(state).toBe('fulfilled');
    expect(served.node(nodeIds[0])).toMatchObject({ state: 'ready', launchError: null, hostname: null });
  });

  it('is fulfilled although its requestor has taken the node and deleted it before the launch returns', async () => {
    const served = await ServedRequest.begin(['a']);
    const { other, clock } = served.world;
    const launch = async (order: LaunchOrder) => {
      const result = await ready(order);
      await other.delete(requestPath(served.id));
      served.work.requestGone();
      await delay(clock, 1_000);
      return result;
    };

    served.accept([['a', LAUNCH]], { launch });

    expect(await served.outcome()).toBe('fulfilled');
    expect(served.nodes()).toMatchObject([{ state: 'ready', allocatedTo: served.id }]);
  });

  it('is fulfilled with what its requestor wrote into it meanwhile', async () => {
    const served = await ServedRequest.begin(['a']);
    const { other, clock } = served.world;
    const launch = async (order: LaunchOrder) => {
      const changed = withRequest(order.request, { state: 'pending', relativePriority: 7 }, clock.now());
      await other.setData(requestPath(served.id), encodeRequest(changed));
      return ready(order);
    };

    served.accept([['a', LAUNCH]], { launch });

    expect(await served.outcome()).toBe('fulfilled');
    expect(await served.stored()).toMatchObject({ state: 'fulfilled', relativePriority: 7 });
  });

  it('tells the launch that its node is stored, although the work is abandoned while that is written', async () => {
    const served = await ServedRequest.begin(['a']);
    let told: Promise<LaunchResult> | undefined;
    const launch = (order: LaunchOrder) => {
      told = ready(order);
      served.world.clock.setTimer(1, () => served.work.abandon(new Error('the process ends')));
      return told;
    };

    served.accept([['a', LAUNCH]], { launch });

    expect(await served.outcome()).toBe('fulfilled');
    expect(await told).toMatchObject({ node: { state: 'ready' } });
    expect(await served.stored()).toMatchObject({ state: 'fulfilled' });
  });
});

describe('a request whose last launch has been broken off', () => {
  it('is not written, as its node is not ready', async () => {
    const served = await ServedRequest.begin(['a']);
    served.accept([['a', LAUNCH]], { launch: () => new Promise(() => undefined) });
    await served.world.pass(1_000);

    const step = await served.world.clock.run(fulfil(served.work, { last: served.work.parts.all[0] }));

    expect(step).toEqual({ name: 'collecting' });
    expect(await served.stored()).toMatchObject({ state: 'pending', nodeIds: [] });
  });
});

describe('a request whose connection breaks at the transaction that fulfils it', () => {
  it.each(['loseAnswer', 'loseRequest'] as const)('gets its node (%s)', async (how) => {
    const served = await ServedRequest.begin(['a']);
    const { world } = served;
    const match = (write: string) => write.endsWith(requestPath(served.id));
    const launch = (order: LaunchOrder) => {
      if (how === 'loseAnswer') world.loseAnswer(match);
      else world.loseRequest(match);
      return ready(order);
    };

    served.accept([['a', LAUNCH]], { launch });

    expect(await served.outcome()).toBe('fulfilled');
    expect(world.breaks).toBe(1);
    const { state, nodeIds } = await served.stored();
    expect(state).toBe('fulfilled');
    await world.pass(1_100);
    expect(served.node(nodeIds[0])).toMatchObject({ state: 'ready', allocatedTo: served.id });
    expect(await served.entries()).toEqual([]);
  });

  it('is not changed when the session ends with it', async () => {
    const served = await ServedRequest.begin(['a']);
    const errors: unknown[] = [];
    const launch = (order: LaunchOrder) => {
      const stored = ready(order);
      stored.catch((error: unknown) => errors.push(error));
      served.world.loseSession();
      return stored;
    };

    served.accept([['a', LAUNCH]], { launch });

    expect(await served.outcome()).toBe('abandoned');
    expect(await served.stored()).toMatchObject({ state: 'pending' });
    expect(errors).toHaveLength(1);
  });
});
