import { newControl, newRequest, type RequestId, type RequestRecord } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { poolConfig } from '../../../test/support/pool-config.js';
import { poolView } from '../../../test/support/pool-view.js';
import { planPool } from './plan-pool.js';
import { RequestQueue } from './queue.js';
import { MIN_READY_REQUESTOR } from './candidates.js';
import { judgeStanding } from './rules.js';
import type { PoolView } from './types.js';

let counter = 0;

function request(fields: Partial<RequestRecord> = {}): RequestRecord {
  const id = `200-${String(counter++).padStart(10, '0')}` as RequestId;
  return { ...newRequest({ labels: ['small'], ...fields }, 0), id };
}

const standby = () => request({ requestor: MIN_READY_REQUESTOR });

/** A pool that launches `small`, which needs one instance and one core. */
function cloud(fields: Partial<PoolView> = {}, total: Record<string, number> | undefined = {}, used = {}): PoolView {
  const need = () => ({ instances: 1, cores: 1 });
  return poolView({
    launcherId: 'me',
    provider: 'p',
    pool: poolConfig('main', ['small']),
    launches: true,
    pausesAtQuota: true,
    quota: { need, providerTotal: total, providerUsed: used, poolUsed: used },
    ...fields,
  });
}

function plan(view: PoolView, ...requests: RequestRecord[]) {
  const queue = new RequestQueue();
  for (const item of requests) queue.put(item);
  return planPool(view, [], queue.groups());
}

describe('a resource that is overrun', () => {
  it('blocks a label that needs nothing of it', () => {
    const { accept, paused } = plan(cloud({}, { volumes: 3 }, { volumes: 4 }), request());

    expect(accept.flatMap(({ assignment }) => assignment.parts)).toMatchObject([{ source: { kind: 'wait' } }]);
    expect(paused[0]?.reason).toMatchObject({
      rule: 'pool-full',
      text: 'provider "p": 1 volume more in use than allowed',
      details: { resource: 'volumes', available: -1 },
    });
  });

  it('of a tenant lets it have nothing more', () => {
    const view = cloud({ tenantLimit: () => ({ ram: 8 }), tenantUsed: () => ({ ram: 9 }) });

    expect(plan(view, request({ tenantName: 't' })).waiting[0]?.reason.text).toMatch(
      /tenant "t" .*: 1 ram more in use than allowed/,
    );
  });

  it('makes what can never fit a reason to decline, whatever the label needs of it', () => {
    const verdict = judgeStanding(request(), cloud({}, { volumes: -1 }));

    expect(verdict).toMatchObject({ action: 'decline', reason: { rule: 'exceeds-quota' } });
  });

  it('is not what is kept for others: no request waits for a resource that it does not need', () => {
    const needs: Record<string, Record<string, number>> = {
      disk: { instances: 1, volumes: 9 },
      small: { instances: 1 },
    };
    const quota = { need: (label: string) => needs[label] ?? {}, providerUsed: { volumes: 1 }, poolUsed: {} };
    const view = cloud({
      pool: poolConfig('main', ['disk', 'small']),
      quota: { ...quota, providerTotal: { volumes: 9 } },
    });

    const { accept } = plan(view, request({ labels: ['disk'] }), request());

    expect(accept.map(({ assignment }) => assignment.complete)).toEqual([false, true]);
  });
});

describe('a request that only the use of others prevents', () => {
  const quota = { need: () => ({ instances: 1, cores: 1 }), poolUsed: {}, providerUsed: {} };
  const view = cloud({ quota: { ...quota, providerTotal: { cores: 2 }, usedByOthers: { cores: 8 } } });

  it('waits and reserves nothing, so that smaller ones are served', () => {
    const large = request({ labels: Array<string>(3).fill('small') });

    const { accept, paused, waiting, release } = plan(view, large, request(), request());

    expect(accept.map(({ assignment }) => assignment.complete)).toEqual([true, true]);
    expect([paused, release]).toEqual([[], undefined]);
    expect(waiting[0]?.reason.text).toBe(
      'provider "p": the request needs at least 3 cores, 2 free (own nodes use 0, others 8)',
    );
  });
});

describe('a request for a standby node', () => {
  it('is declined when quota that is known is used up', () => {
    expect(plan(cloud({}, { cores: 3 }, { cores: 3 }), standby()).decline).toHaveLength(1);
  });

  it.each([
    ['launches end', cloud({ maxConcurrency: 1, activeLaunches: 1 })],
    ['limits are known', cloud({ quota: { ...cloud().quota, providerTotal: undefined } })],
  ])('waits here until %s, and is not accepted meanwhile', (_name, view) => {
    const { accept, decline, paused, waiting } = plan(view, standby());

    expect({ accept, decline, paused }).toEqual({ accept: [], decline: [], paused: [] });
    expect(waiting).toHaveLength(1);
  });
});

describe('launches at once, as far as earlier ones have shown', () => {
  it('keep further requests waiting, accepted by no pool', () => {
    const { accept, waiting } = plan(cloud({ activeLaunches: 4, launchLimit: 5 }), request(), request(), request());

    expect(accept).toHaveLength(1);
    expect(waiting[0]?.reason).toMatchObject({ rule: 'launch-ramp', details: { active: 4, limit: 5 } });
  });

  it('let a request that needs more than that begin when none is in progress, alone', () => {
    const large = request({ labels: Array<string>(8).fill('small') });

    expect(plan(cloud({ activeLaunches: 1, launchLimit: 5 }), large, request()).accept).toEqual([]);
    expect(plan(cloud({ launchLimit: 5 }), large, request()).accept.map(({ request: { id } }) => id)).toEqual([
      large.id,
    ]);
  });

  it('do not have standby requests declined', () => {
    expect(plan(cloud({ activeLaunches: 5, launchLimit: 5 }), standby()).decline).toEqual([]);
  });
});

describe('an order that limits an image', () => {
  const pool = poolConfig('main', ['small', 'big', 'other']);
  const labels = new Map(
    [...pool.labels].map(([name, label]) => [name, { ...label, diskimage: name === 'other' ? 'b' : 'a' }]),
  );
  const control = newControl({ kind: 'image', name: 'a', mode: 'limit', limit: 3, owner: 'alice' }, 0);
  const view = cloud({ pool: { ...pool, labels }, controls: [control], countOrdered: () => 1 });

  it('counts all labels that use it, and reserves the rest for the first that waits', () => {
    const [first, tooMany, behind, other] = [
      request({ labels: ['small'] }),
      request({ labels: ['big', 'big'] }),
      request({ labels: ['small'] }),
      request({ labels: ['other', 'other'] }),
    ];

    const { accept, waiting } = plan(view, first, tooMany, behind, other);

    expect(accept.map((item) => item.request.id)).toEqual([first.id, other.id]);
    expect(waiting.map((item) => item.request.id)).toEqual([tooMany.id, behind.id]);
    expect(waiting[0]?.reason).toMatchObject({
      rule: 'limited-by-operator',
      text: 'image "a" is limited to 3 by alice; 2 are there or about to be',
    });
  });

  it('leaves a request alone that it can never serve', () => {
    const verdict = judgeStanding(request({ labels: ['small', 'big', 'small', 'big'] }), view);

    expect(verdict).toMatchObject({ action: 'defer', reason: { rule: 'limited-by-operator' } });
    expect(verdict?.reason.text).toContain('it needs 4 nodes, image "a" is limited to 3');
  });
});
