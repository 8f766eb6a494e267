import fc from 'fast-check';
import {
  newNode,
  newPoolComponent,
  newRequest,
  type LauncherId,
  type NodeId,
  type RequestId,
  type RequestRecord,
} from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { poolConfig } from '../../../test/support/pool-config.js';
import { poolView } from '../../../test/support/pool-view.js';
import { planPool } from './plan-pool.js';
import { judgeStanding } from './rules.js';
import { RequestQueue } from './queue.js';
import type { PoolView } from './types.js';
import '../../../test/support/same-examples.js';

let counter = 0;

function request(labels: string[], fields: Partial<RequestRecord> = {}): RequestRecord {
  const id = `200-${String(counter++).padStart(10, '0')}` as RequestId;
  return { ...newRequest({ labels, ...fields }, 0), id };
}

function node(id: number, labels: string[]) {
  return { ...newNode({ state: 'ready', labels, provider: 'p', pool: 'main' }, 0), id: String(id) as NodeId };
}

function staticView(nodes: ReturnType<typeof node>[], extra: Partial<PoolView> = {}): PoolView {
  return poolView({
    launcherId: 'me',
    provider: 'p',
    pool: poolConfig('main', [...new Set(nodes.flatMap(({ labels }) => labels))]),
    freeNodes: (label) => nodes.filter(({ labels }) => labels.includes(label)),
    idleNodes: () => nodes,
    ...extra,
  });
}

function cloudView(limit: Record<string, number>, used: Record<string, number> = {}, extra: Partial<PoolView> = {}) {
  const needs: Record<string, Record<string, number>> = {
    small: { instances: 1, cores: 1 },
    big: { instances: 1, cores: 8 },
  };
  return staticView([], {
    launches: true,
    pausesAtQuota: true,
    pool: poolConfig('main', ['small', 'big']),
    quota: { need: (label) => needs[label] ?? {}, providerTotal: limit, providerUsed: used, poolUsed: used },
    ...extra,
  });
}

function plan(view: PoolView, requests: readonly RequestRecord[]) {
  const queue = new RequestQueue();
  for (const item of requests) queue.put(item);
  return planPool(view, [], queue.groups());
}

describe('planPool', () => {
  it('gives free nodes to requests in handling order', () => {
    const [first, second, third] = [request(['a']), request(['a']), request(['a'])];

    const result = plan(staticView([node(1, ['a']), node(2, ['a'])]), [third, second, first]);

    expect(result.accept.map((item) => item.request.id)).toEqual([first.id, second.id]);
    expect(result.waiting[0]?.reason).toMatchObject({ rule: 'label-quota', details: { needed: 1, available: 0 } });
  });

  it('lets a request pass whose labels no request before it waits for', () => {
    const blocked = request(['gone']);
    const other = request(['a']);
    const view = staticView([node(1, ['a'])]);

    const result = plan(view, [blocked, other]);

    expect(result.accept.map((item) => item.request.id)).toEqual([other.id]);
  });

  it('keeps a node for an earlier request that still lacks another one', () => {
    const needsBoth = request(['a', 'b']);
    const needsA = request(['a']);

    const result = plan(staticView([node(1, ['a'])]), [needsBoth, needsA]);

    expect(result.accept).toEqual([]);
    expect(result.waiting.map((item) => item.request.id)).toEqual([needsBoth.id, needsA.id]);
  });

  it('keeps nothing for a request that waits for a host which is not there', () => {
    const needsGone = request(['a', 'gone']);
    const needsA = request(['a']);
    const view = staticView([node(1, ['a'])], { presentNodes: (label) => (label === 'a' ? 1 : 0) });

    const result = plan(view, [needsGone, needsA]);

    expect(result.accept.map((item) => item.request.id)).toEqual([needsA.id]);
    expect(result.waiting[0]?.reason).toMatchObject({ rule: 'label-quota', details: { label: 'gone' } });
  });

  it('serves a node with two labels once', () => {
    const view = staticView([node(1, ['a', 'b'])]);

    const result = plan(view, [request(['a']), request(['b'])]);

    expect(result.accept).toHaveLength(1);
  });

  it('gives each label the node it needs, regardless of idle time', () => {
    const view = staticView([node(1, ['a', 'b']), node(2, ['a', 'c']), node(3, ['a'])]);

    const result = plan(view, [request(['a', 'b', 'c'])]);

    const nodes = result.accept[0]?.assignment.parts.map(({ source }) => source.kind === 'node' && source.node.id);
    expect(nodes).toEqual(['3', '1', '2']);
  });

  it('declines labels that the pool can never have at once, so that no request waits behind them', () => {
    const view = staticView([node(1, ['a', 'b'])], { canHold: (labels) => labels.length < 2 });

    expect(judgeStanding(request(['a', 'b']), view)).toMatchObject({
      action: 'decline',
      reason: { rule: 'exceeds-quota', details: { labels: ['a', 'b'] } },
    });
    expect(judgeStanding(request(['a']), view)).toBeUndefined();
  });

  it('accepts one request beyond the quota and lets smaller ones that need nothing it waits for go ahead', () => {
    const big = request(['big']);
    const small = request(['small']);

    const result = plan(cloudView({ instances: 10, cores: 9 }, { cores: 2, instances: 1 }), [big, small]);

    expect(result.accept.map((item) => [item.request.id, item.assignment.complete])).toEqual([[big.id, false]]);
    expect(result.waiting[0]?.reason).toMatchObject({ rule: 'pool-full', details: { resource: 'cores' } });
  });

  it('begins with a request that needs more launches than there may be at once, and lets no other in before it', () => {
    const wide = request(['small', 'small', 'small']);
    const view = cloudView({ instances: 10 }, {}, { maxConcurrency: 2 });

    const result = plan(view, [wide, request(['small'])]);

    const kinds = result.accept.map((item) => item.assignment.parts.map(({ source }) => source.kind));
    expect(kinds).toEqual([['launch', 'launch', 'wait']]);
    expect(result.paused[0]?.reason.rule).toBe('max-concurrency');
  });

  it('declines a standby request when nothing is free', () => {
    const standby = request(['a'], { requestor: 'NodePool:min-ready' });

    const result = plan(staticView([]), [standby]);

    expect(result.decline.map((item) => item.request.id)).toEqual([standby.id]);
  });

  it('skips requests of a tenant at its limit without delaying others', () => {
    const limited = request(['small'], { tenantName: 't' });
    const free = request(['small'], { tenantName: 'u' });
    const view = cloudView(
      { instances: 10 },
      {},
      {
        tenantLimit: (tenant) => (tenant === 't' ? { instances: 0 } : undefined),
      },
    );

    const result = plan(view, [limited, free]);

    expect(result.accept.map((item) => item.request.id)).toEqual([free.id]);
    expect(result.waiting[0]?.reason.rule).toBe('tenant-quota');
  });
});

