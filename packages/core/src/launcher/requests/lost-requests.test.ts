import {
  encodeNode,
  encodeRequest,
  newNode,
  newRequest,
  NODE_CREATE_PATH,
  nodeLockPath,
  nodePath,
  requestLockPath,
  requestPath,
  REQUESTS_ROOT,
  ZooKeeperError,
  type Committer,
  type NodeId,
  type RequestId,
} from '@nodepool/zk-protocol';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { Ledger } from '../ledger/ledger.js';
import type { Context } from '../state/context.js';
import type { LauncherMetrics } from '../../metrics/types.js';
import { LostRequests } from './lost-requests.js';

/** Of a launcher without providers. */
function newLedger({ context }: ServiceWorld): Ledger {
  return new Ledger(context, { runnerOf: () => undefined });
}

describe('a request that another launcher has accepted', () => {
  let world: ServiceWorld;
  let ledger: Ledger;
  let lost: LostRequests;

  beforeEach(async () => {
    world = await ServiceWorld.open();
    ledger = newLedger(world);
    lost = new LostRequests(world.context, ledger);
  });

  const stateOf = (id: RequestId) => world.context.mirror.requests.get(id)?.state;

  /** As launchers do it that do not use transactions. @param body - written last; missing: not yet */
  async function accept(state: 'pending' | undefined): Promise<{ id: RequestId; entry: string }> {
    const { other, clock } = world;
    const body = (now: 'requested' | 'pending') =>
      encodeRequest(newRequest({ state: now, labels: ['a'] }, clock.now()));
    const path = await clock.run(other.create(`${REQUESTS_ROOT}/200-`, body('requested'), { sequential: true }));
    const id = path.slice(REQUESTS_ROOT.length + 1) as RequestId;
    await clock.run(other.ensurePath(requestLockPath(id)));
    const options = { ephemeral: true, sequential: true };
    const entry = await clock.run(other.create(`${requestLockPath(id)}/0123__lock__`, '', options));
    if (state) await clock.run(other.setData(path, body(state)));
    return { id, entry };
  }

  it('is ignored while it is locked', async () => {
    const { id } = await accept('pending');
    await world.pass(5_000);

    lost.reconsider();
    await world.pass(1_000);

    expect(stateOf(id)).toBe('pending');
  });

  it('is reset at once when its lock is given up, although it is pending', async () => {
    const { id, entry } = await accept('pending');
    await world.pass(100);

    await world.clock.run(world.other.delete(entry));
    await world.pass(100);

    expect(stateOf(id)).toBe('requested');
    // a process that is about to create an entry in the directory still finds it
    expect(await world.clock.run(world.other.exists(requestLockPath(id)))).toBeDefined();
  });

  it('is reset when its body is still being read as its launcher vanishes', async () => {
    const { id, entry } = await accept(undefined);
    await world.pass(100);
    const body = encodeRequest(newRequest({ state: 'pending', labels: ['a'] }, world.clock.now()));

    await world.clock.run(Promise.all([world.other.setData(requestPath(id), body), world.other.delete(entry)]));
    expect(stateOf(id)).toBe('requested');
    await world.pass(100);

    const { data, stat } = await world.clock.run(world.other.getData(requestPath(id)));
    expect(JSON.parse(data.toString())).toMatchObject({ state: 'requested' });
    expect(stat.version).toBe(2);
  });

  it.each([0, 2, 4, 5, 6, 8, 10])('is reset when its lock is given up %i ms after a look at it began', async (ms) => {
    const { id, entry } = await accept('pending');
    await world.pass(100);

    lost.reconsider();
    await world.clock.advance(ms);
    await world.clock.run(world.other.delete(entry));
    await world.pass(200);

    expect(stateOf(id)).toBe('requested');
  });

  it('is reset once its record can be read, and not tried before', async () => {
    const { id, entry } = await accept('pending');
    const { other, clock, context } = world;
    const body = encodeRequest(newRequest({ state: 'pending', labels: ['a'] }, clock.now()));
    await world.pass(100);
    await clock.run(other.setData(requestPath(id), '[]'));
    await world.pass(100);
    const writes = vi.spyOn(context.committer, 'commit');

    await clock.run(other.delete(entry));
    await world.pass(5_000);
    expect(writes).not.toHaveBeenCalled();
    await clock.run(other.setData(requestPath(id), body));
    await world.pass(100);

    expect(stateOf(id)).toBe('requested');
  });

  it('is reset together with its nodes, as they are by then', async () => {
    const { id, entry } = await accept('pending');
    const fields = { state: 'ready', labels: ['a'], provider: 'theirs', allocatedTo: id } as const;
    const node = await world.createNode({ ...fields, state: 'building' });

    const ready = encodeNode(newNode(fields, world.clock.now()));
    await world.clock.run(world.other.setData(nodePath(node), ready));
    await world.clock.run(world.other.delete(entry));
    await world.pass(50);

    expect(stateOf(id)).toBe('requested');
    expect(world.context.mirror.nodes.get(node)).toMatchObject({ state: 'ready', allocatedTo: null });
  });

  it('is reset once no process has locked one of its nodes', async () => {
    const { id } = await accept('pending');
    const node = await world.createNode({ state: 'building', allocatedTo: id });
    lost.stop();
    lost = new LostRequests(world.lockedMeanwhile(node), ledger);
    const { clock, other, context } = world;
    await clock.run(other.deleteRecursive(requestLockPath(id)));

    await world.pass(5_000);
    expect(stateOf(id)).toBe('pending');
    expect(context.mirror.nodes.get(node)?.allocatedTo).toBe(id);
    await clock.run(other.deleteRecursive(nodeLockPath(node)));
    await world.pass(30_000);

    expect(stateOf(id)).toBe('requested');
    expect(context.mirror.nodes.get(node)?.allocatedTo).toBeNull();
  });

  it('is not touched when a handler of this process works on it', async () => {
    const { id, entry } = await accept('pending');
    await world.pass(100);
    const request = world.context.mirror.requests.get(id);
    if (request) ledger.begin(request, []);

    await world.clock.run(world.other.delete(entry));
    await world.pass(1_000);

    expect(stateOf(id)).toBe('pending');
  });

  it('is not written when its lock is given up after it was fulfilled', async () => {
    const { id, entry } = await accept('pending');
    await world.pass(100);
    const body = encodeRequest(newRequest({ state: 'fulfilled', labels: ['a'] }, world.clock.now()));

    await world.clock.run(Promise.all([world.other.setData(requestPath(id), body), world.other.delete(entry)]));
    await world.pass(1_000);

    const stat = await world.clock.run(world.other.exists(requestPath(id)));
    expect(stat?.version).toBe(2);
  });
});

