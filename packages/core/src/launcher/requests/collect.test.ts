import { encodeRequest, nodeLockPath, requestPath, withRequest, type NodeId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import type { LaunchOrder, LaunchResult } from '../../contract/driver.js';
import { failed, LAUNCH, pausedRequest, ready, ServedRequest, WAIT } from '../../../test/support/served-request.js';

describe('a request that waits for capacity', () => {
  it('holds what it has and says what it lacks', async () => {
    const { served, id } = await pausedRequest();

    expect(served.work.paused).toMatchObject({ missing: ['b'] });
    expect(await served.stored()).toMatchObject({ state: 'pending' });
    expect(served.node(id)).toMatchObject({ allocatedTo: served.id });
    expect(await served.nodeEntries(id)).toHaveLength(1);
  });

  it('is fulfilled once it gets the rest', async () => {
    const { served, id } = await pausedRequest();
    const b = await served.world.createNode({ labels: ['b'] });

    served.unpause([['b', b]]);

    expect(await served.outcome()).toBe('fulfilled');
    expect((await served.stored()).nodeIds).toEqual([id, b]);
  });

  it('keeps what its requestor has written into it meanwhile', async () => {
    const { served } = await pausedRequest();
    const { other, clock } = served.world;
    const changed = withRequest(await served.stored(), { relativePriority: 7 }, clock.now());
    await clock.run(other.setData(requestPath(served.id), encodeRequest(changed)));
    const b = await served.world.createNode({ labels: ['b'] });

    served.unpause([['b', b]]);

    expect(await served.outcome()).toBe('fulfilled');
    expect(await served.stored()).toMatchObject({ state: 'fulfilled', relativePriority: 7 });
  });

  it('waits on when another launcher was quicker to take what it is given', async () => {
    const { served } = await pausedRequest();
    const b = await served.world.createNode({ labels: ['b'] });
    const { other, clock } = served.world;

    const taken = other.create(`${nodeLockPath(b)}`, '');
    const entry = other.create(`${nodeLockPath(b)}/0123__lock__`, '', { ephemeral: true, sequential: true });
    served.unpause([['b', b]]);
    await clock.run(Promise.all([taken, entry]));
    await served.world.pass(1_000);

    expect(served.work.paused).toMatchObject({ missing: ['b'] });
    expect(served.node(b)).toMatchObject({ allocatedTo: null });
  });

  it('tells its pool when it begins and when it ends to wait', async () => {
    const served = await ServedRequest.begin(['a']);
    served.accept([['a', WAIT]]);
    await served.world.pass(1_000);

    served.unpause([['a', await served.world.createNode({})]]);
    await served.outcome();

    expect(served.waits).toEqual([true, false]);
  });
});

describe('a stopped node', () => {
  const stopped = { state: 'testing', comment: 'stopped', launchState: { start: true }, externalId: 'i-1' };

  it('is started: its launch continues', async () => {
    const served = await ServedRequest.begin(['a']);
    const id = await served.world.createNode(stopped);
    const orders: LaunchOrder[] = [];

    served.accept([['a', id]], {
      launch: (order) => {
        orders.push(order);
        return ready(order);
      },
    });

    expect(await served.outcome()).toBe('fulfilled');
    const { launcherId } = served;
    expect(orders).toMatchObject([
      {
        isResumed: true,
        node: { id, state: 'building', comment: null, launcher: launcherId, launchState: { start: true } },
      },
    ]);
    expect(served.launches).toEqual(['a begun', 'a placed', 'a ended: ready']);
  });

  it('counts as no launch any more when another launcher was quicker to take it', async () => {
    const { served } = await pausedRequest();
    const b = await served.world.createNode({ ...stopped, labels: ['b'] });
    const { other, clock } = served.world;

    const taken = other.create(`${nodeLockPath(b)}`, '');
    const entry = other.create(`${nodeLockPath(b)}/0123__lock__`, '', { ephemeral: true, sequential: true });
    served.unpause([['b', b]]);
    await clock.run(Promise.all([taken, entry]));
    await served.world.pass(1_000);

    expect(served.work.paused).toMatchObject({ missing: ['b'] });
    expect(served.launches).toEqual(['b begun', 'b ended: undefined']);
    expect(served.rooms.ledger.activeLaunches('p')).toBe(0);
  });
});

describe('a launch that does not succeed', () => {
  it('has the request declined with its error; ready nodes are free, the failed one is left to be deleted', async () => {
    const served = await ServedRequest.begin(['a', 'b']);
    const { launcherId } = served;
    const id = await served.world.createNode({});

    served.accept(
      [
        ['a', id],
        ['b', LAUNCH],
      ],
      { launch: failed },
    );

    expect(await served.outcome()).toBe('declined');
    expect(await served.stored()).toMatchObject({
      ...{ state: 'failed', declinedBy: [launcherId], launchError: 'no host has capacity' },
      declineReasons: { [launcherId]: { text: 'launch of "b" failed: no host has capacity' } },
    });
    expect(served.node(id)).toMatchObject({ state: 'ready', allocatedTo: null });
    const lost = served.nodes().find((node) => node.id !== id);
    expect(lost).toMatchObject({ state: 'failed', labels: ['b'], launchError: 'no host has capacity' });
    expect(await served.nodeEntries(lost?.id)).toEqual([]);
  });

  it('lets a pool of another provider try that can serve the request', async () => {
    const served = await ServedRequest.begin(['a']);
    const { launcherId } = served;
    await served.rooms.register({ providerName: 'q', firstPoolPauseMs: 250 });

    served.accept([['a', LAUNCH]], { launch: failed });

    expect(await served.outcome()).toBe('declined');
    expect(await served.stored()).toMatchObject({
      ...{ state: 'requested', declinedBy: [launcherId], launchError: null },
      declineReasons: { [launcherId]: { rule: 'failed-over' } },
    });
  });

  it('for lack of quota lets the request wait for another one', async () => {
    const served = await ServedRequest.begin(['a']);
    const aborted = ({ node }: LaunchOrder): Promise<LaunchResult> => Promise.resolve({ state: 'aborted', node });
    let launch = aborted;
    served.accept([['a', LAUNCH]], { launch: (order) => launch(order) });
    await served.world.pass(1_000);
    expect(served.work.paused).toMatchObject({ missing: ['a'] });

    launch = ready;
    served.unpause([['a', LAUNCH]]);

    expect(await served.outcome()).toBe('fulfilled');
    expect((await served.stored()).nodeIds).toHaveLength(1);
  });
});

it('a launch for a standby node that lacks quota declines the request, as waiting ones have unused nodes deleted', async () => {
  const served = await ServedRequest.begin(['a'], { requestor: 'NodePool:min-ready' });
  const { launcherId } = served;

  served.accept([['a', LAUNCH]], { launch: ({ node }) => Promise.resolve({ state: 'aborted', node }) });

  expect(await served.outcome()).toBe('declined');
  expect(await served.stored()).toMatchObject({ declinedBy: [launcherId], launchError: null });
});

describe('a ready node that the driver finds dead', () => {
  it('goes back, and the request waits for another', async () => {
    const rejected: NodeId[] = [];
    const served = await ServedRequest.begin(['a']);
    const id = await served.world.createNode({});

    served.accept([['a', id]], {
      checkReusableNode: () => Promise.resolve(false),
      nodeRejectedNotification: (node) => void rejected.push(node.id),
    });
    await served.world.pass(1_000);

    expect(rejected).toEqual([id]);
    expect(served.work.paused).toMatchObject({ missing: ['a'] });
    expect(served.node(id)).toMatchObject({ state: 'ready', allocatedTo: null });
    expect(await served.nodeEntries(id)).toEqual([]);
  });
});

describe('a ready node that does not go with the others', () => {
  it('goes back as well, without being checked', async () => {
    const checked: NodeId[] = [];
    const served = await ServedRequest.begin(['a']);
    const id = await served.world.createNode({});

    served.accept([['a', id]], {
      acceptsNode: () => false,
      checkReusableNode: (node) => checked.push(node.id) > 0,
    });
    await served.world.pass(1_000);

    expect(served.work.paused).toMatchObject({ missing: ['a'] });
    expect([checked, await served.nodeEntries(id)]).toEqual([[], []]);
  });
});

function loseMachine({ work }: ServedRequest, id: NodeId, why: string): void {
  work.parts.setUnusable(id, why);
  work.wake();
}

describe('a node whose machine is lost while its request waits for others', () => {
  it('is deleted with the reason, and the request gets another', async () => {
    const { served, id } = await pausedRequest();

    loseMachine(served, id, 'its instance does not exist any more');
    await served.world.pass(1_000);

    expect(served.node(id)).toMatchObject({
      ...{ state: 'deleting', allocatedTo: null, comment: 'its instance does not exist any more' },
    });
    expect(await served.nodeEntries(id)).toEqual([]);
    expect(served.work.paused).toMatchObject({ missing: ['a', 'b'] });
    const [a, b] = [await served.world.createNode({}), await served.world.createNode({ labels: ['b'] })];
    served.unpause([
      ['a', a],
      ['b', b],
    ]);
    expect(await served.outcome()).toBe('fulfilled');
    expect((await served.stored()).nodeIds).toEqual([a, b]);
  });

  it('is replaced as well when the node that was missing comes in the same turn', async () => {
    const { served, id } = await pausedRequest();
    const b = await served.world.createNode({ labels: ['b'] });

    served.unpause([['b', b]]);
    loseMachine(served, id, 'stopped');
    await served.world.pass(1_000);

    expect(served.work.paused).toMatchObject({ missing: ['a'] });
    expect(served.node(b)).toMatchObject({ allocatedTo: served.id });
  });

  it('is replaced as well when the driver still checks it', async () => {
    const served = await ServedRequest.begin(['a']);
    const id = await served.world.createNode({});
    let isUsable = (_: boolean): void => undefined;
    served.accept([['a', id]], { checkReusableNode: () => new Promise((resolve) => (isUsable = resolve)) });
    await served.world.pass(1_000);

    loseMachine(served, id, 'stopped');
    isUsable(true);
    await served.world.pass(1_000);

    expect(served.node(id)).toMatchObject({ state: 'deleting', comment: 'stopped' });
    expect(served.work.paused).toMatchObject({ missing: ['a'] });
  });

  it('stays with a request that is fulfilled: it is in use', async () => {
    const served = await ServedRequest.begin(['a']);
    const id = await served.world.createNode({});
    served.accept([['a', id]]);
    expect(await served.outcome()).toBe('fulfilled');

    loseMachine(served, id, 'stopped');
    await served.world.pass(1_000);

    expect(served.node(id)).toMatchObject({ state: 'ready', allocatedTo: served.id });
  });
});
