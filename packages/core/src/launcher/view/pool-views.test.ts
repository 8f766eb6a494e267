import type { LauncherId } from '@nodepool/zk-protocol';
import { describe, expect, it } from 'vitest';
import { launchingDrivers, LauncherRooms, OURS, standbyConfig } from '../../../test/support/launcher-rooms.js';
import { CapacityError, ProviderUnavailableError } from '../../contract/errors.js';
import { poolKey } from '../state/pool-key.js';

const full = new CapacityError('no host is left');
const away = new ProviderUnavailableError('the cloud hangs');
const PROBE_DUE_MS = 15_000;

/** Launches of a label fail until the provider is steered around, and it is time for a probe. */
async function fail(rooms: LauncherRooms, label: string, error: Error): Promise<void> {
  for (let i = 0; i < 3; i++) rooms.tryLaunch(label, error);
  await rooms.world.pass(PROBE_DUE_MS);
}

describe('the pools of a launcher', () => {
  it('can launch labels that they have and that are ready', async () => {
    const drivers = launchingDrivers({ labelReady: (_pool, label) => label === 'a' });
    const { views } = await LauncherRooms.open(standbyConfig, drivers);

    expect(['a', 'b', 'c'].map((label) => views.canLaunch(label))).toEqual([true, false, false]);

    views.delete(poolKey('p', 'main'));
    expect(views.canLaunch('a')).toBe(false);
  });

  it('are the first for a label once they are registered, unless another with it was registered before', async () => {
    const rooms = await LauncherRooms.open();
    const firsts = () => ['a', 'b'].map((label) => rooms.views.isFirstFor(label));
    const other = await rooms.register({ launcherId: 'z' as LauncherId, supportedLabels: ['a'], ...OURS });
    expect(firsts()).toEqual([false, false]);

    await rooms.registerOwn();
    await rooms.register({ launcherId: '0' as LauncherId, ...OURS });
    expect(firsts()).toEqual([false, true]);

    await rooms.world.clock.run(rooms.world.other.delete(other));
    await rooms.world.pass(100);
    expect(firsts()).toEqual([true, true]);
  });

  it('are the first for a label although one of the original was registered before: it never decides', async () => {
    const rooms = await LauncherRooms.open();

    await rooms.register({ launcherId: 'original' as LauncherId });
    const before = rooms.views.isFirstFor('a');
    await rooms.registerOwn();

    expect([before, rooms.views.isFirstFor('a')]).toEqual([false, true]);
  });

  it('have no other beside them in the entry that they have where old launchers look', async () => {
    const rooms = await LauncherRooms.open();
    await rooms.registerOwn();
    await rooms.registerOwn({ firstPoolPauseMs: null, raw: {} });

    expect(rooms.views.sharers('a')).toMatchObject({ original: undefined, unaware: undefined });
  });
});

describe('labels to probe a provider with', () => {
  it('are none while it is well, or not yet due', async () => {
    const rooms = await LauncherRooms.open();
    const atFirst = rooms.views.labelsToProbe('p');

    for (let i = 0; i < 3; i++) rooms.tryLaunch('a', full);

    expect([atFirst, rooms.views.labelsToProbe('p')]).toEqual([[], []]);
  });

  it('are all that fail for their own sake', async () => {
    const rooms = await LauncherRooms.open();
    await fail(rooms, 'b', full);
    expect(rooms.views.labelsToProbe('p')).toEqual(['b']);

    await fail(rooms, 'a', full);
    expect(rooms.views.labelsToProbe('p')).toEqual(['a', 'b']);
  });

  it('are a single one that is kept on standby when the provider itself fails', async () => {
    const rooms = await LauncherRooms.open();

    await fail(rooms, 'b', away);

    expect(rooms.views.labelsToProbe('p')).toEqual(['a']);
    expect(rooms.views.labelsToProbe('another')).toEqual([]);
  });
});
