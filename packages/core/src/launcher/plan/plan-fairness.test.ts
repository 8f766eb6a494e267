import fc from 'fast-check';
import { compareRequests, type RequestId, type Resources } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import {
  PoolWorld,
  takeFrom,
  type WorldNode,
  type WorldPass,
  type WorldSpec,
} from '../../../test/support/pool-world.js';
import { findShortage } from '../../contract/resources.js';
import '../../../test/support/same-examples.js';

/**
 * What is proved here, for any requests, priorities, quotas and order of events:
 *
 * 1. What a request gets, it gets from what remains when every request before it has been given all it wants.
 * 2. No request gets any of a resource that a request before it waits for.
 * 3. No request waits that could be served from what remains.
 * 4. The fairness bound: a request that heads its queue is served at the latest when all nodes are gone that existed at
 *    that moment, or were given since to requests with a better place. What others are given in the meantime never makes
 *    it wait. Without newcomers of better priority that is at most as many completions as there were nodes. In pools that
 *    share a quota a request with a better place that comes later may wait for further ones. Exceptions: where
 *    max-concurrency limits launches it may have to wait for the end of one, and pools of one provider take turns at them
 *    as it comes; and where a request holds what one with a better place waits for, it gives way first (ADR 0015).
 * 5. Everybody is served in the end.
 */
const LABELS = ['cpu', 'memory', 'both', 'tiny'];
const NEEDS: Readonly<Record<string, Resources>> = {
  cpu: { instances: 1, cores: 4, ram: 1 },
  memory: { instances: 1, cores: 1, ram: 4 },
  both: { instances: 1, cores: 3, ram: 3 },
  tiny: { instances: 1, cores: 1, ram: 1 },
};

type Event =
  | { readonly kind: 'request'; readonly labels: readonly string[]; readonly priority: number }
  | { readonly kind: 'launched' | 'returned'; readonly index: number };

const resources = (least: number) =>
  fc.record({
    instances: fc.integer({ min: least, max: 8 }),
    cores: fc.integer({ min: 4 * least, max: 24 }),
    ram: fc.integer({ min: 4 * least, max: 24 }),
  });
const events = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('request' as const),
      labels: fc.array(fc.constantFrom(...LABELS), { minLength: 1, maxLength: 4 }),
      priority: fc.constantFrom(100, 200, 200, 200),
    }),
    fc.record({ kind: fc.constantFrom('launched' as const, 'returned' as const), index: fc.nat(50) }),
  ),
  { minLength: 10, maxLength: 60 },
) satisfies fc.Arbitrary<Event[]>;

const onePool = fc
  .record({ quota: resources(1), limits: resources(1), maxConcurrency: fc.constantFrom(-1, -1, 1, 2, 3) })
  .map(({ quota, limits, maxConcurrency }): WorldSpec => {
    return { needs: NEEDS, quota, maxConcurrency, pools: [{ labels: LABELS, limits }] };
  });
const poolsOfOneProvider = fc
  .record({ quota: resources(1), first: resources(1), second: resources(1), maxConcurrency: fc.constantFrom(-1, 2) })
  .map(({ quota, first, second, maxConcurrency }): WorldSpec => {
    const pools = [
      { labels: ['cpu', 'both', 'tiny'], limits: first },
      { labels: ['memory', 'both', 'tiny'], limits: second },
    ];
    return { needs: NEEDS, quota, maxConcurrency, pools };
  });

/** Watches every pass, and what each waiting request may have to wait for. */
class Referee {
  readonly world: PoolWorld;
  readonly #spec: WorldSpec;
  /** Nodes each request at the head may have to wait for. */
  readonly #before = new Map<RequestId, Set<WorldNode>>();
  /** Requests that got something lately, and those behind them. */
  readonly #gainers = new Map<RequestId, readonly RequestId[]>();

  constructor(spec: WorldSpec) {
    this.#spec = spec;
    this.world = new PoolWorld(spec);
  }

