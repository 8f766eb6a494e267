import {
  decodeRequest,
  delay,
  encodeRequest,
  newRequest,
  nodeLockPath,
  NODES_ROOT,
  REQUESTS_ROOT,
  requestLockPath,
  requestPath,
  withRequest,
  type LauncherId,
  type NodeId,
  type RequestFields,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import type { LaunchOrder, LaunchResult, NodeRequestHandler, Provider } from '../../contract/driver.js';
import { poolConfig } from '../../../test/support/pool-config.js';
import { ServiceWorld } from '../../../test/support/service-world.js';
import { MIN_READY_REQUESTOR } from '../plan/candidates.js';
import type { Assignment, AssignmentPart } from '../plan/types.js';
import { RequestHandler } from './handler.js';
import type { HandlerPool } from './handler-pool.js';

const ME = 'nl01-PoolWorker.cloud-main-0123' as LauncherId;

/** Pool `main`, which has labels `a` and `b`, and a request that it works on with a driver. */
class Work {
  /** Entries in the lock of the request that are to be removed a moment after the end. */
  readonly unlockLater: string[] = [];
  /** What the pool counts as launches. */
  launches = { planned: 0, recorded: 0, ended: 0 };
  isLast = true;
  standsInTheWay = false;
  handler!: RequestHandler;
  #outcome!: Promise<string>;

  private constructor(
    readonly world: ServiceWorld,
    readonly request: RequestRecord,
  ) {}

  /** Stores a request for the labels. */
  static async begin(labels: readonly string[], fields: RequestFields = {}): Promise<Work> {
    const world = await ServiceWorld.open();
    const body = encodeRequest(newRequest({ labels, requestor: 'zuul', ...fields }, world.clock.now()));
    const path = await world.clock.run(world.other.create(`${REQUESTS_ROOT}/200-`, body, { sequential: true }));
    await world.pass(100);
    const request = world.services.mirror.requests.get(path.slice(REQUESTS_ROOT.length + 1));
    if (!request) throw new Error('the mirror does not show the request');
    return new Work(world, request);
  }

  /** Begins to work on the request; its nodes are claimed as the pool does it. */
  accept(parts: readonly Part[], driver: Partial<NodeRequestHandler> = {}): void {
    this.handler = new RequestHandler(this.world.services, this.#pool(), this.request, {
      imagesAvailable: () => true,
      ...driver,
    });
    this.#outcome = this.handler.run(this.assign(parts));
  }

  /** What is given to the request, by label: a node, a launch, or nothing yet. */
  assign(parts: readonly Part[]): Assignment {
    const { mirror } = this.world.services;
    return {
      parts: parts.map(([label, given]): AssignmentPart => {
        if (typeof given === 'object') return { label, source: given };
        const node = mirror.nodes.get(given);
        if (!node) throw new Error(`the mirror does not show node ${given}`);
        mirror.claim(node.id, this.handler);
        return { label, source: { kind: 'node', node } };
      }),
      complete: parts.every(([, given]) => given !== WAIT),
      az: null,
    };
  }

  /** How the work ended. */
  outcome(): Promise<string> {
    return this.world.clock.run(this.#outcome);
  }

  /** The request as ZooKeeper has it. */
  async stored(): Promise<RequestRecord> {
    const { clock, other } = this.world;
    const { data, stat } = await clock.run(other.getData(requestPath(this.request.id)));
    const request = decodeRequest(this.request.id, data, stat, clock.now());
    if (!request) throw new Error('the request has no body');
    return request;
  }

  node(id: NodeId) {
    return this.world.services.mirror.nodes.get(id);
  }

  entries(path: string): Promise<string[]> {
    return this.world.clock.run(this.world.other.getChildren(path).catch(() => []));
  }

  #pool(): HandlerPool {
    const { launches } = this;
    return {
      ...{ launcherId: ME, providerName: 'cloud', pool: poolConfig('main', ['a', 'b']) },
      runningProvider: {} as Provider,
      pausesAtQuota: true,
      isLastToDecline: () => Promise.resolve(this.isLast),
      needOf: () => ({ instances: 1 }),
      unlockLater: (entry) => void this.unlockLater.push(entry),
      pauseChanged: () => undefined,
      standsInTheWay: () => this.standsInTheWay,
      planLaunch: () => {
        launches.planned++;
        return {
          need: { instances: 1, cores: 4, ports: 1 },
          recorded: () => void launches.recorded++,
          ended: () => void launches.ended++,
        };
      },
      handOver: () => undefined,
    };
  }
}

