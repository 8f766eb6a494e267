import { ProviderSteering } from '../../src/launcher/steering/provider-steering.js';

/** The steering of a provider whose launches are never late: no timer of it ends. */
export function steeringAt(now: () => number, changed: () => void = () => undefined): ProviderSteering {
  return new ProviderSteering({ now, changed, later: () => () => undefined });
}
