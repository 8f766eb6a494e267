import { countedClock } from '../../async/counted-clock.js';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import type { MakeFeature } from '../../launcher/nodes/feature.js';
import { loggingAs } from '../../launcher/state/context.js';
import { Probes } from './probes.js';
import { SteeringSet } from './steering-set.js';

/** Steers requests around providers, labels and zones whose launches fail, and around slow providers. */
export const steering: MakeFeature = (engine) => {
  const context = loggingAs(engine.context, LOGGER_NAMES.launcher);
  const probes = new Probes({ ...engine, context });
  const set = new SteeringSet({ ...context, clock: countedClock(context.clock), probes });
  return {
    steering: set,
    reconsider: () => probes.reconsider(),
    stop() {
      set.stop();
      probes.stop();
    },
  };
};
