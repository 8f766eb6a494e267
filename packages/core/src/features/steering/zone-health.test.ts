import { describe, expect, it } from 'vitest';
import { newLaunch } from '../../../test/support/steering-at.js';
import { CapacityError } from '../../contract/errors.js';
import { DEFAULT_HEALTH_LIMITS } from './health.js';
import { ZoneHealth } from './zone-health.js';

const { failuresToOpen, firstPauseMs } = DEFAULT_HEALTH_LIMITS;

/** The zone of a launch that lacks capacity at first, and is ready in the end, or is not. */
function launch(zones: ZoneHealth, isReady: boolean): void {
  const failing = newLaunch('big');
  zones.launchPlaced(failing, 'zone-1');
  zones.attemptFailed(failing, new CapacityError('no valid host'), 0);
  zones.launchEnded(failing, isReady);
}

function withoutCapacity(): ZoneHealth {
  const zones = new ZoneHealth(DEFAULT_HEALTH_LIMITS);
  for (let i = 0; i < failuresToOpen; i++) launch(zones, false);
  return zones;
}

describe('a zone without capacity', () => {
  it('is avoided for its label alone, after so many failures in a row', () => {
    const zones = withoutCapacity();

    expect(zones.avoids('zone-1', 'big', 0)).toBe(true);
    expect(zones.avoids('zone-1', 'small', 0)).toBe(false);
    expect(zones.avoids('zone-2', 'big', 0)).toBe(false);
    expect(zones.reports(0)).toMatchObject([{ zone: 'zone-1', label: 'big', health: { state: 'failing' } }]);
  });

  it('is not avoided for failures with successes in between', () => {
    const zones = new ZoneHealth(DEFAULT_HEALTH_LIMITS);

    for (let i = 0; i < 10; i++) launch(zones, true);

    expect(zones.avoids('zone-1', 'big', 0)).toBe(false);
    expect(zones.reports(0)).toEqual([]);
  });

  it('is tried with one launch at a time when it is time, and used again when that one is ready', () => {
    const zones = withoutCapacity();

    const isDue = !zones.avoids('zone-1', 'big', firstPauseMs);
    const probe = newLaunch('big');
    zones.launchPlaced(probe, 'zone-1');
    const meanwhile = zones.avoids('zone-1', 'big', firstPauseMs);
    zones.launchEnded(probe, true);

    expect({ isDue, meanwhile }).toEqual({ isDue: true, meanwhile: true });
    expect(zones.avoids('zone-1', 'big', firstPauseMs)).toBe(false);
  });

  it('is tried by another launch when the first ends without a result, e.g. for lack of quota', () => {
    const zones = withoutCapacity();
    const probe = newLaunch('big');
    zones.launchPlaced(probe, 'zone-1');

    zones.launchEnded(probe, false);

    expect(zones.avoids('zone-1', 'big', firstPauseMs)).toBe(false);
  });
});