function entry(providerName: string, priority: number, more: { supportedLabels?: string[]; paused?: boolean } = {}) {
  return newPoolComponent({
    ...{ hostname: 'h', state: 'running', version: null, launcherId: providerName as LauncherId, name: 'main' },
    ...{ providerName, supportedLabels: ['a'], priority, paused: false, ...more },
  });
}

describe('planPool at the quota, with other pools for the label', () => {
  const small = { supportedLabels: ['small'] };
  const pausesBeside = (...others: ReturnType<typeof entry>[]) => {
    const registered = [entry('me', 100, small), ...others];
    const result = plan(cloudView({ instances: 1 }, { instances: 1 }, { registered }), [request(['small'])]);
    expect(result.paused.length + result.waiting.length).toBe(1);
    return result.paused.length === 1;
  };

  it('accepts a request to wait for capacity when no other pool can serve it', () => {
    expect(pausesBeside()).toBe(true);
    expect(pausesBeside(entry('other', 100, { supportedLabels: ['big'] }))).toBe(true);
  });

  it('leaves it to a pool of the same priority while that does not wait itself', () => {
    expect(pausesBeside(entry('other', 100, small))).toBe(false);
    expect(pausesBeside(entry('other', 100, { ...small, paused: true }))).toBe(true);
  });

  it('pauses when a pool of lower priority waits for that', () => {
    expect(pausesBeside(entry('lower', 200, small))).toBe(true);
    expect(pausesBeside(entry('other', 100, small), entry('lower', 200, small))).toBe(true);
  });
});

const labels = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 });

describe('planPool, for any requests and nodes', () => {
  it('never gives one node twice and never more than there is', () => {
    fc.assert(
      fc.property(fc.array(labels, { maxLength: 12 }), fc.array(labels, { maxLength: 12 }), (wanted, offered) => {
        const nodes = offered.map((list, i) => node(i + 1, [...new Set(list)]));

        const result = plan(
          staticView(nodes),
          wanted.map((list) => request(list)),
        );

        const given = result.accept.flatMap((item) =>
          item.assignment.parts.map((part) => {
            if (part.source.kind !== 'node') throw new Error('a static pool launches nothing');
            expect(part.source.node.labels).toContain(part.label);
            return part.source.node.id;
          }),
        );
        expect(new Set(given).size).toBe(given.length);
      }),
    );
  });

  it('overtakes no request on a label that it waits for', () => {
    fc.assert(
      fc.property(
        fc.array(labels, { maxLength: 15 }),
        fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 12 }),
        (wanted, offered) => {
          const nodes = offered.map((label, i) => node(i + 1, [label]));
          const requests = wanted.map((list) => request(list));

          const accepted = new Set(plan(staticView(nodes), requests).accept.map((item) => item.request.id));

          requests.forEach((waiting, i) => {
            if (accepted.has(waiting.id)) return;
            const before = requests.slice(0, i).filter((r) => accepted.has(r.id));
            const lacking = [...new Set(waiting.labels)].filter((label) => {
              const free = offered.filter((l) => l === label).length;
              const taken = before.flatMap((r) => r.labels).filter((l) => l === label).length;
              return free - taken < waiting.labels.filter((l) => l === label).length;
            });
            for (const label of lacking) {
              const later = requests.slice(i + 1).filter((r) => accepted.has(r.id) && r.labels.includes(label));
              expect(later.map((r) => r.id)).toEqual([]);
            }
          });
        },
      ),
    );
  });
});
