import { delay } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { LockLostError, QuotaError } from '../../contract/errors.js';
import type { LaunchOrder, LaunchResult } from '../../contract/driver.js';
import { MIN_READY_REQUESTOR } from '../plan/candidates.js';
import type { RequestWork } from './request.js';
import { failed, LAUNCH, ready, ServedRequest } from '../../../test/support/served-request.js';

const aborted = ({ node }: LaunchOrder): Promise<LaunchResult> => Promise.resolve({ state: 'aborted', node });

describe('nodes that are not there', () => {
  it('are launched, each recorded with the labels and resources it needs', async () => {
    const served = await ServedRequest.begin(['a', 'b']);
    const orders: LaunchOrder[] = [];
    const launch = (order: LaunchOrder) => (orders.push(order), ready(order));

    served.accept(
      [
        ['a', LAUNCH],
        ['b', LAUNCH],
      ],
      { launch },
    );

    expect(await served.outcome()).toBe('fulfilled');
    expect(orders.map(({ node, label }) => [node.state, label.name])).toEqual([
      ['building', 'a'],
      ['building', 'b'],
    ]);
    const nodes = (await served.stored()).nodeIds.map((id) => served.node(id));
    expect(nodes).toMatchObject([
      { state: 'ready', labels: ['a'], provider: 'p', launcher: served.launcherId },
      { state: 'ready', labels: ['b'], allocatedTo: served.id },
    ]);
    // ports are not for records: a launcher of the original would stop making nodes there
    for (const node of nodes) expect(node?.resources).toEqual({ instances: 1, cores: 4 });
  });

  it('leave the process time for other work between the launches when there are thousands', async () => {
    const labels = Array.from({ length: 120 }, () => 'a');
    const served = await ServedRequest.begin(labels);
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

    served.accept(
      labels.map((label) => [label, LAUNCH]),
      { launch },
    );

    expect(await served.outcome()).toBe('fulfilled');
    expect(perTurn.reduce((sum, launches) => sum + launches)).toBe(120);
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(50);
  });
});

describe('a launch', () => {
  it('counts from the decision to its end, and what it needs as long as there is no record', async () => {
    const served = await ServedRequest.begin(['a']);
    const { ledger, providers } = served.rooms;
    const runner = providers.get('p');
    const count = () => [ledger.activeLaunches('p'), runner && ledger.usedByProvider(runner)];
    const launch = async (order: LaunchOrder) => {
      await delay(served.world.clock, 1_000);
      return ready(order);
    };
    const need = { instances: 1, cores: 4, ports: 1 };

    served.accept([['a', LAUNCH]], { launch });
    const decided = count();
    await served.world.pass(500);
    const launching = count();
    await served.outcome();

    expect([decided, launching, count()]).toEqual([
      [1, need],
      [1, need],
      [0, need],
    ]);
    expect(served.launches).toEqual(['a begun', 'a placed', 'a ended: ready']);
  });

  it('that the driver throws out of is one that failed', async () => {
    const served = await ServedRequest.begin(['a']);

    served.accept([['a', LAUNCH]], { launch: () => Promise.reject(new Error('broken')) });

    expect(await served.outcome()).toBe('declined');
    expect(await served.stored()).toMatchObject({ launchError: 'broken' });
    expect(served.launches).toEqual(['a begun', 'a placed', 'a ended: failed']);
  });

  it('that lacks quota has the quota read again before others hear of its end, and its node is let go', async () => {
    const served = await ServedRequest.begin(['a']);
    const checks: number[] = [];
    served.world.context.events.on('launchEnded', () => void checks.push(served.quotaChecks));

    served.accept([['a', LAUNCH]], { launch: aborted });
    await served.world.pass(1_000);

    expect(checks).toEqual([1]);
    expect(served.quotaChecks).toBe(1);
    const [node] = served.nodes();
    expect(node).toMatchObject({ state: 'aborted' });
    expect(await served.nodeEntries(node?.id)).toEqual([]);
  });

  it('that is refused for lack of quota is an attempt that failed, and its text is kept until one is ready', async () => {
    const served = await ServedRequest.begin(['a']);
    const error = new QuotaError('Quota exceeded for cores');
    let isFull = true;
    const launch = async (order: LaunchOrder): Promise<LaunchResult> =>
      isFull ? { ...(await aborted(order)), error } : ready(order);

    served.accept([['a', LAUNCH]], { launch });
    await served.world.pass(1_000);
    const { refusal } = served.view.quota;
    const before = [...served.launches];
    isFull = false;
    served.unpause([['a', LAUNCH]]);
    await served.outcome();

    expect(before).toEqual(['a begun', 'a placed', 'a attempt failed', 'a ended: aborted']);
    expect([refusal, served.view.quota.refusal]).toEqual(['Quota exceeded for cores', undefined]);
  });

  it.each([
    ['another attempt where none but this pool can serve the request', {}, true],
    ['no other attempt where it is only to find out', { requestor: MIN_READY_REQUESTOR, provider: 'p' }, false],
  ])('is allowed %s', async (_what, fields, isAllowed) => {
    const served = await ServedRequest.begin(['a'], fields);
    const answers: unknown[] = [];
    const launch = (order: LaunchOrder) => {
      order.created?.();
      answers.push(order.attemptFailed?.(new Error('the cloud is ill')));
      return failed(order);
    };

    served.accept([['a', LAUNCH]], { launch });
    await served.outcome();

    expect(answers).toEqual([isAllowed]);
    expect(served.launches).toEqual(['a begun', 'a placed', 'a created', 'a attempt failed', 'a ended: failed']);
  });
});

