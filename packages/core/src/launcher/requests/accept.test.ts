import { encodeNode, newNode, nodePath, NODES_ROOT } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { LAUNCH, ready, ServedRequest } from '../../../test/support/served-request.js';

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