  play(event: Event): void {
    const { world } = this;
    if (event.kind === 'request') world.arrive(event.labels, event.priority);
    else if (event.kind === 'launched') {
      const building = [...world.nodes].filter(({ isBuilding }) => isBuilding);
      const node = building[event.index % building.length];
      if (node) node.isBuilding = false;
    } else {
      const returnable = world.returnable();
      const node = returnable[event.index % returnable.length];
      if (node) world.nodes.delete(node);
    }
    this.settle();
  }

  settle(): void {
    const known = new Set(this.world.nodes);
    this.#gainers.clear();
    this.world.settle((pass) => {
      this.#check(pass);
      this.#noteGainers(pass);
    });
    for (const node of this.world.nodes) {
      if (known.has(node)) continue;
      for (const id of this.#gainers.get(node.request.id) ?? []) this.#before.get(id)?.add(node);
    }
    this.#checkLimits();
    this.#checkBound();
  }

  /** Everything ends: launches first, then uses, then the patience of those who hold what others need. */
  drain(): void {
    const { world } = this;
    while (world.accepted.size > 0 || world.pools.some(({ queue }) => queue.size > 0)) {
      const [building] = [...world.nodes].filter(({ isBuilding }) => isBuilding);
      const [returnable] = world.returnable();
      const [inTheWay] = world.inTheWay();
      if (building) building.isBuilding = false;
      else if (returnable) world.nodes.delete(returnable);
      else if (inTheWay) world.giveWay(inTheWay);
      else throw new Error('requests wait although nothing is in use');
      this.settle();
    }
  }

  /** Claims 1, 2 and 3. */
  /** In one piece: one walk along the queue, whose state is what remains of the limits. */
  #check({ pool, view, paused, waiting, plan }: WorldPass): void {
    const { world } = this;
    const got = new Map<string, string[]>();
    for (const { request, assignment } of [...plan.accept, ...plan.unpause]) {
      const labels = assignment.parts.filter(({ source }) => source.kind === 'launch').map(({ label }) => label);
      got.set(request.id, labels);
    }
    const reasons = new Map([...plan.paused, ...plan.waiting].map(({ request, reason }) => [request.id, reason]));
    const ofGroup = new Map(plan.waiting.map(({ group, reason }) => [group, reason]));
    const rest = { provider: { ...this.#spec.quota }, pool: { ...pool.limits } };
    takeFrom(rest.provider, world.used());
    takeFrom(rest.pool, world.used(pool));
    let launchesLeft = view.maxConcurrency < 0 ? Infinity : view.maxConcurrency - view.activeLaunches;
    const waitedFor = new Set<string>();
    for (const { request, wanted, need, group, kind } of this.#inLine({ view, paused, waiting, plan })) {
      if (kind === 'foreign') {
        takeFrom(rest.provider, need);
        continue;
      }
      const gain = got.get(request.id) ?? [];
      const given = world.needOf(gain);
      expect(findShortage(given, rest.provider), 'given what remains of the provider').toBeUndefined();
      expect(findShortage(given, rest.pool), 'given what remains of the pool').toBeUndefined();
      for (const name of waitedFor) expect(given[name] ?? 0, `${name}, for which a request before waits`).toBe(0);
      if (gain.length > 0) expect(gain.length, 'max-concurrency is kept').toBeLessThanOrEqual(launchesLeft);
      const isServed = gain.length === wanted;
      const reason = reasons.get(request.id) ?? ofGroup.get(group);
      if (!isServed) {
        expect(reason, 'a waiting request has a reason').toBeDefined();
        waitedFor.add(String(reason?.details['resource'] ?? 'instances'));
      }
      if (kind === 'behind' && !isServed) continue;
      const fits = !findShortage(need, rest.provider) && !findShortage(need, rest.pool) && wanted <= launchesLeft;
      // launches may be kept for one that waits for something else
      const mayLaunch = view.maxConcurrency < 0 || waitedFor.size === 0;
      if (isServed || mayLaunch) expect(isServed, 'served if, and only if, there is room').toBe(fits);
      launchesLeft -= gain.length;
      takeFrom(rest.provider, need);
      takeFrom(rest.pool, need);
    }
  }

  /** All requests in the order in which a pool has to serve them, with what they lack. */
  #inLine({ view, paused, waiting, plan }: Omit<WorldPass, 'pool'>) {
    const { world } = this;
    const accepted = [
      ...paused.map(({ request, missing }) => {
        return { request, wanted: missing.length, need: world.needOf(missing), group: '', kind: 'accepted' };
      }),
      ...view.foreignReservations.map(({ request, need }) => {
        return { request, wanted: 0, need, group: '', kind: 'foreign' };
      }),
    ];
    const taken = new Set(plan.accept.map(({ request }) => request.id));
    const closed = new Set<string>();
    const queued = waiting.map(({ request, group }) => {
      const kind = closed.has(group) ? 'behind' : 'head';
      if (!taken.has(request.id)) closed.add(group);
      const { labels } = request;
      return { request, wanted: labels.length, need: world.needOf(labels), group, kind };
    });
    return [...accepted.sort((a, b) => compareRequests(a.request, b.request)), ...queued];
  }

  #checkLimits(): void {
    const { world } = this;
    expect(findShortage(world.used(), this.#spec.quota)).toBeUndefined();
    for (const pool of world.pools) expect(findShortage(world.used(pool), pool.limits)).toBeUndefined();
  }

  /** Notes for each request that gets something who stands behind it, and so may have to wait for it. */
  #noteGainers({ plan }: WorldPass): void {
    const { accepted } = this.world;
    for (const { request } of [...plan.unpause, ...plan.accept]) {
      const behind = [...this.#before.keys()].filter((id) => {
        const isAhead = accepted.has(request.id) && !accepted.has(id);
        return request.id !== id && (isAhead || compareRequests(request, { ...request, id }) < 0);
      });
      this.#gainers.set(request.id, [...behind, ...(this.#gainers.get(request.id) ?? [])]);
    }
  }

