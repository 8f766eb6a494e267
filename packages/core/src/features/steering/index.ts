import { countedClock } from '../../async/counted-clock.js';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import type { MakeFeature } from '../../launcher/nodes/feature.js';
import { loggingAs } from '../../launcher/state/context.js';
import { SteeringSet } from './steering-set.js';

/** Steers requests around providers, labels and zones whose launches fail, and around slow providers. */
export const steering: MakeFeature = ({ context }) => {
  const set = new SteeringSet({ ...loggingAs(context, LOGGER_NAMES.launcher), clock: countedClock(context.clock) });
  return { steering: set, stop: () => set.stop() };
};