describe('a launch whose node is ready', () => {
  it('continues when another launch of the request fails', async () => {
    const served = await ServedRequest.begin(['a', 'b']);
    const ended: string[] = [];
    const launch = async (order: LaunchOrder) => {
      if (order.label.name === 'b') await delay(served.world.clock, 1_000);
      const result = await ready(order);
      ended.push(order.label.name);
      return result;
    };
    served.accept(
      [
        ['a', LAUNCH],
        ['b', LAUNCH],
      ],
      { launch },
    );
    await served.world.pass(500);
    const early = [...ended];

    expect(await served.outcome()).toBe('fulfilled');
    expect([early, ended]).toEqual([['a'], ['a', 'b']]);
  });

  it.each([
    ['the work is abandoned', (work: RequestWork) => work.abandon(new Error('the process ends')), 'not stored'],
    ['its requestor withdraws it', (work: RequestWork) => work.requestGone(), 'stored'],
  ])('hears whether it was stored when %s meanwhile', async (_when, happen, heard) => {
    const served = await ServedRequest.begin(['a']);
    const results: string[] = [];
    const launch = async (order: LaunchOrder) => {
      const stored = order.store({ state: 'ready' });
      happen(served.work);
      await stored.then(
        () => results.push('stored'),
        () => results.push('not stored'),
      );
      return failed(order);
    };

    served.accept([['a', LAUNCH]], { launch });
    await served.outcome();
    await served.world.pass(100);

    expect(results).toEqual([heard]);
  });

  it('hears of each of two attempts to store that', async () => {
    const served = await ServedRequest.begin(['a']);
    let attempts: PromiseSettledResult<unknown>[] = [];
    const launch = async (order: LaunchOrder) => {
      attempts = await Promise.allSettled([order.store({ state: 'ready' }), order.store({ state: 'ready' })]);
      return { state: 'failed', node: order.node } as const;
    };

    served.accept([['a', LAUNCH]], { launch });
    await served.outcome();

    expect(attempts.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });
});

describe('a launch that has ended for lack of quota', () => {
  it('does not touch the node that is made in its place', async () => {
    const served = await ServedRequest.begin(['a']);
    const orders: LaunchOrder[] = [];
    const launch = (order: LaunchOrder) =>
      orders.push(order) === 1 ? aborted(order) : new Promise<never>(() => undefined);
    served.accept([['a', LAUNCH]], { launch });
    await served.world.pass(1_000);
    served.unpause([['a', LAUNCH]]);
    await served.world.pass(1_000);

    const late = orders[0]?.store({ state: 'ready', externalId: 'i-old' });

    await expect(late).rejects.toThrow(LockLostError);
    await served.world.pass(1_000);
    expect(served.node(orders[1]?.node.id)).toMatchObject({ state: 'building', externalId: null });
  });
});
