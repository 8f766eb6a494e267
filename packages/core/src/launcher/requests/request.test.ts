import { requestPath, type Committer } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import type { LaunchOrder } from '../../contract/driver.js';
import { LAUNCH, pausedRequest, ready, ServedRequest, WAIT } from '../../../test/support/served-request.js';

describe('work whose session is over', () => {
  it('writes nothing more: what it began is undone by who finds it', async () => {
    const { served, id } = await pausedRequest();

    served.work.abandon(new Error('the session has expired'));

    expect(await served.outcome()).toBe('abandoned');
    expect(await served.stored()).toMatchObject({ state: 'pending' });
    expect(served.node(id)).toMatchObject({ allocatedTo: served.id });
    expect(await served.nodeEntries(id)).toHaveLength(1);
  });

  it('ends each launch once, whether its driver was asked or not', async () => {
    const served = await ServedRequest.begin(['a', 'b']);
    served.accept(
      [
        ['a', LAUNCH],
        ['b', WAIT],
      ],
      {
        launch: (_order, signal) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('broken off')))),
      },
    );
    await served.world.pass(1_000);

    served.unpause([['b', LAUNCH]]);
    served.work.abandon(new Error('the session has expired'));
    await served.outcome();
    await served.world.pass(100);

    expect(served.launches.filter((event) => event.includes('ended')).sort()).toEqual([
      'a ended: failed',
      'b ended: undefined',
    ]);
    expect(served.rooms.ledger.activeLaunches('p')).toBe(0);
  });
});

it('a request may have been withdrawn when it is read again', async () => {
  const served = await ServedRequest.begin(['a']);
  served.accept([['a', WAIT]]);
  await served.world.clock.run(served.world.other.delete(requestPath(served.id)));

  await expect(served.world.clock.run(served.work.reread())).resolves.toBe(true);
});

describe('work that fails while records are being made for it', () => {
  it('ends with the request declined, and no node stays locked', async () => {
    const served = await ServedRequest.begin(['a', 'a', 'b']);
    const first = await served.world.createNode({});
    const second = await served.world.createNode({});
    const { committer } = served.context;
    const commit: Committer['commit'] = (operations) => {
      const isBroken = operations.some(({ op, path }) => op === 'set' && path.endsWith(second));
      return isBroken ? Promise.reject(new Error('a part of the launcher is broken')) : committer.commit(operations);
    };
    served.context = { ...served.context, committer: { commit } };
    const launched: string[] = [];
    const launch = (order: LaunchOrder) => (launched.push(order.node.id), ready(order));
    served.accept(
      [
        ['a', first],
        ['a', WAIT],
        ['b', WAIT],
      ],
      { launch },
    );
    await served.world.pass(1_000);

    served.unpause([
      ['a', second],
      ['b', LAUNCH],
    ]);
    const outcome = await served.outcome();
    await served.world.pass(1_000);

    expect(outcome).toBe('declined');
    expect(launched).toEqual([]);
    expect(served.launches).toEqual(['b begun', 'b ended: undefined']);
    const nodes = served.nodes();
    expect(nodes).toHaveLength(3);
    for (const { id } of nodes) expect([id, await served.nodeEntries(id)]).toEqual([id, []]);
  });
});
