import { describe, expect, it } from 'vitest';
import { begin, fail, newLaunch, steeringAt } from '../../../test/support/steering-at.js';
import { CapacityError, ProviderUnavailableError } from '../../contract/errors.js';
import { DEFAULT_HEALTH_LIMITS } from './health.js';
import type { ProviderSteering } from './provider-steering.js';
import { decodeMemory, encodeMemory } from './steering-memory.js';

const { failuresToOpen } = DEFAULT_HEALTH_LIMITS;
const NOW = 1_700_000_000_000;

function learn(): ProviderSteering {
  const steering = steeringAt(() => NOW);
  for (let i = 0; i < failuresToOpen; i++) {
    const launch = begin(steering, 'big');
    steering.launchPlaced(launch, 'north');
    steering.attemptFailed(launch, new CapacityError('none left'));
    steering.launchEnded(launch, 'failed');
  }
  for (let i = 0; i < failuresToOpen; i++) fail(steering, 'small', new ProviderUnavailableError('no route'));
  return steering;
}

describe('what a launcher has learned', () => {
  it('is the same in the next launcher, whose clock differs', () => {
    const before = learn();
    const aheadMs = 60_000;

    const after = steeringAt(() => NOW + aheadMs);
    after.recall(decodeMemory(encodeMemory(before.memory, NOW, NOW), NOW + aheadMs));

    const { provider, labels, zones, ramp } = before.report();
    const later = (health: typeof provider) => ({
      ...health,
      failedMs: (health.failedMs ?? 0) + aheadMs,
      sinceMs: (health.sinceMs ?? 0) + aheadMs,
      nextProbeMs: (health.nextProbeMs ?? 0) + aheadMs,
    });
    expect(after.report()).toMatchObject({
      provider: later(provider),
      labels: [{ label: 'big', health: later(labels[0]?.health ?? provider) }],
      zones: [{ zone: 'north', label: 'big', health: later(zones[0]?.health ?? provider) }],
      ramp,
    });
    expect(after.avoidsZone('north', 'big')).toBe(true);
  });

  it('has the usual time of a label, so that a late launch is known as such at once', () => {
    let nowMs = NOW;
    const before = steeringAt(() => nowMs);
    const launch = newLaunch('small');
    before.launchBegun(launch);
    before.instanceCreated(launch);
    nowMs += 30_000;
    before.launchEnded(launch, 'ready');

    const { ramp } = decodeMemory(encodeMemory(before.memory, nowMs, nowMs), nowMs);

    expect(ramp.usualMs).toEqual({ small: 30_000 });
  });

  it('may have a reason that only a later release knows', () => {
    const stored = encodeMemory(learn().memory, NOW, NOW).toString().replaceAll('"Unavailable"', '"Haunted"');

    expect(decodeMemory(Buffer.from(stored), NOW).launches?.reason).toBe('Error');
  });
});
