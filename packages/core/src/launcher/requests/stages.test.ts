import { encodeNode, newNode, newRequest, nodePath, NODES_ROOT, requestPath } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import type { LaunchOrder, LaunchResult } from '../../contract/driver.js';
import { MIN_READY_REQUESTOR } from '../plan/candidates.js';
import { failed, LAUNCH, pausedRequest, ready, ServedRequest } from '../../../test/support/served-request.js';
import type { RequestNews } from './request.js';

const PROBE = { requestor: MIN_READY_REQUESTOR, provider: 'p' };

describe('a request that is accepted', () => {
  it('has the records of its nodes made in the same transaction', async () => {
    const served = await ServedRequest.begin(['a', 'b']);

    served.accept(
      [
        ['a', LAUNCH],
        ['b', LAUNCH],
      ],
      { launch: () => new Promise(() => undefined) },
    );
    await served.world.pass(1_000);

    const { state, stat } = await served.stored();
    const nodes = served.nodes();
    expect(state).toBe('pending');
    expect(nodes.map((node) => [node.labels[0], node.state])).toEqual([
      ['a', 'building'],
      ['b', 'building'],
    ]);
    expect(nodes.map((node) => node.stat?.czxid)).toEqual([stat?.mzxid, stat?.mzxid]);
  });

  it('tells the driver of the nodes it takes before records of others are made', async () => {
    const served = await ServedRequest.begin(['a', 'b']);
    const id = await served.world.createNode({ az: 'zone-2' });
    let zone: string | null = null;

    served.accept(
      [
        ['a', id],
        ['b', LAUNCH],
      ],
      {
        launch: ready,
        nodeReusedNotification: (node) => void (zone = node.az),
        setNodeMetadata: (node) => ({ ...node, az: zone }),
      },
    );

    expect(await served.outcome()).toBe('fulfilled');
    expect((await served.stored()).nodeIds.map((node) => served.node(node)?.az)).toEqual(['zone-2', 'zone-2']);
  });
});

describe('a request that another launcher has locked', () => {
  it('is left to that one, as are its nodes', async () => {
    const served = await ServedRequest.begin(['a']);
    const id = await served.world.createNode({});
    await served.lockElsewhere();

    served.accept([['a', id]]);

    expect(await served.outcome()).toBe('busy');
    expect(await served.stored()).toMatchObject({ state: 'requested' });
    expect(served.node(id)).toMatchObject({ allocatedTo: null });
    expect(served.world.context.mirror.claim(id, served), 'no claim is left on it').toBe(true);
  });

  it('has no node made, and its launch does not count any more', async () => {
    const served = await ServedRequest.begin(['a']);
    const { other, clock } = served.world;
    await served.lockElsewhere();

    served.accept([['a', LAUNCH]], { launch: ready });
    const counted = served.rooms.ledger.activeLaunches('p');

    expect(await served.outcome()).toBe('busy');
    expect(await clock.run(other.getChildren(NODES_ROOT))).toEqual([]);
    expect([counted, served.rooms.ledger.activeLaunches('p')]).toEqual([1, 0]);
    expect(served.launches).toEqual(['a begun', 'a ended: undefined']);
  });
});

describe('a node that another process writes meanwhile', () => {
  it('is left out for a moment, and the request is not touched', async () => {
    const served = await ServedRequest.begin(['a']);
    const id = await served.world.createNode({});
    const { mirror } = served.world.context;
    const changed = encodeNode({ ...newNode({ state: 'ready', labels: ['a'] }, 0), provider: 'p', pool: 'main' });
    const change = served.world.other.setData(nodePath(id), changed);
    served.accept([['a', id]]);

    const outcome = await served.outcome();
    await served.world.clock.run(change);
    const isFree = mirror.claim(id, served);
    await served.world.pass(100);

    expect([outcome, isFree, mirror.claim(id, served)]).toEqual(['busy', false, true]);
    expect(await served.stored()).toMatchObject({ state: 'requested' });
  });
});

