import {
  encodeRequest,
  newRequest,
  nodePath,
  requestLockPath,
  requestPath,
  withRequest,
  type RequestId,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { ServedRequest } from '../../../test/support/served-request.js';
import { reason } from '../plan/candidates.js';
import { Transaction } from '../state/transaction.js';
import { declinedRequest, unlockRequest, writeAndUnlock, writeLocked } from './writes.js';

const request = { ...newRequest({ labels: ['small'] }, 0), id: '200-0000000001' as RequestId };
const handedOver = reason('failed-over', 'launch failed', 'nothing');
const never = reason('exceeds-quota', 'too much', 'less');

describe('a declined request', () => {
  it('is there for others, or failed when there are none', () => {
    const open = declinedRequest(request, 'a', never, false, 1);
    const failed = declinedRequest(open, 'b', never, true, 2);

    expect([open.state, open.declinedBy]).toEqual(['requested', ['a']]);
    expect([failed.state, failed.declinedBy]).toEqual(['failed', ['a', 'b']]);
  });

  it('comes back to a pool that only left it to others, when these decline as well', () => {
    const left = declinedRequest(request, 'a', handedOver, false, 1);

    const back = declinedRequest(left, 'b', never, true, 2);
    const failed = declinedRequest(back, 'a', reason('label-unavailable', 'failed thrice', 'see the log'), true, 3);

    expect([back.state, back.declinedBy]).toEqual(['requested', ['b']]);
    expect([failed.state, failed.declinedBy]).toEqual(['failed', ['b', 'a']]);
  });

  it('stays with a pool that would leave it to others when they have gone meanwhile', () => {
    const kept = declinedRequest(request, 'a', handedOver, true, 1);

    expect([kept.state, kept.declinedBy]).toEqual(['requested', []]);
  });
});

/** A request that this process has locked. */
async function heldRequest() {
  const served = await ServedRequest.begin(['a']);
  const { zk, clock, other } = served.world;
  const root = requestLockPath(served.id);
  await clock.run(zk.ensurePath(root));
  const entry = await clock.run(zk.create(`${root}/0123__lock__`, '', { ephemeral: true, sequential: true }));
  const request = await served.stored();
  const next = withRequest(request, { state: 'fulfilled' }, clock.now());
  return { served, context: served.context, entry, request, next, clock, other };
}

describe('the lock of a request', () => {
  it('goes with the last write', async () => {
    const { served, context, entry, next, clock } = await heldRequest();

    expect(await clock.run(writeAndUnlock(context, entry, next))).toBe('done');
    expect([(await served.stored()).state, await served.entries()]).toEqual(['fulfilled', []]);
  });

  it('is kept when its requestor has removed the request', async () => {
    const { served, context, entry, next, clock, other } = await heldRequest();
    await clock.run(other.delete(requestPath(served.id)));

    expect(await clock.run(writeAndUnlock(context, entry, next))).toBe('gone');
    expect(await served.entries()).toHaveLength(1);
    await clock.run(unlockRequest(context, entry));
    expect(await served.entries()).toEqual([]);
  });

  it('is kept when another process has written the request', async () => {
    const { served, context, entry, request, next, clock, other } = await heldRequest();
    await clock.run(other.setData(requestPath(served.id), encodeRequest({ ...request, relativePriority: 7 })));

    expect(await clock.run(writeAndUnlock(context, entry, next))).toBe('changed');
    expect([(await served.stored()).relativePriority, await served.entries()]).toEqual([7, [expect.anything()]]);
  });

  it('stays when the request is written with its nodes, and a refused node is named', async () => {
    const { served, context, next, clock } = await heldRequest();
    const id = await served.world.createNode({});
    const removal = { op: 'delete', path: nodePath(id) } as const;
    const before = new Transaction<'node'>();
    before.add('node', removal);

    expect(await clock.run(writeLocked(context, next, before))).toMatchObject({
      results: [{ op: 'delete' }, { op: 'set' }],
    });
    expect(await clock.run(writeLocked(context, next, before))).toEqual({ node: removal });
    expect([(await served.stored()).state, await served.entries()]).toEqual(['fulfilled', [expect.anything()]]);
  });
});
