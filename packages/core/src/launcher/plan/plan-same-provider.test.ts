import { newNode, newRequest, type NodeId, type RequestId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { poolConfig } from '../../../test/support/pool-config.js';
import { poolView } from '../../../test/support/pool-view.js';
import { planPool } from './plan-pool.js';
import { RequestQueue } from './queue.js';
import { MIN_READY_REQUESTOR } from './candidates.js';
import type { PoolView } from './types.js';

const LABELS = ['small', 'big', 'huge'];
const NEEDS: Readonly<Record<string, Record<string, number>>> = {
  small: { instances: 1, cores: 1 },
  big: { instances: 1, cores: 8 },
  huge: { instances: 1, cores: 100 },
};
let counter = 0;

function request(labels: readonly string[], { priority = 200, requestor = 'zuul' } = {}) {
  const id = `${priority}-${String(counter++).padStart(10, '0')}` as RequestId;
  return { ...newRequest({ labels, requestor }, 0), id };
}

function freeNode(id: number, labels: readonly string[], pool = 'main') {
  return { ...newNode({ state: 'ready', labels, provider: 'p', pool }, 0), id: String(id) as NodeId };
}

/** A pool that makes nodes, in a provider with limits. */
function view(total: Record<string, number>, used: Record<string, number>, fields: Partial<PoolView> = {}): PoolView {
  return poolView({
    ...{ launcherId: 'me', provider: 'p', pool: poolConfig('main', LABELS), launches: true, pausesAtQuota: true },
    quota: { need: (label) => NEEDS[label] ?? {}, providerTotal: total, providerUsed: used, poolUsed: {} },
    ...fields,
  });
}

function plan(poolView: PoolView, ...requests: ReturnType<typeof request>[]) {
  const queue = new RequestQueue();
  for (const item of requests) queue.put(item);
  return planPool(poolView, [], queue.groups());
}

describe('the first request that waits in another pool of the provider', () => {
  const oneLeft = [{ instances: 2 }, { instances: 1 }] as const;
  const waiting = { request: request(['small']), need: { instances: 1 } };

  it('keeps capacity of the provider from a standby request behind it', () => {
    const standby = request(['small'], { priority: 900, requestor: MIN_READY_REQUESTOR });

    const result = plan(view(...oneLeft, { waitingElsewhere: [waiting] }), standby);

    expect(result.accept).toEqual([]);
    expect(result.decline.map((item) => item.request.id)).toEqual([standby.id]);
  });

  it('keeps nothing from a request with a better place', () => {
    const better = request(['small'], { priority: 100 });

    const result = plan(view(...oneLeft, { waitingElsewhere: [waiting] }), better);

    expect(result.accept.map((item) => [item.request.id, item.assignment.complete])).toEqual([[better.id, true]]);
  });

  it('is named by its pool, with the capacity that it needs of the provider', () => {
    const [first, second] = [request(['small', 'small']), request(['small'])];
    const full = view({ instances: 2, cores: 9 }, { instances: 2, cores: 0 }, { paused: true });

    expect(plan(full, second, first).head).toEqual({ request: first, need: { instances: 2, cores: 2 } });
  });

  it('is none while it is the pool itself that has no capacity', () => {
    const pool = poolConfig('main', LABELS, { maxServers: 0 });

    expect(plan(view({ instances: 2 }, { instances: 2 }, { pool, paused: true }), request(['small'])).head).toBe(
      undefined,
    );
  });
});

describe('what another launcher has begun to serve from this provider', () => {
  const need = { instances: 1, cores: 1 };
  const lateInPool = (isInPool: boolean) => {
    const pool = poolConfig('main', LABELS, { maxServers: 1 });
    const foreignReservations = [{ request: request(['small']), need, isInPool }];
    return plan(view({ instances: 9 }, {}, { pool, foreignReservations, paused: true }), request(['small']));
  };

  it('has capacity in the pool kept for it as well, if it is served from this very pool', () => {
    expect(lateInPool(true).accept).toEqual([]);
    expect(lateInPool(false).accept).toHaveLength(1);
  });
});

describe('a free node of another pool', () => {
  const elsewhere = freeNode(7, ['small'], 'other');

  it('frees capacity when the provider is full but not the pool', () => {
    const full = view({ instances: 1 }, { instances: 1 }, { idleElsewhere: () => [elsewhere] });

    expect(plan(full, request(['small'])).release?.id).toBe(elsewhere.id);
  });

  it('stays when it is the pool that is full', () => {
    const pool = poolConfig('main', LABELS, { maxServers: 0 });
    const full = view({ instances: 1 }, { instances: 1 }, { pool, idleElsewhere: () => [elsewhere] });

    const result = plan(full, request(['small']));

    expect(result.paused[0]?.reason.rule).toBe('pool-full');
    expect(result.release).toBeUndefined();
  });

  it('stays while one of the own pool will do', () => {
    const own = freeNode(3, ['big']);
    const nodes = { idleNodes: () => [own], idleElsewhere: () => [elsewhere] };

    expect(plan(view({ instances: 2 }, { instances: 2 }, nodes), request(['small'])).release?.id).toBe(own.id);
  });
});

describe('a free node kept for a request that has to wait all the same', () => {
  const kept = freeNode(1, ['small']);
  const nodes = {
    freeNodes: (label: string) => (label === 'small' ? [kept] : []),
    idleNodes: () => [kept],
  };

  it('frees capacity for the request that waits ahead', () => {
    const ahead = request(['big']);
    const behind = request(['small', 'huge']);

    const result = plan(view({ instances: 2, cores: 108 }, { instances: 2, cores: 1 }, nodes), ahead, behind);

    expect(result.waiting.map((item) => item.request.id)).toEqual([behind.id]);
    expect(result.release?.id).toBe(kept.id);
  });

  it('stays for the first request that waits', () => {
    const first = request(['small', 'big']);

    const full = view({ instances: 2 }, { instances: 2 }, { ...nodes, paused: true });

    const result = plan(full, first);

    expect(result.waiting.map((item) => item.request.id)).toEqual([first.id]);
    expect(result.release).toBeUndefined();
  });
});
