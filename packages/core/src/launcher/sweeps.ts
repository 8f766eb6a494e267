import { delay } from '@nodepool/zk-protocol';
import type { LeaseKeeper } from './leases/lease-keeper.js';
import { sweepLeftovers } from './nodes/leftovers.js';
import type { Reaper } from './nodes/reaper.js';
import type { Standby } from './nodes/standby.js';
import type { StoppedSpares } from './nodes/stopped-spares.js';
import type { SurplusNodes } from './nodes/surplus-nodes.js';
import type { PoolSet } from './pools/pool-set.js';
import type { ProviderSet } from './providers/provider-set.js';
import type { LostRequests } from './requests/lost-requests.js';
import { LOGGER_NAMES } from '../contract/logger-names.js';
import { loggingAs, type Context } from './state/context.js';
import type { AgeLimits } from './nodes/age-limits.js';
import type { ServerClock } from './state/server-clock.js';

const INTERVAL_MS = 60_000;

/** The parts of a launcher that sweep. */
export interface SweptParts {
  readonly context: Context;
  readonly providers: ProviderSet;
  readonly reaper: Reaper;
  readonly standby: Standby;
  readonly surplus: SurplusNodes;
  readonly spares: StoppedSpares;
  readonly pools: PoolSet;
  readonly lost: LostRequests;
  readonly leaseKeeper: LeaseKeeper;
  readonly serverClock: ServerClock;
  readonly ages: AgeLimits;
}

/**
 * Sweeps everything periodically, until the launcher drains or stops: a watch event may have been missed, and some changes
 * cause no event.
 */
export async function sweepPeriodically(parts: SweptParts): Promise<void> {
  const { context, serverClock } = parts;
  const { clock, life, logger } = context;
  const suspects = new Set<string>();
  while (!life.isDraining) {
    try {
      await delay(clock, INTERVAL_MS, life.signal);
      await serverClock.measure(life.signal);
    } catch (error) {
      if (life.signal.aborted) return;
      logger.warn('Could not compare the clock with that of ZooKeeper', { error });
    }
    parts.ages.reload();
    if (life.isActive) await sweep(parts, suspects);
  }
}

async function sweep(parts: SweptParts, suspects: Set<string>): Promise<void> {
  const { context, providers, reaper, standby, surplus, spares, pools, lost, leaseKeeper } = parts;
  const { logger, metrics } = context;
  providers.sweep();
  const deletions = reaper.sweep();
  const missing = standby.sweep();
  const woken = pools.sweep();
  leaseKeeper.sweep();
  spares.sweep();
  metrics?.sweepFound('waiting-request', woken);
  metrics?.sweepFound('deletion', deletions);
  metrics?.sweepFound('standby-node', missing);
  void providers.cleanupLeakedResources(); // not awaited: a cloud that hangs must not delay the next sweep
  const tasks = [
    lost.checkAll().then((found) => metrics?.sweepFound('lost-request', found)),
    surplus.sweep(),
    sweepLeftovers(loggingAs(context, LOGGER_NAMES.cleanup), suspects),
  ];
  for (const result of await Promise.allSettled(tasks)) {
    if (result.status === 'rejected') logger.warn('A periodic clean-up failed', { error: result.reason as unknown });
  }
}