describe('a request that waits for capacity', () => {
  it.each<[string, RequestNews]>([
    ['its launcher stops', 'draining'],
    ['the pool can no longer serve it', 'hopeless'],
  ])('is put back when %s, and its nodes are free', async (_when, news) => {
    const { served, id } = await pausedRequest();

    served.work.notify(news);

    expect(await served.outcome()).toBe('put-back');
    expect(await served.stored()).toMatchObject({ state: 'requested', nodeIds: [], declinedBy: [] });
    expect(served.node(id)).toMatchObject({ state: 'ready', allocatedTo: null });
    expect(await served.entries()).toEqual([]);
  });

  it('gives way to one with a better place after some time, and its nodes are deleted for that', async () => {
    const { served, id } = await pausedRequest();
    await served.world.pass(120_000);
    expect(served.work.paused, 'none has a better place').toBeDefined();

    const better = await served.store(newRequest({ state: 'pending', labels: ['a', 'b'] }, 0), 100);
    await served.world.createNode({ allocatedTo: better });

    expect(await served.outcome()).toBe('gave-way');
    expect(await served.stored()).toMatchObject({ state: 'requested' });
    expect(served.node(id)).toMatchObject({ state: 'deleting', allocatedTo: null });
  });

  it('gives its nodes back when its requestor withdraws it', async () => {
    const { served, id } = await pausedRequest();

    await served.withdraw();

    expect(await served.outcome()).toBe('gone');
    expect(served.node(id)).toMatchObject({ state: 'ready', allocatedTo: null });
    expect(await served.nodeEntries(id)).toEqual([]);
  });
});

describe('a request whose record is spoiled while its nodes are gathered', () => {
  it.each([
    ['it has all of them', 'unpause'],
    ['its launcher stops', 'draining'],
  ] as const)('is only unlocked when %s, and its nodes are free', async (_when, what) => {
    const { served, id } = await pausedRequest();
    const { other, clock } = served.world;
    const b = await served.world.createNode({ labels: ['b'] });
    await clock.run(other.setData(requestPath(served.id), '[]'));

    if (what === 'unpause') served.unpause([['b', b]]);
    else served.work.notify(what);

    expect(await served.outcome()).toBe('put-back');
    expect(served.node(id)).toMatchObject({ state: 'ready', allocatedTo: null });
    expect(await served.entries()).toEqual([]);
    const { data } = await clock.run(other.getData(requestPath(served.id)));
    expect(data.toString(), 'its record is not written').toBe('[]');
  });
});

describe('a request whose launch fails', () => {
  it('is left to the pools that may still serve it', async () => {
    const served = await ServedRequest.begin(['a']);
    await served.rooms.register();

    served.accept([['a', LAUNCH]], { launch: failed });

    expect(await served.outcome()).toBe('declined');
    expect(await served.stored()).toMatchObject({
      ...{ state: 'requested', declinedBy: [served.launcherId] },
      launchError: 'no host has capacity',
    });
  });

  it('is let go when its requestor has withdrawn it by then', async () => {
    const served = await ServedRequest.begin(['a']);
    const launch = async (order: LaunchOrder) => {
      await served.world.other.delete(requestPath(served.id));
      return failed(order);
    };

    served.accept([['a', LAUNCH]], { launch });

    expect(await served.outcome()).toBe('gone');
    expect(await served.entries()).toEqual([]);
  });
});

describe('a request that is withdrawn before its node is ready', () => {
  /** Its requestor deletes it during the launch. */
  async function withdrawn(fields = {}) {
    const served = await ServedRequest.begin(['a'], fields);
    const launch = async (order: LaunchOrder) => {
      await served.world.other.delete(requestPath(served.id));
      return ready(order);
    };
    served.accept([['a', LAUNCH]], { launch });
    await served.world.pass(1_000);
    served.work.requestGone();
    return served;
  }

  it('leaves the node free', async () => {
    const served = await withdrawn();

    expect(await served.outcome()).toBe('gone');
    const [node] = served.nodes();
    expect(node).toMatchObject({ state: 'ready', allocatedTo: null });
    expect(await served.nodeEntries(node?.id)).toEqual([]);
  });

  it('leaves no node behind when it is a probe', async () => {
    const served = await withdrawn(PROBE);

    expect(await served.outcome()).toBe('gone');
    expect(served.nodes()).toMatchObject([{ state: 'deleting', allocatedTo: null }]);
  });

  it('breaks its launch off when it is a probe', async () => {
    const served = await ServedRequest.begin(['a'], PROBE);
    const launch = (order: LaunchOrder, signal: AbortSignal) =>
      new Promise<LaunchResult>((resolve) => {
        signal.addEventListener('abort', () => resolve(failed(order)), { once: true });
      });
    served.accept([['a', LAUNCH]], { launch });
    await served.world.pass(1_000);

    await served.withdraw();

    expect(await served.outcome()).toBe('abandoned'); // the launcher removes its locks, and the node is garbage
    await served.world.pass(10);
    expect(served.launches).toEqual(['a begun', 'a placed', 'a ended: failed']);
  });
});
