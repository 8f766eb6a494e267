import { newRequest, requestPath } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import type { LaunchOrder, LaunchResult } from '../../contract/driver.js';
import { MIN_READY_REQUESTOR } from '../plan/candidates.js';
import { failed, LAUNCH, pausedRequest, ready, ServedRequest } from '../../../test/support/served-request.js';
import type { RequestNews } from './request.js';

const PROBE = { requestor: MIN_READY_REQUESTOR, provider: 'p' };

describe('a request that waits for capacity', () => {
  it.each<[string, RequestNews]>([
    ['its launcher stops', 'draining'],
    ['the pool can no longer serve it', 'hopeless'],
  ])('is put back when %s, and its nodes are free', async (_when, news) => {
    const { served, id } = await pausedRequest();

    served.work.tell(news);

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