describe('a lost request with hundreds of nodes', () => {
  const COUNT = 250;
  let world: ServiceWorld;
  let id: RequestId;

  beforeEach(async () => {
    world = await ServiceWorld.open();
    const { other, clock } = world;
    const body = encodeRequest(newRequest({ state: 'pending', labels: ['a'] }, clock.now()));
    const path = await clock.run(other.create(`${REQUESTS_ROOT}/200-`, body, { sequential: true }));
    id = path.slice(REQUESTS_ROOT.length + 1) as RequestId;
    const node = encodeNode(newNode({ state: 'ready', labels: ['a'], allocatedTo: id }, clock.now()));
    const made = Array.from({ length: COUNT }, () => other.create(NODE_CREATE_PATH, node, { sequential: true }));
    await clock.run(Promise.all(made));
    await world.pass(1_000);
  });

  /** @param fails - the commits that do, by number */
  function watchCommits(fails: readonly number[]): { context: Context; sizes: number[] } {
    const sizes: number[] = [];
    const commit: Committer['commit'] = (operations) => {
      sizes.push(operations.length);
      const lost = new ZooKeeperError('ZK_CONNECTION_LOSS', 'the connection was lost');
      return fails.includes(sizes.length) ? Promise.reject(lost) : world.context.committer.commit(operations);
    };
    return { context: { ...world.context, committer: { commit } }, sizes };
  }

  const left = () => world.context.mirror.allocatedTo(id).size;
  const state = () => world.context.mirror.requests.get(id)?.state;

  it('is reset in transactions that ZooKeeper takes', async () => {
    const { context, sizes } = watchCommits([]);

    new LostRequests(context, newLedger(world)).reconsider();
    await world.pass(50);

    expect([state(), left()]).toEqual(['requested', 0]);
    expect(sizes.length).toBeGreaterThan(1);
    expect(Math.max(...sizes)).toBeLessThan(3 * COUNT);
  });

  it.each([
    ['minute', 1],
    ['reconnect', 0],
  ] as const)('is counted as missed by an event when it is found at the occasion "%s": %i', async (occasion, count) => {
    let found = 0;
    const metrics = { sweepFound: (_work: string, more: number) => void (found += more) } as unknown as LauncherMetrics;

    new LostRequests({ ...world.context, metrics }, newLedger(world)).reconsider(occasion);
    await world.pass(50);

    expect([state(), found]).toEqual(['requested', count]);
  });

  it('stays lost when only some of its nodes could be let go, and is reset with the rest of them', async () => {
    const { context } = watchCommits([2]);

    new LostRequests(context, newLedger(world)).reconsider();
    await world.pass(50);
    const between = [state(), left()];
    await world.pass(1_000);

    expect(between).toEqual(['pending', 150]);
    expect([state(), left()]).toEqual(['requested', 0]);
  });

  it('is warned of when it cannot be reset after some attempts', async () => {
    const lines: string[] = [];
    const logger = { ...world.context.logger, warn: (message: string) => void lines.push(message) };
    const [node] = [...world.context.mirror.allocatedTo(id)];
    const lock = nodeLockPath(node as NodeId);
    await world.clock.run(world.other.ensurePath(`${lock}/0123__lock__0000000000`));
    new LostRequests({ ...world.context, logger }, newLedger(world)).reconsider();

    await world.pass(1_000);
    const early = lines.length;
    await world.pass(60_000);

    expect(early).toBe(0);
    expect(new Set(lines)).toEqual(new Set(['Lost request cannot be reset yet']));
  });
});

