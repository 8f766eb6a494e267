import { encodeComponent, encodeLease, leasePath, newLease, withLease } from '@nodepool/zk-protocol';
import { afterEach, expect, it } from 'vitest';
import { LauncherRooms } from '../../../test/support/launcher-rooms.js';
import { announce, refreshed } from '../../launcher/pools/pool-announcement.js';
import { leases, leasesOf } from './index.js';

let stop: (() => unknown) | undefined;
afterEach(() => stop?.());

/** The feature in a launcher whose directories exist and whose caches have been read. */
async function setUp() {
  const rooms = await LauncherRooms.open();
  const { clock, other } = rooms.world;
  const feature = leases(rooms.engine());
  const { directories = [], caches = [] } = feature;
  await clock.run(Promise.all(directories.map((path) => other.ensurePath(path))));
  await clock.run(Promise.all(caches.flatMap((cache) => cache.start?.() ?? [])));
  stop = () => feature.stop?.();
  return { rooms, feature };
}

it('a reload that lowers max-hold-age ends leases that are older', async () => {
  const { rooms, feature } = await setUp();
  const { clock, other, context } = rooms.world;
  const held = { state: 'hold', userData: { lease: 'l1' }, provider: 'elsewhere' } as const;
  const nodeIds = [await rooms.world.createNode(held)];
  const lease = newLease(
    { id: 'l1', owner: 'o', token: 't', labels: ['a'], ttlMs: 1, digest: '', keeper: 'me' },
    clock.now(),
  );
  const active = withLease(lease, { state: 'active', nodeIds, dueTimeMs: clock.now() + 3_600_000 }, clock.now());
  await clock.run(other.create(leasePath('l1'), encodeLease(active)));
  await rooms.world.pass(60_000);

  context.config.now = { ...context.config.now, maxHoldAgeMs: 10_000 };
  await feature.reconsider?.('reload');
  await rooms.world.pass(500);

  expect(leasesOf({ features: [{}, feature] })?.get('l1')).toMatchObject({
    state: 'ended',
    endReason: expect.stringContaining('max-hold-age') as string,
  });
});

it('the entry of a pool says whose certificates its machines trust', async () => {
  const { rooms } = await setUp();
  const { context } = rooms.world;
  const [view] = rooms.views.all;
  const [[name, provider] = []] = context.config.now.providers;
  if (!view || !name || !provider) throw new Error('there is no pool');
  const entry = announce(context, view, rooms.registry);

  const changed = { ...provider, entry: { ...provider.entry, 'lease-certificates': 'host' } };
  context.config.now = { ...context.config.now, providers: new Map([[name, changed]]) };
  const next = refreshed(entry, view, rooms.registry);

  const stored = [entry, next].map((each) => JSON.parse(encodeComponent(each).toString()) as Record<string, unknown>);
  expect(stored.map((body) => body['lease_certificates'])).toEqual([undefined, 'host']);
});

it('a launcher without the feature has no leases', () => {
  expect(leasesOf({ features: [] })).toBeUndefined();
});
