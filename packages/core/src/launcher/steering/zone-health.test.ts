import { describe, expect, it } from 'vitest';
import { DEFAULT_HEALTH_LIMITS } from './health.js';
import { ZoneHealth } from './zone-health.js';

const { failuresToOpen, firstPauseMs } = DEFAULT_HEALTH_LIMITS;

function withoutCapacity(): ZoneHealth {
  const zones = new ZoneHealth(DEFAULT_HEALTH_LIMITS);
  for (let i = 0; i < failuresToOpen; i++) zones.hadNoCapacity('zone-1', 'big', 'no valid host', 0);
  return zones;
}

describe('a zone without capacity', () => {
  it('is avoided for its label alone, after so many failures in a row', () => {
    const zones = withoutCapacity();

    expect(zones.avoids('zone-1', 'big', 0)).toBe(true);
    expect(zones.avoids('zone-1', 'small', 0)).toBe(false);
    expect(zones.avoids('zone-2', 'big', 0)).toBe(false);
    expect(zones.reports(0)).toMatchObject([{ zone: 'zone-1', label: 'big', health: { state: 'open' } }]);
  });

  it('is not avoided for failures with successes in between', () => {
    const zones = new ZoneHealth(DEFAULT_HEALTH_LIMITS);

    for (let i = 0; i < 10; i++) {
      zones.hadNoCapacity('zone-1', 'big', 'no valid host', 0);
      zones.succeeded('zone-1', 'big');
    }

    expect(zones.avoids('zone-1', 'big', 0)).toBe(false);
    expect(zones.reports(0)).toEqual([]);
  });

  it('is tried with one launch at a time when it is time, and used again when that one is ready', () => {
    const zones = withoutCapacity();

    const isDue = !zones.avoids('zone-1', 'big', firstPauseMs);
    zones.began('zone-1', 'big', {});
    const meanwhile = zones.avoids('zone-1', 'big', firstPauseMs);
    zones.succeeded('zone-1', 'big');

    expect({ isDue, meanwhile }).toEqual({ isDue: true, meanwhile: true });
    expect(zones.avoids('zone-1', 'big', firstPauseMs)).toBe(false);
  });
});