/** A request that this process has lost track of while it was `pending`. */
async function abandonedRequest() {
  const world = await ServiceWorld.open();
  const { context, clock, other, zk } = world;
  const body = encodeRequest(newRequest({ state: 'pending', labels: ['a'] }, clock.now()));
  const path = await clock.run(other.create(`${REQUESTS_ROOT}/200-`, body, { sequential: true }));
  const id = path.slice(REQUESTS_ROOT.length + 1) as RequestId;
  const root = requestLockPath(id);
  const lock = async () => {
    await clock.run(zk.ensurePath(root));
    await clock.run(zk.create(`${root}/`, '', { ephemeral: true, sequential: true }));
  };
  await lock();
  await world.pass(100);
  const ledger = new Ledger(context, { runnerOf: () => undefined });
  const lost = new LostRequests(context, ledger);
  const recovered: RequestId[] = [];
  lost.handTo({ recovered: (request) => void recovered.push(request) });
  const look = async () => ({
    entries: (await clock.run(other.getChildren(root))).length,
    state: context.mirror.requests.get(id)?.state,
    isRecovering: lost.isRecovering(id),
    recovered: recovered.length,
  });
  return { world, id, lock, ledger, lost, look, epoch: zk.sessionEpoch };
}

describe('an abandoned request', () => {
  it('is unlocked and put back into the queue, with an event', async () => {
    const { world, id, lost, look, epoch } = await abandonedRequest();

    lost.recover(id, epoch);
    const isRecovering = lost.isRecovering(id);
    await world.pass(1_000);

    expect(isRecovering).toBe(true);
    expect(await look()).toEqual({ entries: 0, state: 'requested', isRecovering: false, recovered: 1 });
  });

  it('keeps the lock with which a new session has taken it up again', async () => {
    const { world, id, lock, lost, look, epoch } = await abandonedRequest();
    world.loseSession();
    await world.pass(40_000);
    await lock();

    lost.recover(id, epoch);
    await world.pass(10_000);

    expect(await look()).toMatchObject({ entries: 1, isRecovering: false, recovered: 1 });
  });

  it('is not changed while another pool of this process works on it', async () => {
    const { world, id, ledger, lost, look, epoch } = await abandonedRequest();
    const request = world.context.mirror.requests.get(id);
    if (request) ledger.begin(request, []);

    lost.recover(id, epoch);
    await world.pass(10_000);
    const meanwhile = await look();
    ledger.end(id);
    await world.pass(10_000);

    expect(meanwhile).toEqual({ entries: 1, state: 'pending', isRecovering: true, recovered: 0 });
    expect(await look()).toEqual({ entries: 0, state: 'requested', isRecovering: false, recovered: 1 });
  });
});
