import { newControl, newNode, newRequest, type NodeId, type NodeRecord, type RequestId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { poolConfig } from '../../../test/support/pool-config.js';
import { poolView } from '../../../test/support/pool-view.js';
import { Budget, type Demand } from './budget.js';
import type { AssignmentPart, PoolView } from './types.js';

const NEEDS: Readonly<Record<string, Record<string, number>>> = {
  small: { instances: 1, cores: 2 },
  big: { instances: 1, cores: 8 },
};

/** Ready nodes of these labels, the first one idle longest. */
function nodes(...all: (readonly string[] | { labels: readonly string[]; az: string })[]): NodeRecord[] {
  return all.map((each, place) => {
    const { labels, az } = 'az' in each ? each : { labels: each, az: null };
    return {
      ...newNode({ state: 'ready', labels, provider: 'p', pool: 'main', az }, 0),
      id: `n${place + 1}` as NodeId,
    };
  });
}

/** A cloud of 10 instances and 16 cores with some free nodes. */
function cloud(free: readonly NodeRecord[] = [], fields: Partial<PoolView> = {}): PoolView {
  return poolView({
    ...{ launcherId: 'me', provider: 'p', pool: poolConfig('main', ['small', 'big', 'x', 'y', 'z']) },
    ...{ launches: true, pausesAtQuota: true },
    freeNodes: (label) => free.filter(({ labels }) => labels.includes(label)),
    idleNodes: () => free,
    quota: quota(),
    ...fields,
  });
}

function quota(fields: Partial<PoolView['quota']> = {}): PoolView['quota'] {
  const providerTotal = { instances: 10, cores: 16 };
  return { need: (label) => NEEDS[label] ?? {}, providerTotal, providerUsed: {}, poolUsed: {}, ...fields };
}

/** Machines that exist: nothing is launched. */
const rack = (free: readonly NodeRecord[], fields: Partial<PoolView> = {}) =>
  cloud(free, { launches: false, ...fields });

function demand(labels: readonly string[], fields: Partial<Demand> & { tenantName?: string; reuse?: boolean } = {}) {
  const { tenantName = null, reuse = true, ...rest } = fields;
  const request = { ...newRequest({ labels, tenantName, reuse }, 0), id: '200-0000000001' as RequestId };
  return { request, labels, az: null, accepted: false, ...rest } satisfies Demand;
}

/** Sources in short: a node's id, `launch` or `wait`. */
const sources = (parts: readonly AssignmentPart[]) =>
  parts.map(({ source }) => (source.kind === 'node' ? source.node.id : source.kind));

/** Fits a demand and takes what it got. */
function give(budget: Budget, wanted: Demand): string[] {
  const { assignment } = budget.fit(wanted);
  budget.take(wanted, assignment);
  return sources(assignment.parts);
}

describe('fitting a request', () => {
  it('prefers a free node to a launch, the one idle longest first', () => {
    const { assignment, shortage } = new Budget(cloud(nodes(['small'], ['small']))).fit(
      demand(['small', 'small', 'small']),
    );

    expect(sources(assignment.parts)).toEqual(['n1', 'n2', 'launch']);
    expect({ complete: assignment.complete, shortage }).toEqual({ complete: true, shortage: undefined });
  });

  it.each([
    [
      ['small', 'big'],
      [['small', 'big']],
      '1 of "big" needed, 0 free after requests ahead, 1 taken for its other labels',
    ],
    [['big', 'big', 'big'], [['big'], ['big']], '3 of "big" needed, 2 free after requests ahead'],
    [['big', 'big'], [['big']], '2 of "big" needed, 1 free after requests ahead'],
  ])('counts no node as free that the request has for another label: %j of %j', (labels, free, text) => {
    const { shortage } = new Budget(rack(nodes(...free))).fit(demand(labels));

    expect(shortage).toMatchObject({ rule: 'label-quota', text });
  });

  it('launches all nodes of a request that wants no used ones', () => {
    const budget = new Budget(cloud(nodes(['small'])));

    expect(give(budget, demand(['small'], { reuse: false }))).toEqual(['launch']);
  });

  it('checks an unavailable node once, for any number of requested nodes', () => {
    let looks = 0;
    const acceptsNode = () => (looks++, false);
    const many = Array.from({ length: 100 }, () => ['small'] as const);
    const view = cloud(nodes(...many), { acceptsNode, quota: quota({ providerTotal: { instances: 1_000 } }) });

    const { assignment } = new Budget(view).fit(demand(many.map(() => 'small')));

    expect(new Set(sources(assignment.parts))).toEqual(new Set(['launch']));
    expect(looks).toBe(100);
  });

  it('changes nothing until it is taken', () => {
    const budget = new Budget(rack(nodes(['x'])));

    expect(sources(budget.fit(demand(['x'])).assignment.parts)).toEqual(['n1']);
    expect(give(budget, demand(['x']))).toEqual(['n1']);
    expect(give(budget, demand(['x']))).toEqual(['wait']);
  });

  it('exchanges nodes of earlier labels along a chain, so that each label has one', () => {
    const budget = new Budget(rack(nodes(['x', 'y'], ['y', 'z'], ['z'])));

    expect(give(budget, demand(['z', 'y', 'x']))).toEqual(['n3', 'n2', 'n1']);
  });

  it('gives no node that the driver does not want for the request', () => {
    const budget = new Budget(rack(nodes(['x'], ['x']), { acceptsNode: (_request, { id }) => id !== 'n1' }));

    expect(give(budget, demand(['x', 'x']))).toEqual(['n2', 'wait']);
  });

  it('keeps all nodes of a request in the zone of its first', () => {
    const free = nodes({ labels: ['x'], az: 'east' }, { labels: ['x'], az: 'west' }, { labels: ['y'], az: 'east' });

    const { assignment } = new Budget(cloud(free)).fit(demand(['y', 'x', 'x']));

    expect(sources(assignment.parts)).toEqual(['n3', 'n1', 'launch']);
    expect(assignment.az).toBe('east');
  });
});

describe('what a request took', () => {
  it('is not there for the next one: provider, pool, launches', () => {
    const budget = new Budget(cloud([], { maxConcurrency: 3, activeLaunches: 1 }));

    expect(give(budget, demand(['small']))).toEqual(['launch']);
    expect(give(budget, demand(['small', 'small']))).toEqual(['launch', 'wait']);
    expect(budget.fit(demand(['small'])).shortage).toMatchObject({
      rule: 'max-concurrency',
      text: 'provider "p" has 1 launch in progress, 2 more to begin for it and requests ahead, max-concurrency is 3',
    });
  });

  it('and what it waits for are both kept from the next one', () => {
    const budget = new Budget(cloud([], { quota: quota({ providerUsed: { instances: 1, cores: 6 } }) }));

    expect(give(budget, demand(['big', 'big']))).toEqual(['launch', 'wait']);

    expect(budget.fit(demand(['small'])).shortage).toMatchObject({
      rule: 'pool-full',
      text: 'provider "p": label "small" needs 2 cores, 0 free, 10 kept for requests ahead',
      details: { resource: 'cores', needed: 2, available: 0, kept: 10 },
    });
  });

  it('counts for its tenant, once', () => {
    const view = cloud([], { tenantLimit: () => ({ cores: 10 }), tenantUsed: () => ({ cores: 4 }) });
    const budget = new Budget(view);
    const wanted = demand(['small'], { tenantName: 't' });

    expect([give(budget, wanted), give(budget, wanted), give(budget, wanted)].flat()).toEqual([
      'launch',
      'launch',
      'launch',
    ]);
    expect(budget.fit(wanted)).toMatchObject({
      assignment: { parts: [], complete: false },
      shortage: { rule: 'tenant-quota', details: { tenant: 't', resource: 'cores', needed: 2, available: 0, kept: 6 } },
    });
    expect(give(budget, { ...wanted, accepted: true }), 'was let in by the limit already').toEqual(['launch']);
  });
});

describe('the limit that a request meets', () => {
  const short = (view: PoolView) => {
    const { shortage, isProviderShort, isOverQuota } = new Budget(view).fit(demand(['big', 'big', 'big']));
    return { text: shortage?.text, isProviderShort, isOverQuota };
  };

  it('is the quota of the provider', () => {
    expect(short(cloud())).toEqual({
      text: 'provider "p": the request needs at least 24 cores, 16 free',
      ...{ isProviderShort: true, isOverQuota: true },
    });
  });

  it('is the limit of the pool, also where the quota of the provider does not count', () => {
    const pool = poolConfig('main', ['big'], { maxServers: 2, ignoreProviderQuota: true });

    expect(short(cloud([], { pool }))).toEqual({
      text: 'pool "main": the request needs at least 3 instances, 2 free',
      ...{ isProviderShort: false, isOverQuota: true },
    });
  });

  it('is an order of an operator, which is named', () => {
    const order = { owner: 'alice', mode: 'limit', limit: 1 } as const;
    const controls = [newControl({ ...order, kind: 'provider', name: 'p' }, 0)];

    expect(short(cloud([], { controls }))).toMatchObject({
      text: expect.stringMatching(/^provider "p": .* needs at least 2 instances, 1 free, .*alice/) as string,
    });
  });

  it('is not known before the cloud has answered, and then no quota is exceeded', () => {
    expect(short(cloud([], { quota: quota({ providerTotal: undefined }) }))).toEqual({
      text: 'limits of provider "p" are being read',
      ...{ isProviderShort: false, isOverQuota: false },
    });
  });

  it('is shown as quota, but decides as max-concurrency, while no launch is in progress', () => {
    const fields = { quota: quota({ providerUsed: { instances: 1, cores: 8 } }), maxConcurrency: 1 };
    const fit = (more: Partial<PoolView> = {}) =>
      new Budget(cloud([], { ...fields, ...more })).fit(demand(['big', 'big']));

    expect(fit()).toMatchObject({
      shortage: { rule: 'pool-full', text: 'provider "p": the request needs at least 16 cores, 8 free' },
      ...{ rule: 'max-concurrency', isProviderShort: false, isOverQuota: false },
    });
    expect(fit({ activeLaunches: 1 }).shortage?.rule).toBe('max-concurrency');
    expect(fit({ maxConcurrency: 0 }).shortage?.rule).toBe('max-concurrency');
  });

  it('is max-concurrency, which is no quota', () => {
    expect(short(cloud([], { maxConcurrency: 1 }))).toMatchObject({ isProviderShort: false, isOverQuota: false });
  });
});

describe('a reservation', () => {
  const reserved = (isInPool?: boolean) => {
    const pool = poolConfig('main', ['small'], { maxServers: 4 });
    const budget = new Budget(cloud([], { pool }));
    budget.reserve({ need: { instances: 3, cores: 4 }, isInPool });
    return give(budget, demand(['small', 'small', 'small', 'small']));
  };

  it('of another pool takes from the provider only', () => {
    expect(reserved()).toEqual(['launch', 'launch', 'launch', 'launch']);
  });

  it('in this pool takes from the pool as well', () => {
    expect(reserved(true)).toEqual(['launch', 'wait', 'wait', 'wait']);
  });
});

describe('a spare node', () => {
  const full = (fields: Partial<PoolView> = {}) =>
    cloud(nodes(['x'], ['y']), { quota: quota({ providerUsed: { instances: 2, cores: 16 } }), ...fields });

  it('is the one idle longest that no request takes', () => {
    const budget = new Budget(full());
    give(budget, demand(['x']));

    expect(budget.findSpare()?.id).toBe('n2');
  });

  it('may be one that is kept in vain, if there is no other', () => {
    const budget = new Budget(full());
    give(budget, demand(['x']));
    const behind = demand(['y', 'big']);
    const { assignment } = budget.fit(behind);
    budget.take(behind, assignment);
    expect(budget.findSpare()).toBeUndefined();

    budget.holdBack(assignment);

    expect(budget.findSpare()?.id).toBe('n2');
  });

  it('is looked for in other pools only when it is the provider that is full', () => {
    const elsewhere = nodes(['z']);
    const budget = new Budget(full({ idleNodes: () => [], idleElsewhere: () => elsewhere }));
    expect(budget.findSpare()).toBeUndefined();

    budget.fit(demand(['big']));

    expect(budget.findSpare()?.id).toBe('n1');
  });
});

it('counts nodes to launch or to wait for, not existing ones', () => {
  const budget = new Budget(cloud(nodes(['small']), { quota: quota({ providerUsed: { instances: 1, cores: 2 } }) }));
  const { assignment } = budget.fit(demand(['small', 'big', 'big']));

  expect(sources(assignment.parts)).toEqual(['n1', 'launch', 'wait']);
  expect(budget.needOfRest(assignment)).toEqual({ instances: 2, cores: 16 });
});
