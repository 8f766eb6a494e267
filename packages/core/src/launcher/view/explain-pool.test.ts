import { newRequest, type RequestId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { poolConfig } from '../../../test/support/pool-config.js';
import { poolView } from '../../../test/support/pool-view.js';
import { explainInPool } from './explain-pool.js';
import { RequestQueue } from '../plan/queue.js';
import type { PoolView } from '../plan/types.js';

let counter = 0;

function request(labels: readonly string[], tenantName: string | null = null) {
  return { ...newRequest({ labels, tenantName }, 0), id: `200-${String(counter++).padStart(10, '0')}` as RequestId };
}

function cloud(free: number, changes: Partial<PoolView> = {}): PoolView {
  return poolView({
    launcherId: 'me',
    provider: 'cloud',
    pool: poolConfig('main', ['big']),
    launches: true,
    pausesAtQuota: true,
    paused: true,
    quota: {
      need: () => ({ instances: 1 }),
      providerTotal: { instances: 10 },
      providerUsed: { instances: 10 - free },
      poolUsed: {},
    },
    ...changes,
  });
}

function ask(free: number, missing: readonly string[] = ['big', 'big', 'big']) {
  const accepted = request(['big', 'big', 'big']);
  const paused = [{ request: accepted, missing, az: null }];
  const desk = { view: cloud(free), queue: new RequestQueue(), paused } as const;
  return { accepted, desk };
}

describe('explaining a request at the quota', () => {
  it('counts an accepted, waiting request as ahead', () => {
    const { desk } = ask(0);

    expect(explainInPool(request(['big']), { ...desk, handled: 'no' }).position).toBe(1);
  });

  it('shows the place of an accepted request among the accepted ones', () => {
    const { desk, accepted } = ask(0);
    const second = { request: request(['big', 'big']), missing: ['big'], az: null };
    const both = { ...desk, paused: [...desk.paused, second], handled: 'paused' } as const;

    expect(explainInPool(accepted, both)).toMatchObject({ action: 'handling', position: 0 });
    expect(explainInPool(second.request, both)).toMatchObject({ action: 'handling', position: 1 });
  });

  it.each([
    [0, 'provider "cloud": label "big" needs 1 instance, 0 free'],
    [2, 'provider "cloud": label "big" needs 1 instance, 0 free, 2 kept for requests ahead'],
  ])('says of %i free instances what is kept for requests ahead', (free, text) => {
    const { desk } = ask(free);

    const { reason } = explainInPool(request(['big']), { ...desk, handled: 'no' });

    expect(reason.text).toBe(text);
    expect(reason.details).toMatchObject({ needed: 1, available: 0 });
  });

  it('never shows a negative number, even of a tenant far over its limit', () => {
    const view = cloud(5, {
      paused: false,
      tenantLimit: () => ({ instances: 2 }),
      tenantUsed: () => ({ instances: 4 }),
    });
    const desk = { view, queue: new RequestQueue(), paused: [], handled: 'no' } as const;

    expect(explainInPool(request(['big'], 't'), desk).reason.text).toBe(
      'tenant "t" would exceed its limit: needs 1 instance, 0 free',
    );
  });
});
