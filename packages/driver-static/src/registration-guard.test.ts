import { describe, expect, it } from 'vitest';
import { silentLogger } from '@nodepool/core';
import { VirtualClock } from '@nodepool/core/testing';
import { createCommitter, createNodeCache, NODES_ROOT } from '@nodepool/zk-protocol';
import { encodeNode, NODE_CREATE_PATH, nodePath, withNode } from '@nodepool/zk-protocol';
import type { NodeRecord } from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer, perfectConditions, type LinkConditions } from '@nodepool/zk-protocol/memory';
import { entry, openWorld, type World } from '../test/world.js';
import { guardOf } from './registration-guard.js';

/** A connection with this delay for requests and a millisecond for answers. */
const link = (requestMs: number): LinkConditions => ({
  ...perfectConditions,
  requestDelayMs: () => requestMs,
  replyDelayMs: () => 1,
});
const SLOW_MS = 100;

/** The client sends the requests of one turn of the event loop together: let it send them before time advances. */
async function turns(): Promise<boolean> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  return false;
}

/** Two launchers, one with a slow connection, and a host with two registered slots. */
async function openRack() {
  const clock = new VirtualClock({ idle: turns });
  const server = new MemoryServer(clock);
  const sessions = [SLOW_MS, 1].map((ms) => connectInMemory(server, { clock, conditions: link(ms) }).zk);
  const starting = Promise.all(sessions.map((zk) => openWorld(zk, { clock })));
  const [slow, quick] = (await clock.run(starting)) as [World, World];
  const host = { name: 'fake-host', labels: ['small'], 'max-parallel-jobs': 2 };
  await clock.run(slow.configure(entry([host])));
  await clock.advance(20 * SLOW_MS);
  return { clock, slow, quick };
}

const slotsOf = ({ own }: World) => own().map(({ slot, state }) => `${slot} ${state}`);

describe('RegistrationGuard', () => {
  it('keeps slot numbers unique when a successor is seen before the deletion of its predecessor', async () => {
    const { clock, slow, quick } = await openRack();
    const [zero, one] = quick.own() as [NodeRecord, NodeRecord];
    // The slow launcher writes the record itself, so only the answer tells it that the record is gone.
    const losing = slow.committer.commit([{ op: 'set', path: nodePath(one.id), data: encodeNode(one), version: 99 }]);
    const lost = expect(losing).rejects.toMatchObject({ code: 'ZK_NO_NODE' });
    const successor = withNode(one, {}, clock.now());

    await clock.run(
      quick.committer.commit([
        { op: 'delete', path: nodePath(one.id) },
        { op: 'create', path: NODE_CREATE_PATH, sequential: true, data: encodeNode(successor) },
      ]),
    );
    await clock.run(quick.committer.commit([{ op: 'delete', path: nodePath(zero.id) }]));
    await clock.advance(60_000);
    await lost;

    expect(slotsOf(quick)).toEqual(['1 ready', '0 ready']);
    expect(quick.own()[0]?.stat?.version).toBe(0); // the successor was never moved to another slot
    await clock.run(Promise.all([slow.stop(), quick.stop()]));
  });

  it('moves one of two records with the same slot number to the slot without a record', async () => {
    const { clock, slow, quick } = await openRack();
    const [zero] = quick.own() as [NodeRecord];

    await clock.run(quick.write(zero.id, { slot: 1 }));
    await clock.advance(60_000);

    expect(slotsOf(quick).sort()).toEqual(['0 ready', '1 ready']);
    await clock.run(Promise.all([slow.stop(), quick.stop()]));
  });

  it('computes a change again after a write of another launcher, also in another database, which counts its versions again', async () => {
    const clock = new VirtualClock({ idle: turns });
    const server = new MemoryServer(clock);
    const [zk, other] = [SLOW_MS, 1].map((ms) => connectInMemory(server, { clock, conditions: link(ms) }).zk);
    if (!zk || !other) throw new Error('no sessions');
    const nodes = createNodeCache({ zk, clock, logger: silentLogger });
    const guard = guardOf({ zk, nodes, committer: createCommitter(zk, [nodes]) });
    await clock.run(nodes.start());
    let computed = 0;
    const write = (meanwhile?: () => unknown) =>
      guard.submit({
        alone: false,
        revision: () => {
          meanwhile?.();
          meanwhile = undefined;
          return 0;
        },
        operations: () => {
          computed++;
          return [];
        },
      });
    await clock.run(write());
    server.replace(); // by an empty one
    await clock.advance(60_000);
    await clock.run(other.ensurePath(NODES_ROOT));
    await clock.run(nodes.whenReady());
    computed = 0;

    await expect(clock.run(write(() => other.setData(NODES_ROOT, '')))).resolves.toBe('written');

    expect(computed).toBe(2);
    await clock.run(Promise.all([zk.close(), other.close()]));
  });
});
