import {
  decodeNode,
  encodeRequest,
  newRequest,
  nodePath,
  requestCreatePath,
  requestPath,
  withRequest,
  type NodeId,
  type RequestFields,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { LauncherRooms } from '../../../test/support/launcher-rooms.js';
import { CapacityError } from '../../contract/errors.js';
import { Standby } from '../standby/standby.js';
import { MIN_READY_REQUESTOR } from '../../launcher/plan/candidates.js';
import { Probes } from './probes.js';

const PROVIDER = 'p';
let probes: Probes | undefined;
let standby: Standby | undefined;
afterEach(() => {
  probes?.stop();
  standby?.stop();
});

/** A provider that is to be probed for these labels. */
async function setUp(...labels: string[]) {
  const rooms = await LauncherRooms.open();
  const { world } = rooms;
  /** Launches of these labels fail, and it is time for a probe. */
  const fail = async (...failing: string[]) => {
    for (const label of failing) {
      for (let i = 0; i < 3; i++) rooms.tryLaunch(label, new CapacityError('no host is left'));
    }
    await world.pass(15_000);
  };
  await fail(...labels);
  standby = new Standby(world.context, rooms.views, rooms.levels, [rooms.spares]);
  probes = new Probes({ context: world.context, views: rooms.views, freeNodes: standby, serverClock: world.clock });
  const waiting = (): RequestRecord[] => [...world.context.mirror.requests.values()];
  const check = async () => {
    probes?.check(PROVIDER);
    await world.pass(200);
    return waiting();
  };
  /** Writes the request as a pool does that serves it. */
  const answer = async (request: RequestRecord | undefined, changes: RequestFields) => {
    if (!request) throw new Error('there is no request');
    const body = encodeRequest(withRequest(request, changes, world.clock.now()));
    await world.clock.run(world.other.setData(requestPath(request.id), body));
    await world.pass(500);
  };
  /** Another launcher asks for a probe. */
  const askElsewhere = async (label: string) => {
    const body = newRequest({ labels: [label], requestor: MIN_READY_REQUESTOR, provider: PROVIDER }, world.clock.now());
    const options = { ephemeral: true, sequential: true };
    return world.clock.run(world.other.create(requestCreatePath(900), encodeRequest(body), options));
  };
  const readNode = async (id: NodeId) => {
    const { data, stat } = await world.clock.run(world.other.getData(nodePath(id)));
    return decodeNode(id, data, stat, world.clock.now());
  };
  return { world, rooms, fail, waiting, check, answer, askElsewhere, readNode };
}

describe('a probe of a provider', () => {
  it('is a request for one node of that provider, however often it is time', async () => {
    const { check } = await setUp('a');

    await check();
    const requests = await check();

    expect(requests).toMatchObject([
      { labels: ['a'], requestor: MIN_READY_REQUESTOR, provider: PROVIDER, reuse: false },
    ]);
  });

  it('is one for each label that fails', async () => {
    const { check } = await setUp('a', 'b');

    await check();
    const requests = await check();

    expect(requests.map(({ labels }) => labels)).toEqual([['a'], ['b']]);
  });

  it.each([
    ['stays for everybody where a standby node is missing', true, 'ready'],
    ['is deleted where none is missing', false, 'deleting'],
  ])('makes a node that %s', async (_what, isMissing, nodeState) => {
    const { world, check, answer, waiting, readNode } = await setUp('a');
    if (!isMissing) await world.createNode({});
    const [request] = await check();
    const node = await world.createNode({ allocatedTo: request?.id ?? null, externalId: 'x' });

    await answer(request, { state: 'fulfilled', nodeIds: [node] });

    expect(waiting()).toEqual([]);
    expect(await readNode(node)).toMatchObject({ state: nodeState, allocatedTo: null });
  });

  it.each([
    ['has declined it', { declinedBy: ['nl01-PoolWorker.cloud-main-1'] }],
    ['could not make it', { state: 'failed' }],
  ] as const)('is removed when the provider %s, and asked for again later', async (_what, changes) => {
    const { world, check, answer, waiting } = await setUp('a');
    const [request] = await check();

    await answer(request, changes);
    const after = waiting();
    await world.pass(31_000);

    expect(after).toEqual([]);
    expect(waiting().map(({ id }) => id)).not.toContain(request?.id);
    expect(waiting()).toHaveLength(1);
  });

  it('is removed when it is not needed any more, unless it has begun', async () => {
    const { rooms, fail, check, answer, waiting } = await setUp('a');
    const [first] = await check();
    rooms.tryLaunch('a');
    expect(await check()).toEqual([]);

    await fail('a');
    const [second] = await check();
    await answer(second, { state: 'pending' });
    rooms.tryLaunch('a');
    await check();

    expect(waiting().map(({ id }) => id)).toEqual([second?.id]);
    expect(second?.id).not.toBe(first?.id);
  });

  it('is removed when it is not needed any more by the time it has been asked for', async () => {
    const { world, rooms, waiting } = await setUp('a');

    probes?.check(PROVIDER);
    rooms.tryLaunch('a');
    const [begun] = rooms.views.labelsToProbe(PROVIDER);
    await world.pass(500);

    expect([begun, waiting()]).toEqual([undefined, []]);
  });

  it('is removed in the next minute when it was not needed any more while nothing was asked for', async () => {
    const { world, rooms, check, waiting } = await setUp('a');
    await check();
    world.context.life.isDraining = true;
    rooms.tryLaunch('a');
    await world.pass(500);
    world.context.life.isDraining = false;

    probes?.reconsider();
    await world.pass(500);

    expect(waiting()).toEqual([]);
  });

  it('stays when it begins as it is removed', async () => {
    const { world, rooms, check, waiting } = await setUp('a');
    const [request] = await check();
    if (!request) throw new Error('there is no request');
    const begun = encodeRequest(withRequest(request, { state: 'pending' }, world.clock.now()));

    rooms.tryLaunch('a');
    const begins = world.other.setData(requestPath(request.id), begun); // this launcher has not heard of it yet
    probes?.check(PROVIDER);
    await world.clock.run(begins);
    await world.pass(1_000);

    expect(waiting()).toMatchObject([{ id: request.id, state: 'pending' }]);
  });

  it.each([
    ['', 0],
    [', whose launcher has a clock that is behind,', -600_000],
    [', whose launcher has a clock that is ahead,', 600_000],
  ])('is the only one of its label, and%s is replaced when it hangs', async (_whose, aheadMs) => {
    const { world, check, answer, waiting } = await setUp('a');
    const [first] = await check();
    await answer(first, { state: 'pending', stateTimeMs: world.clock.now() + aheadMs });

    await world.pass(60_000);
    const meanwhile = await check();
    await world.pass(70_000);

    expect(meanwhile.map(({ id }) => id)).toEqual([first?.id]);
    expect(waiting()).toMatchObject([{ state: 'requested', labels: ['a'] }]);
  });

  it('is not asked for while another launcher has one, but is when that one has gone', async () => {
    const { world, check, waiting, askElsewhere } = await setUp('a');
    const path = await askElsewhere('a');
    await world.pass(500);
    const meanwhile = await check();

    await world.clock.run(world.other.delete(path));
    await world.pass(31_000);

    expect(meanwhile.map(({ id }) => requestPath(id))).toEqual([path]);
    expect(waiting()).toHaveLength(1);
    expect(requestPath(waiting()[0]?.id ?? ('' as RequestRecord['id']))).not.toBe(path);
  });

  it('is removed when another launcher was quicker at the same moment', async () => {
    const { world, waiting, askElsewhere } = await setUp('a');

    const asked = askElsewhere('a');
    probes?.check(PROVIDER); // nothing is known of the other one
    const path = await asked;
    await world.pass(500);

    expect(waiting().map(({ id }) => requestPath(id))).toEqual([path]);
  });

  it('is asked for again when the session is lost in which it was', async () => {
    const { world, check, waiting } = await setUp('a');
    const [first] = await check();

    world.loseSession();
    await world.pass(100_000);

    expect(waiting()).toHaveLength(1);
    expect(waiting()[0]?.id).not.toBe(first?.id);
  });

  it('is asked for again later when that fails for a reason that is not of ZooKeeper', async () => {
    const { world, check, waiting } = await setUp('a');
    const create = world.zk.create.bind(world.zk);
    world.zk.create = () => Promise.reject(new TypeError('a fault'));
    await check();
    world.zk.create = create;

    await world.pass(31_000);

    expect(waiting()).toMatchObject([{ labels: ['a'], provider: PROVIDER }]);
  });

  it('is ended again later when that fails for a reason that is not of ZooKeeper', async () => {
    const { world, rooms, check, waiting } = await setUp('a');
    await check();
    const remove = world.zk.delete.bind(world.zk);
    world.zk.delete = () => Promise.reject(new TypeError('a fault'));
    rooms.tryLaunch('a');
    await check();
    world.zk.delete = remove;

    await check();

    expect(waiting()).toEqual([]);
  });
});