const LAUNCH = { kind: 'launch' } as const;
const WAIT = { kind: 'wait' } as const;
const PROBE = { requestor: MIN_READY_REQUESTOR, provider: 'cloud' };
/** A wanted label, and what stands for it. */
type Part = readonly [label: string, given: NodeId | typeof LAUNCH | typeof WAIT];

const ready = async (order: LaunchOrder): Promise<LaunchResult> => ({
  state: 'ready',
  node: await order.store({ state: 'ready', externalId: `i-${order.node.id}` }),
});

const failed = ({ node }: LaunchOrder): Promise<LaunchResult> =>
  Promise.resolve({ state: 'failed', node, error: new Error('no host has capacity') });

/** A request for `a` and `b` that has its `a` and waits for capacity. */
async function pausedWork(driver: Partial<NodeRequestHandler> = {}) {
  const work = await Work.begin(['a', 'b']);
  const id = await work.world.createNode({});
  work.accept(
    [
      ['a', id],
      ['b', WAIT],
    ],
    driver,
  );
  await work.world.pass(1_000);
  return { work, id };
}

describe('a request that gets its nodes', () => {
  it('is fulfilled with their ids in the order of its labels, and they are unlocked', async () => {
    const work = await Work.begin(['b', 'a']);
    const a = await work.world.createNode({ labels: ['a'] });
    const b = await work.world.createNode({ labels: ['b'] });

    work.accept([
      ['b', b],
      ['a', a],
    ]);

    expect(await work.outcome()).toBe('fulfilled');
    expect(await work.stored()).toMatchObject({ state: 'fulfilled', nodeIds: [b, a] });
    expect(work.node(a)).toMatchObject({ state: 'ready', allocatedTo: work.request.id });
    expect(await work.entries(nodeLockPath(a))).toEqual([]);
  });

  it('stays locked for a moment, so that its requestor finds it as it was', async () => {
    const work = await Work.begin(['a']);

    work.accept([['a', await work.world.createNode({})]]);
    await work.outcome();

    const entries = await work.entries(requestLockPath(work.request.id));
    expect(entries.map((name) => `${requestLockPath(work.request.id)}/${name}`)).toEqual(work.unlockLater);
    expect(entries).toHaveLength(1);
  });

  it('has those launched that are not there, each recorded with the labels and resources it needs', async () => {
    const work = await Work.begin(['a', 'b']);
    const orders: LaunchOrder[] = [];
    const launch = (order: LaunchOrder) => (orders.push(order), ready(order));

    work.accept(
      [
        ['a', LAUNCH],
        ['b', LAUNCH],
      ],
      { launch },
    );

    expect(await work.outcome()).toBe('fulfilled');
    expect(orders.map(({ node, label }) => [node.state, label.name])).toEqual([
      ['building', 'a'],
      ['building', 'b'],
    ]);
    const nodes = (await work.stored()).nodeIds.map((id) => work.node(id));
    expect(nodes).toMatchObject([
      { state: 'ready', labels: ['a'], provider: 'cloud', launcher: ME },
      { state: 'ready', labels: ['b'], allocatedTo: work.request.id },
    ]);
    expect(work.launches).toEqual({ planned: 2, recorded: 2, ended: 2 });
    // ports are not for records: a launcher of the original would stop making nodes there
    for (const node of nodes) expect(node?.resources).toEqual({ instances: 1, cores: 4 });
  });

  it('for thousands of nodes leaves time for other work between the launches', async () => {
    const labels = Array.from({ length: 120 }, () => 'a');
    const work = await Work.begin(labels);
    const perTurn: number[] = [];
    let launchedNow = 0;
    const launch = (order: LaunchOrder) => {
      if (launchedNow++ === 0) {
        setImmediate(() => {
          perTurn.push(launchedNow);
          launchedNow = 0;
        });
      }
      return ready(order);
    };

    work.accept(
      labels.map((label) => [label, LAUNCH]),
      { launch },
    );

    expect(await work.outcome()).toBe('fulfilled');
    expect(perTurn.reduce((sum, launches) => sum + launches)).toBe(120);
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(50);
  });

  it('is accepted and has the records of its nodes made in one transaction', async () => {
    const work = await Work.begin(['a', 'b']);

    work.accept(
      [
        ['a', LAUNCH],
        ['b', LAUNCH],
      ],
      { launch: () => new Promise(() => undefined) },
    );
    await work.world.pass(1_000);

    const { state, stat } = await work.stored();
    const nodes = [...work.world.services.mirror.nodes.values()];
    expect(state).toBe('pending');
    expect(nodes.map((node) => [node.labels[0], node.state])).toEqual([
      ['a', 'building'],
      ['b', 'building'],
    ]);
    expect(nodes.map((node) => node.stat?.czxid)).toEqual([stat?.mzxid, stat?.mzxid]);
  });

  it('tells the driver of the nodes it takes before records of others are made', async () => {
    const work = await Work.begin(['a', 'b']);
    const id = await work.world.createNode({ az: 'zone-2' });
    let zone: string | null = null;

    work.accept(
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

    expect(await work.outcome()).toBe('fulfilled');
    expect((await work.stored()).nodeIds.map((node) => work.node(node)?.az)).toEqual(['zone-2', 'zone-2']);
  });

  it('keeps what its requestor has written into it meanwhile', async () => {
    const { work } = await pausedWork();
    const { other, clock } = work.world;
    const changed = withRequest(await work.stored(), { relativePriority: 7 }, clock.now());
    await clock.run(other.setData(requestPath(work.request.id), encodeRequest(changed)));
    const b = await work.world.createNode({ labels: ['b'] });

    work.handler.resume(work.assign([['b', b]]));

    expect(await work.outcome()).toBe('fulfilled');
    expect(await work.stored()).toMatchObject({ state: 'fulfilled', relativePriority: 7 });
  });
});

describe('a request that lacks one node', () => {
  it('is fulfilled by the transaction that stores the node as ready', async () => {
    const work = await Work.begin(['a', 'b']);
    const a = await work.world.createNode({});

    work.accept(
      [
        ['a', a],
        ['b', LAUNCH],
      ],
      { launch: ready },
    );

    expect(await work.outcome()).toBe('fulfilled');
    const { state, nodeIds, stat } = await work.stored();
    const b = work.node(nodeIds[1] as NodeId);
    expect({ state, first: nodeIds[0] }).toEqual({ state: 'fulfilled', first: a });
    expect(b).toMatchObject({ state: 'ready', externalId: `i-${b?.id}`, stat: { mzxid: stat?.mzxid } });
    expect(await work.entries(nodeLockPath(b?.id as NodeId))).toEqual([]);
    expect(await work.entries(nodeLockPath(a))).toEqual([]);
    expect(work.unlockLater).toHaveLength(1);
  });

  it.each([
    ['ends with an error', () => Promise.reject(new Error('broken'))],
    ['stores more of the node', (order: LaunchOrder) => order.store({ hostname: 'late' })],
  ])('is fulfilled although the launch %s after that', async (_what, then) => {
    const work = await Work.begin(['a']);
    const launch = async (order: LaunchOrder) => {
      const result = await ready(order);
      await then(order);
      return result;
    };

    work.accept([['a', LAUNCH]], { launch });

    expect(await work.outcome()).toBe('fulfilled');
    const { state, nodeIds } = await work.stored();
    expect(state).toBe('fulfilled');
    expect(work.node(nodeIds[0] as NodeId)).toMatchObject({ state: 'ready', launchError: null, hostname: null });
  });

  it('is fulfilled although its requestor has taken the node and deleted it before the launch returns', async () => {
    const work = await Work.begin(['a']);
    const { other, clock } = work.world;
    const launch = async (order: LaunchOrder) => {
      const result = await ready(order);
      await other.delete(requestPath(work.request.id));
      work.handler.requestGone();
      await delay(clock, 1_000);
      return result;
    };

    work.accept([['a', LAUNCH]], { launch });

    expect(await work.outcome()).toBe('fulfilled');
    const [node] = [...work.world.services.mirror.nodes.values()];
    expect(node).toMatchObject({ state: 'ready', allocatedTo: work.request.id });
  });

  it('is let go when its requestor withdraws it before the node is ready, and the node is free', async () => {
    const work = await Work.begin(['a']);
    const launch = async (order: LaunchOrder) => {
      await work.world.other.delete(requestPath(work.request.id));
      return ready(order);
    };
    work.accept([['a', LAUNCH]], { launch });
    await work.world.pass(1_000);

    work.handler.requestGone();

    expect(await work.outcome()).toBe('gone');
    const [node] = [...work.world.services.mirror.nodes.values()];
    expect(node).toMatchObject({ state: 'ready', allocatedTo: null });
    expect(await work.entries(nodeLockPath(node?.id as NodeId))).toEqual([]);
  });

  it('breaks its launch off when it is a probe and withdrawn', async () => {
    const work = await Work.begin(['a'], PROBE);
    const launch = (order: LaunchOrder, signal: AbortSignal) =>
      new Promise<LaunchResult>((resolve) => {
        signal.addEventListener('abort', () => resolve(failed(order)), { once: true });
      });
    work.accept([['a', LAUNCH]], { launch });
    await work.world.pass(1_000);

    await work.world.clock.run(work.world.other.delete(requestPath(work.request.id)));
    work.handler.requestGone();

    expect(await work.outcome()).toBe('abandoned'); // the launcher removes its locks, and the node is garbage
    expect(work.launches).toEqual({ planned: 1, recorded: 1, ended: 1 });
  });

  it('leaves no node behind when it is a probe and withdrawn as its node is ready', async () => {
    const work = await Work.begin(['a'], PROBE);
    const launch = async (order: LaunchOrder) => {
      await work.world.other.delete(requestPath(work.request.id));
      return ready(order);
    };
    work.accept([['a', LAUNCH]], { launch });
    await work.world.pass(1_000);

    work.handler.requestGone();

    expect(await work.outcome()).toBe('gone');
    expect([...work.world.services.mirror.nodes.values()]).toMatchObject([{ state: 'deleting', allocatedTo: null }]);
  });

  it('is fulfilled with what its requestor wrote into it meanwhile', async () => {
    const work = await Work.begin(['a']);
    const { other, clock } = work.world;
    const launch = async (order: LaunchOrder) => {
      const changed = withRequest(order.request, { state: 'pending', relativePriority: 7 }, clock.now());
      await other.setData(requestPath(work.request.id), encodeRequest(changed));
      return ready(order);
    };

    work.accept([['a', LAUNCH]], { launch });

    expect(await work.outcome()).toBe('fulfilled');
    expect(await work.stored()).toMatchObject({ state: 'fulfilled', relativePriority: 7 });
  });

  it.each(['loseAnswer', 'loseRequest'] as const)(
    'gets its node although the connection breaks at that transaction (%s)',
    async (how) => {
      const work = await Work.begin(['a']);
      const { world } = work;
      const match = (write: string) => write.endsWith(requestPath(work.request.id));
      const launch = (order: LaunchOrder) => {
        if (how === 'loseAnswer') world.loseAnswer(match);
        else world.loseRequest(match);
        return ready(order);
      };

      work.accept([['a', LAUNCH]], { launch });

      expect(await work.outcome()).toBe('fulfilled');
      expect(world.breaks).toBe(1);
      const { state, nodeIds } = await work.stored();
      await world.pass(1_000);
      expect(state).toBe('fulfilled');
      expect(work.node(nodeIds[0] as NodeId)).toMatchObject({ state: 'ready', allocatedTo: work.request.id });
      expect(work.unlockLater).toHaveLength(1);
    },
  );

  it('is left alone when the session ends at that transaction', async () => {
    const work = await Work.begin(['a']);
    const launch = (order: LaunchOrder) => {
      const stored = ready(order);
      work.world.loseSession();
      return stored;
    };

    work.accept([['a', LAUNCH]], { launch });

    expect(await work.outcome()).toBe('abandoned');
    expect(work.unlockLater).toEqual([]);
  });
});

describe('a request that another launcher has locked', () => {
  it('is left to that one, as are its nodes', async () => {
    const work = await Work.begin(['a']);
    const { other, clock } = work.world;
    const id = await work.world.createNode({});
    await clock.run(other.ensurePath(requestLockPath(work.request.id)));
    await clock.run(
      other.create(`${requestLockPath(work.request.id)}/0123__lock__`, '', { ephemeral: true, sequential: true }),
    );

    work.accept([['a', id]]);

    expect(await work.outcome()).toBe('busy');
    expect(await work.stored()).toMatchObject({ state: 'requested' });
    expect(work.node(id)).toMatchObject({ allocatedTo: null });
    expect(work.world.services.mirror.claim(id, work), 'no claim is left on it').toBe(true);
  });

  it('has no node made', async () => {
    const work = await Work.begin(['a']);
    const { other, clock } = work.world;
    const lock = requestLockPath(work.request.id);
    await clock.run(other.ensurePath(lock));
    await clock.run(other.create(`${lock}/0123__lock__`, '', { ephemeral: true, sequential: true }));

    work.accept([['a', LAUNCH]], { launch: ready });

    expect(await work.outcome()).toBe('busy');
    expect(await clock.run(other.getChildren(NODES_ROOT))).toEqual([]);
  });
});

describe('a request that waits for capacity', () => {
  it('holds what it has and says what it lacks', async () => {
    const { work, id } = await pausedWork();

    expect(work.handler.paused).toMatchObject({ missing: ['b'] });
    expect(await work.stored()).toMatchObject({ state: 'pending' });
    expect(work.node(id)).toMatchObject({ allocatedTo: work.request.id });
    expect(await work.entries(nodeLockPath(id))).toHaveLength(1);
  });

  it('is fulfilled once it gets the rest', async () => {
    const { work, id } = await pausedWork();
    const b = await work.world.createNode({ labels: ['b'] });

    work.handler.resume(work.assign([['b', b]]));

    expect(await work.outcome()).toBe('fulfilled');
    expect((await work.stored()).nodeIds).toEqual([id, b]);
  });

  it.each([
    ['its launcher stops', (handler: RequestHandler) => handler.putBackIfPaused()],
    ['the pool can no longer serve it', (handler: RequestHandler) => handler.giveUp()],
  ])('is put back when %s, and its nodes are free', async (_when, happen) => {
    const { work, id } = await pausedWork();

    happen(work.handler);

    expect(await work.outcome()).toBe('put-back');
    expect(await work.stored()).toMatchObject({ state: 'requested', nodeIds: [], declinedBy: [] });
    expect(work.node(id)).toMatchObject({ state: 'ready', allocatedTo: null });
    expect(await work.entries(requestLockPath(work.request.id))).toEqual([]);
  });

  it('gives way to one with a better place after some time, and its nodes are deleted for that', async () => {
    const { work, id } = await pausedWork();
    await work.world.pass(120_000);
    expect(work.handler.paused, 'none has a better place').toBeDefined();

    work.standsInTheWay = true;

    expect(await work.outcome()).toBe('gave-way');
    expect(await work.stored()).toMatchObject({ state: 'requested' });
    expect(work.node(id)).toMatchObject({ state: 'deleting', allocatedTo: null });
  });

  it('gives its nodes back when its requestor withdraws it', async () => {
    const { work, id } = await pausedWork();
    const { other, clock } = work.world;
    await clock.run(other.delete(requestPath(work.request.id)));

    work.handler.requestGone();

    expect(await work.outcome()).toBe('gone');
    expect(work.node(id)).toMatchObject({ state: 'ready', allocatedTo: null });
    expect(await work.entries(nodeLockPath(id))).toEqual([]);
  });
});

describe('a launch that does not succeed', () => {
  it('has the request declined with its error; ready nodes are free, the failed one is left to be deleted', async () => {
    const work = await Work.begin(['a', 'b']);
    const id = await work.world.createNode({});

    work.accept(
      [
        ['a', id],
        ['b', LAUNCH],
      ],
      { launch: failed },
    );

    expect(await work.outcome()).toBe('declined');
    expect(await work.stored()).toMatchObject({
      ...{ state: 'failed', declinedBy: [ME], launchError: 'no host has capacity' },
      declineReasons: { [ME]: { text: 'launch of "b" failed: no host has capacity' } },
    });
    expect(work.node(id)).toMatchObject({ state: 'ready', allocatedTo: null });
    const [lost] = [...work.world.services.mirror.nodes.values()].filter((node) => node.id !== id);
    expect(lost).toMatchObject({ state: 'failed', labels: ['b'], launchError: 'no host has capacity' });
    expect(await work.entries(nodeLockPath(lost?.id ?? ('' as NodeId)))).toEqual([]);
  });

  it('leaves the request to the pools that may still serve it', async () => {
    const work = await Work.begin(['a']);
    work.isLast = false;

    work.accept([['a', LAUNCH]], { launch: failed });

    expect(await work.outcome()).toBe('declined');
    expect(await work.stored()).toMatchObject({ state: 'requested', declinedBy: [ME] });
  });

  it('for lack of quota lets the request wait for another one', async () => {
    const work = await Work.begin(['a']);
    const aborted = ({ node }: LaunchOrder): Promise<LaunchResult> => Promise.resolve({ state: 'aborted', node });
    let launch = aborted;
    work.accept([['a', LAUNCH]], { launch: (order) => launch(order) });
    await work.world.pass(1_000);
    expect(work.handler.paused).toMatchObject({ missing: ['a'] });

    launch = ready;
    work.handler.resume(work.assign([['a', LAUNCH]]));

    expect(await work.outcome()).toBe('fulfilled');
    expect((await work.stored()).nodeIds).toHaveLength(1);
  });

  it('because the driver throws is one that failed', async () => {
    const work = await Work.begin(['a']);

    work.accept([['a', LAUNCH]], { launch: () => Promise.reject(new Error('broken')) });

    expect(await work.outcome()).toBe('declined');
    expect(await work.stored()).toMatchObject({ launchError: 'broken' });
  });
});

describe('a ready node that the driver finds dead', () => {
  it('goes back, and the request waits for another', async () => {
    const rejected: NodeId[] = [];
    const driver: Partial<NodeRequestHandler> = {
      checkReusableNode: () => Promise.resolve(false),
      nodeRejectedNotification: ({ id }) => void rejected.push(id),
    };
    const work = await Work.begin(['a']);
    const id = await work.world.createNode({});

    work.accept([['a', id]], driver);
    await work.world.pass(1_000);

    expect(rejected).toEqual([id]);
    expect(work.handler.paused).toMatchObject({ missing: ['a'] });
    expect(work.node(id)).toMatchObject({ state: 'ready', allocatedTo: null });
    expect(await work.entries(nodeLockPath(id))).toEqual([]);
  });
});

describe('a handler whose session is over', () => {
  it('writes nothing more: what it began is undone by who finds it', async () => {
    const { work, id } = await pausedWork();

    work.handler.abandon(new Error('the session has expired'));

    expect(await work.outcome()).toBe('abandoned');
    expect(await work.stored()).toMatchObject({ state: 'pending' });
    expect(work.node(id)).toMatchObject({ allocatedTo: work.request.id });
    expect(await work.entries(nodeLockPath(id))).toHaveLength(1);
  });
});

describe('a request whose handler fails while records are being made for it', () => {
  it('is declined, and no node stays locked', async () => {
    const work = await Work.begin(['a', 'a', 'b']);
    const first = await work.world.createNode({});
    const second = await work.world.createNode({});
    let isBroken = false;
    const acceptsNode = () => {
      if (isBroken) throw new Error('the driver is broken');
      return true;
    };
    const launched: string[] = [];
    const launch = (order: LaunchOrder) => (launched.push(order.node.id), ready(order));
    work.accept(
      [
        ['a', first],
        ['a', WAIT],
        ['b', WAIT],
      ],
      { acceptsNode, launch },
    );
    await work.world.pass(1_000);

    isBroken = true;
    const given = work.assign([
      ['a', second],
      ['b', LAUNCH],
    ]);
    work.handler.resume(given);
    const outcome = await work.outcome();
    await work.world.pass(1_000);

    expect(outcome).toBe('declined');
    expect(launched).toEqual([]);
    const nodes = [...work.world.services.mirror.nodes.values()];
    expect(nodes).toHaveLength(3);
    for (const { id } of nodes) expect([id, await work.entries(nodeLockPath(id))]).toEqual([id, []]);
  });
});