  /** Claim 4. */
  #checkBound(): void {
    const { world } = this;
    const heads = new Set(world.accepted.keys());
    if (world.pools.length === 1) {
      for (const { queue } of world.pools) {
        for (const { requests } of queue.groups()) if (requests[0]) heads.add(requests[0].id);
      }
    }
    for (const id of this.#before.keys()) if (!heads.has(id)) this.#before.delete(id);
    if (world.pools.length > 1 && this.#spec.maxConcurrency >= 0) return;
    const isLaunching = this.#spec.maxConcurrency >= 0 && [...world.nodes].some(({ isBuilding }) => isBuilding);
    const isCircle = world.inTheWay().length > 0;
    for (const id of heads) {
      let before = this.#before.get(id);
      if (!before) {
        before = new Set([...world.nodes].filter(({ request }) => request.id !== id));
        this.#before.set(id, before);
      }
      for (const node of before) if (!world.nodes.has(node)) before.delete(node);
    }
    if (isLaunching || isCircle) return;
    let ofThoseBefore = 0;
    for (const id of [...heads].sort((a, b) => (a < b ? -1 : 1))) {
      const own = this.#before.get(id)?.size ?? 0;
      ofThoseBefore += own;
      expect(
        world.pools.length > 1 ? ofThoseBefore : own,
        `nodes that request ${id} may have to wait for`,
      ).toBeGreaterThan(0);
    }
  }
}

function judge(spec: WorldSpec, played: readonly Event[]): void {
  const referee = new Referee(spec);
  for (const event of played) referee.play(event);
  referee.drain();
  expect(referee.world.accepted.size).toBe(0);
}

describe('fairness, over many planning passes', () => {
  it('of one pool with several resources and max-concurrency', () => {
    fc.assert(fc.property(onePool, events, judge));
  });

  it('of two pools that share the quota of their provider', () => {
    fc.assert(fc.property(poolsOfOneProvider, events, judge));
  });
});
