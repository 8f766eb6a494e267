import {
  encodeRequest,
  newRequest,
  REQUESTS_ROOT,
  type NodeFields,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { LauncherRooms } from '../../../test/support/launcher-rooms.js';
import { blocksOthers, waitsElsewhere } from './waits-elsewhere.js';

/** Requests that another launcher has accepted, with nodes that they have. */
async function setUp() {
  const rooms = await LauncherRooms.open();
  const { world, ledger } = rooms;
  const { mirror } = world.context;
  return {
    ...{ ledger, mirror },
    waits: () => [...waitsElsewhere(mirror, ledger, 'p', 'main')],
    accept: async (priority: number, labels: readonly string[], ...nodes: NodeFields[]): Promise<RequestRecord> => {
      const body = encodeRequest({ ...newRequest({ labels }, world.clock.now()), state: 'pending' });
      const path = `${REQUESTS_ROOT}/${priority}-`;
      const made = await world.clock.run(world.other.create(path, body, { sequential: true }));
      const id = made.slice(REQUESTS_ROOT.length + 1) as RequestId;
      for (const node of nodes) await world.createNode({ state: 'building', allocatedTo: id, ...node });
      await world.pass(100);
      const request = mirror.requests.get(id);
      if (!request) throw new Error('the request is not there');
      return request;
    },
  };
}

describe('requests that another launcher serves from a provider', () => {
  it('lack the nodes that they do not have yet', async () => {
    const { accept, waits } = await setUp();
    const request = await accept(200, ['a', 'b', 'b'], { labels: ['b'] });

    expect(waits()).toEqual([{ request, missing: ['a', 'b'], isInPool: true }]);
  });

  it('are in another pool of the provider, or partly in another provider', async () => {
    const { accept, waits } = await setUp();
    await accept(200, ['a', 'b'], { pool: 'other', labels: ['a'] });
    await accept(200, ['a', 'b', 'c'], { provider: 'q', labels: ['a'] }, { labels: ['b'] });

    expect(waits().map(({ missing, isInPool }) => [missing, isInPool])).toEqual([
      [['b'], false],
      [['c'], true],
    ]);
  });

  it('are not those that have nothing, or all, or nodes of other providers only, or are served here', async () => {
    const { accept, waits, ledger } = await setUp();
    await accept(200, ['a']);
    await accept(200, ['a'], { labels: ['a'] });
    await accept(200, ['a', 'b'], { provider: 'q', labels: ['a'] });
    const own = await accept(200, ['a', 'b'], { labels: ['a'] });
    ledger.begin(own, []);

    expect(waits()).toEqual([]);
  });
});

describe('a request blocks others', () => {
  const request = { ...newRequest({ labels: ['a'] }, 0), id: '200-0000000500' as RequestId };

  it('when one with a better place waits for capacity of the provider', async () => {
    const { mirror } = await setUp();
    const waiting = (id: string) => [{ request: { ...request, id: id as RequestId } }];

    expect(blocksOthers(mirror, request, waiting('100-0000000900'))).toBe(true);
    expect(blocksOthers(mirror, request, waiting('300-0000000100'))).toBe(false);
    expect(blocksOthers(mirror, request, [])).toBe(false);
  });

  it('when one with a better place has a part of its nodes, wherever', async () => {
    const { accept, mirror } = await setUp();
    await accept(300, ['a', 'b'], { labels: ['a'] });
    await accept(100, ['a']);
    await accept(100, ['a'], { labels: ['a'] });
    const before = blocksOthers(mirror, request, []);

    await accept(100, ['a', 'b'], { provider: 'q', labels: ['a'] });

    expect([before, blocksOthers(mirror, request, [])]).toEqual([false, true]);
  });
});
