import type { MakeFeature } from '../launcher/nodes/feature.js';
import { ageLimits } from './age-limits/index.js';
import { drains } from './drains/index.js';
import { holdOrders } from './hold-orders/index.js';
import { imageTrials } from './image-trials/index.js';
import { leases } from './leases/index.js';
import { resumedLaunches } from './resumed-launches/index.js';
import { standby } from './standby/index.js';
import { steering } from './steering/index.js';
import { stoppedSpares } from './stopped-spares/index.js';

/**
 * The features of a launcher by name. Without one of them, and its folder, the rest works as before. Of what two of them would do with
 * an idle node at the same moment, the first one does it.
 */
export const FEATURES: Readonly<Record<string, MakeFeature>> = {
  leases,
  'hold-orders': holdOrders,
  drains,
  'age-limits': ageLimits,
  'resumed-launches': resumedLaunches,
  'stopped-spares': stoppedSpares,
  'image-trials': imageTrials,
  steering,
  standby,
};
