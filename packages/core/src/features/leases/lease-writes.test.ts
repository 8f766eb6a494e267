import type { LeaseRecord, NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { leaseWorld } from '../../../test/support/lease-world.js';
import type { Context } from '../../launcher/state/context.js';
import { activate, endLease, requestAgain, returnNode } from './lease-writes.js';

/** A lease that waits for nothing any more: its request is fulfilled. No launcher takes care of it. */
async function fulfilled() {
  const { world, leases, lease, serve, request, stop } = await leaseWorld();
  await lease();
  stop();
  const [id] = await serve();
  const [waiting, node] = [leases.get('l1'), id && world.context.mirror.nodes.get(id)];
  if (!waiting || !node) throw new Error('the mirror does not show the lease and its node');
  return { world, waiting, node, request: request(), leases };
}

/** Arguments of a write. */
interface Given {
  readonly context: Context;
  readonly waiting: LeaseRecord;
  readonly request: RequestRecord;
  readonly node: NodeRecord;
}

const END = { state: 'ended', endReason: 'it expired' } as const;

it.each([
  ['activates it', ({ context, waiting, request, node }) => activate(context, waiting, request, [node])],
  ['requests again', ({ context, waiting, request, node }) => requestAgain(context, waiting, request, [node])],
  ['ends it', ({ context, waiting, request, node }) => endLease(context, waiting, END, request, [node])],
  ['returns its node', ({ context, node }) => returnNode(context, node)],
] as [string, (given: Given) => Promise<unknown>][])(
  'a lease stays as it is for a launcher that %s when another process locks the node meanwhile',
  async (_what, write) => {
    const { world, waiting, request, node, leases } = await fulfilled();

    const written = world.clock.run(write({ context: world.lockedMeanwhile(node.id), waiting, request, node }));

    await expect(written).rejects.toMatchObject({ owner: 'node' });
    await world.pass(100);
    const { nodes, requests } = world.context.mirror;
    expect([nodes.get(node.id), requests.get(request.id), leases.get('l1')]).toEqual([node, request, waiting]);
  },
);
