import type { NodeId } from '@nodepool/zk-protocol';
import { beforeEach, expect, it } from 'vitest';
import { node, request, World } from '../../../test/support/world.js';
import { followChanges } from './changes.js';
import { labelsWithConditions, launcherOverview } from './overview.js';

const ASKED_MS = 1_600_000_000_000;

let world: World;
let id = 0;

beforeEach(() => {
  world = new World();
  followChanges(world.sources, () => undefined);
});

/** A request that is fulfilled after a time, with a node made so long after it. */
function serve(waitMs: number, { labels = ['small'], madeMs = 1 } = {}): void {
  const served = node(`${++id}`, { createdTimeMs: ASKED_MS + madeMs });
  const asked = request(`200-${id}`, { labels, createdTimeMs: ASKED_MS });
  world.nodes.set(served.id, served);
  world.requests.set(asked.id, asked);
  const fulfilled = { state: 'fulfilled', stateTimeMs: ASKED_MS + waitMs, nodeIds: [`${id}` as NodeId] } as const;
  world.requests.set(asked.id, { ...asked, ...fulfilled });
  world.requests.set(asked.id, { ...asked, ...fulfilled, declinedBy: ['x'] });
}
const usual = () => labelsWithConditions(world.sources).find(({ label }) => label === 'small')?.['usual_wait'];

it('is not known before a request has waited', () => {
  expect(usual()).toBeNull();
});

it('is the median of the last requests, each counted once', () => {
  for (const waitMs of [9_000, 30_000, 10_000]) serve(waitMs);
  expect(usual()).toBe(10);

  for (let n = 0; n < 20; n++) serve(2_000);
  expect(usual()).toBe(2);
  expect(launcherOverview(world.sources)['labels']).toMatchObject([{}, { label: 'small', usual_wait: 2 }]);
});

it('leaves out requests that a ready node served, and those for several labels', () => {
  serve(5_000, { madeMs: -1_000 });
  serve(5_000, { labels: ['small', 'big'] });
  expect(usual()).toBeNull();

  serve(5_000, { labels: ['small', 'small'] });
  expect(usual()).toBe(5);
});

it('is not negative when clocks differ', () => {
  serve(-3_000);

  expect(usual()).toBe(0);
});
