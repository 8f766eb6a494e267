import type { RequestId } from '@nodepool/zk-protocol';
import { silentLogger } from '../../src/contract/logger.js';
import { LauncherEvents, type Launch } from '../../src/launcher/state/events.js';
import { ProviderSteering } from '../../src/features/steering/provider-steering.js';

/** Steering of a provider whose launches are never late, so that its timers never fire. */
export function steeringAt(now: () => number, events = new LauncherEvents()): ProviderSteering {
  const clock = { now, setTimer: () => () => undefined };
  return new ProviderSteering('cloud', { clock, events, logger: silentLogger, zk: { state: 'CONNECTED' } });
}

/** A launch that has not been reported yet. */
export function newLaunch(label: string): Launch {
  return { provider: 'cloud', pool: 'main', label, request: '200-0000000001' as RequestId, need: { instances: 1 } };
}

/** Starts a launch. */
export function begin(steering: ProviderSteering, label: string): Launch {
  const launch = newLaunch(label);
  steering.launchBegun(launch);
  return launch;
}

/** Reports a launch that fails at its first attempt and ends. */
export function fail(steering: ProviderSteering, label: string, error: Error): void {
  const launch = begin(steering, label);
  steering.attemptFailed(launch, error);
  steering.launchEnded(launch, 'failed');
}
